"""Agno: a model whose calls fit its context window, and an exact counter for Agno's own compaction.

Agno's ``Compaction`` runs between runs and after an overflow; the calls of a run grow without it. All calls of a model
go through four methods, of which a wrapped model has its own.
"""

from __future__ import annotations

import copy
from base64 import b64encode
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from agno.models.message import Message

from ..counting.counter import count as counting
from ..session.compactor import Compactor
from .mirror import PROVIDER, mirrored, returned, text_of
from .sessions import Conversation, Sessions, opening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from ..models.model import Model
    from ..session.call import Fitted

M = TypeVar("M")

END = object()
"""The answer of a stream that has none."""


def wrap(chat: M, model: str | Model | Compactor | None = None, *, session: str | None = None, **options: Any) -> M:
    """Return a model like the given one, whose calls fit its window.

    Agno hands in the whole history at each call; the last compaction stands in for the messages that it was made of. A
    call that is refused as too long is repeated with fewer messages.

    Args:
        chat: any model of Agno; it is not changed, and shares its connections.
        model: an id, a ``Model``, or a ``Compactor``; None takes the id of the model.
        session: the conversation's name; None takes the session of the run and its agent.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """
    made: Any = copy.copy(chat)
    given = model if model is not None else made.id
    guard = _Guard(chat, Sessions(given, options, PROVIDER), session)
    made.invoke, made.ainvoke = guard.invoke, guard.ainvoke
    made.invoke_stream, made.ainvoke_stream = guard.invoke_stream, guard.ainvoke_stream
    return made  # type: ignore[no-any-return]


def compactor_of(chat: Any) -> Compactor:
    """Return the Compactor of a wrapped model: its history, pins and archive.

    Args:
        chat: of ``wrap``.

    Raises:
        TypeError: the model is not wrapped.
    """
    guard = getattr(getattr(chat, "invoke", None), "__self__", None)
    if not isinstance(guard, _Guard):
        raise TypeError(f"{type(chat).__name__} is not wrapped")
    return guard.sessions.compactor


def token_counter(model: str | Model | Compactor) -> Callable[[Sequence[Any], Sequence[Any] | None], int]:
    """Return a ``token_counter`` for Agno's ``Compaction``, whose own estimate knows no other vocabulary.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
    """
    name = model.model if isinstance(model, Compactor) else model

    def count(messages: Sequence[Any], tools: Sequence[Any] | None = None) -> int:
        return counting(mirrored(messages, _read), model=name, tools=[*tools] if tools else None)

    return count


class _Guard:
    """The methods of a wrapped model."""

    def __init__(self, chat: Any, sessions: Sessions, session: str | None) -> None:
        self._chat = chat
        self._adds_cached = "anthropic" in type(chat).__module__ or "claude" in type(chat).__module__
        self.sessions, self._session = sessions, session

    def invoke(self, messages: list[Any], **options: Any) -> Any:
        """Call the model."""
        conversation, plain, tools = self._calling(messages, options)
        response = conversation.call(partial(_sent, self._chat.invoke, plain, messages, options), plain, tools=tools)
        self._record(conversation, response)
        return response

    async def ainvoke(self, messages: list[Any], **options: Any) -> Any:
        """Call the model without blocking the event loop."""
        conversation, plain, tools = self._calling(messages, options)
        send = partial(_sent, self._chat.ainvoke, plain, messages, options)
        response = await conversation.acall(send, plain, tools=tools)
        self._record(conversation, response)
        return response

    def invoke_stream(self, messages: list[Any], **options: Any) -> Iterator[Any]:
        """Call the model, and yield its answer as it comes."""
        conversation, plain, tools = self._calling(messages, options)

        def send(fitted: Fitted[Any]) -> tuple[Any, Iterator[Any]]:
            stream = iter(_sent(self._chat.invoke_stream, plain, messages, options, fitted))
            return next(stream, END), stream

        response, stream = conversation.call(send, plain, tools=tools)
        while response is not END:
            self._record(conversation, response)
            yield response
            response = next(stream, END)

    async def ainvoke_stream(self, messages: list[Any], **options: Any) -> AsyncIterator[Any]:
        """Call the model, and yield its answer as it comes, without blocking the event loop."""
        conversation, plain, tools = self._calling(messages, options)

        async def send(fitted: Fitted[Any]) -> tuple[Any, AsyncIterator[Any]]:
            stream = aiter(_sent(self._chat.ainvoke_stream, plain, messages, options, fitted))
            return await anext(stream, END), stream

        response, stream = await conversation.acall(send, plain, tools=tools)
        while response is not END:
            self._record(conversation, response)
            yield response
            response = await anext(stream, END)

    def _calling(self, messages: list[Any], options: Mapping[str, Any]) -> tuple[Conversation, list[Any], Any]:
        """Return the conversation of a call, its messages and its tools."""
        plain, run = mirrored(messages, _read), options.get("run_response")
        name = self._session or getattr(run, "session_id", None)
        if name and not self._session:
            name = f"{name} {getattr(run, 'agent_id', None) or getattr(run, 'team_id', None)}"
        return self.sessions.of(name or opening(plain)), plain, options.get("tools") or None

    def _record(self, conversation: Conversation, response: Any) -> None:
        """Record the usage of an answer; some providers' prompt tokens leave out those of the cache."""
        usage = response.response_usage
        if usage is None or not usage.input_tokens:
            return
        cached = usage.cache_read_tokens + usage.cache_write_tokens if self._adds_cached else 0
        conversation.record({"input_tokens": usage.input_tokens + cached, "output_tokens": usage.output_tokens})


def _sent(
    method: Callable[..., Any], plain: list[Any], messages: list[Any], options: Mapping[str, Any], fitted: Fitted[Any]
) -> Any:
    """Return what a method of the model returns for messages that fit: the given list where nothing was compacted."""
    fits = messages if fitted.messages is plain else returned(plain, fitted.messages, _change, _make)
    return method(messages=fits, **options)


def _read(message: Any) -> dict[str, Any]:
    """Return a message as one of Chat Completions."""
    content = message.content if isinstance(message.content, str | list) else _text(message.content)
    urls = [_url(image) for image in message.images or ()]
    if urls:
        texts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        content = [*texts, *({"type": "image_url", "image_url": {"url": url}} for url in urls)]
    plain: dict[str, Any] = {"role": message.role, "content": content}
    if message.reasoning_content:
        plain["reasoning_content"] = message.reasoning_content
    if message.tool_calls:
        plain["tool_calls"] = message.tool_calls
    if message.role == "tool":
        plain["tool_call_id"] = message.tool_call_id or ""
    return plain


def _change(original: Any, message: Mapping[str, Any]) -> Any:
    """Return the original with other content, other calls, fewer pictures, or without its reasoning."""
    before, content = _read(original), message.get("content")
    update: dict[str, Any] = {"tool_calls": message.get("tool_calls") or None}
    if "reasoning_content" not in message:
        update["reasoning_content"] = None
    if content != before["content"]:
        parts = content if isinstance(content, list) else []
        urls = [part["image_url"]["url"] for part in parts if part.get("type") == "image_url"]
        update["images"] = [image for image in original.images or () if _url(image) in urls] or None
        update["content"] = text_of([part for part in parts if part.get("type") == "text"] if parts else content)
        update["compressed_content"] = None
    return original.model_copy(update=update)


def _make(message: Mapping[str, Any]) -> Any:
    """Return a new message."""
    return Message(
        role=str(message["role"]),
        content=text_of(message.get("content")),
        tool_call_id=message.get("tool_call_id"),
        tool_calls=message.get("tool_calls"),
    )


def _text(content: Any) -> str:
    return "" if content is None else str(content)


def _url(image: Any) -> str:
    """Return a picture as a URL."""
    if image.url is not None:
        return str(image.url)
    data = b64encode(image.get_content_bytes() or b"").decode()
    return f"data:{image.mime_type or 'image/png'};base64,{data}"
