"""Inspect: a compaction strategy that keeps an agent's messages inside the model's context window.

Inspect asks a strategy where a prompt is past the strategy's threshold, and where a call was refused as too long. It
sends what the strategy returns from then on, and keeps it in its checkpoint, as it does the sample's store, which has
the session's state.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import ChatMessage, CompactionStrategy, ContentText
from inspect_ai.tool import ToolCall
from inspect_ai.util import store
from pydantic import TypeAdapter

from ..messages.types import Charged, Transcript
from ..session.overflow import is_overflow
from .mirror import PROVIDER, call, mirrored, returned, text_of
from .sessions import Adapter, Conversation, Sessions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..models.model import Model
    from ..session.compactor import Compactor

KEY = "trimtab"
"""Beginning of the keys of the sample's store, key of a message's metadata, and mark of our summaries."""

RECENT = 50
"""Events that are searched for the conversation's last call: other agents of the sample write to the transcript too."""

SHARE = 0.6
"""Part of the messages' tokens to keep where Inspect's estimate is past the threshold and the count is not."""

MESSAGE: TypeAdapter[Any] = TypeAdapter(ChatMessage)


class CompactionTrimtab(Adapter, CompactionStrategy):  # type: ignore[misc, unused-ignore]
    """Compacts an agent's messages, for ``react(compaction=...)`` and ``compaction(...)`` of Inspect.

    System text, tools and the sample's input stay, and count. The usage of the last call is recorded, and a refused
    call lowers the window. Messages that nothing changed are the same objects.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
        memory: whether Inspect asks the model to use its memory tool before a compaction, if it has one.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """

    def __init__(self, model: str | Model | Compactor, *, memory: bool = True, **options: Any) -> None:
        """Make the Compactor where none was given."""
        self.sessions = Sessions(model, options, PROVIDER)
        self._answered: set[str | None] = set()  # the refused calls that a compaction has answered
        budget = self.compactor.budget()
        super().__init__(type="summary", threshold=budget.trigger + budget.fixed, memory=memory)

    @property
    def threshold(self) -> int:
        """Tokens of a prompt past which Inspect compacts; an agent takes it once, at its first call."""
        lowered: int | None = store().get(self._key)
        return lowered or self._threshold

    @threshold.setter
    def threshold(self, tokens: int) -> None:
        self._threshold = tokens

    @property
    def _key(self) -> str:
        return f"{KEY} threshold {self.compactor.model} {self._threshold}"

    async def compact(self, model: Any, messages: list[Any], tools: list[Any]) -> tuple[list[Any], None]:
        """Return the messages that are sent from now on; nothing is added to the agent's history.

        Raises:
            OverflowedError: the call was refused, and too little can leave.
        """
        given, about = _apart(messages), [*map(_tool, tools)] or None
        plain, conversation = mirrored(given, _read), self._conversation(given)
        session = conversation.session
        if not session.archive.pins(session.id):
            for n in _inputs(given):
                session.pin(plain[n])
        refusal = self._last_call(conversation, given, plain, about)
        if refusal is None:
            fitted = (await conversation.afit(plain, tools=about)).messages
        else:
            fitted = (await conversation.aoverflow(refusal, plain, tools=about)).messages
        if fitted is plain:
            made = await session.acompact(plain, tools=about, target_share=SHARE, trigger="auto")
            fitted = made.messages
        budget = session.budget(tools=about)
        if (lowered := budget.trigger + budget.fixed) < self.threshold:
            store().set(self._key, lowered)
        store().set(f"{KEY} {session.id}", conversation.state())
        found = returned(plain, fitted, _change, _make)
        return _marked(found) if model.api.collapse_user_messages() else found, None

    def _conversation(self, messages: Sequence[Any]) -> Conversation:
        """Return the conversation: its sample and first message, which other epochs of the sample may have too."""
        held = store()
        if held.get(KEY) is None:
            held.set(KEY, uuid4().hex[:12])
        first = next((each.id for each in messages if each.role != "system" and not _is_summary(each)), None)
        name = f"{held.get(KEY)} {first}"
        return self.sessions.of(name, held.get(f"{KEY} {name}"))

    def _last_call(
        self, conversation: Conversation, messages: Sequence[Any], plain: list[Any], tools: Any
    ) -> Exception | None:
        """Record the usage of the conversation's last call; return its refusal, once."""
        places = {message.id: n for n, message in enumerate(messages)}
        events = [event for event in transcript().events[-RECENT:] if isinstance(event, ModelEvent)]
        sent, event = 0, None
        while events and not sent:
            event = events.pop()
            sent = sum(message.id in places for message in event.input)
        if event is None or not sent:
            return None
        output = event.output
        if output.stop_reason == "model_length":
            is_new = event.uuid not in self._answered
            self._answered.add(event.uuid)
            said = output.completion if is_overflow(output.completion) else "prompt is too long"
            return RuntimeError(said) if is_new else None
        before, usage = places.get(output.message.id, 0) if output.choices else 0, output.usage
        if usage and 0 < before <= 2 * sent:  # else most of these messages were not in the call
            cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
            prompt = getattr(output, "input_context_tokens", None) or usage.input_tokens + cached
            charged = Charged(before, prompt, usage.output_tokens)
            conversation.session.learn(Transcript(plain[:before], "openai_chat", KEY, tools=tools, usage=[charged]))
        return None


def _inputs(messages: Sequence[Any]) -> list[int]:
    """Return the positions of what Inspect keeps: the sample's input, or the messages up to the first of a user."""
    rest = [n for n, message in enumerate(messages) if message.role != "system" and not _is_summary(message)]
    first = next((k for k, n in enumerate(rest) if messages[n].role == "user"), -1)
    return [n for n in rest if messages[n].source == "input"] or rest[: first + 1]


def _marked(messages: Sequence[Any]) -> list[Any]:
    """Write into each summary the user messages around it, of which Inspect makes one for some providers."""
    made: list[Any] = []
    for role, each in groupby(messages, key=lambda message: message.role):
        run = [*each]
        parts = [part.model_dump(mode="json", exclude={"metadata": {KEY}}) for part in run] if role == "user" else []
        for part in run:
            if _is_summary(part) and parts:
                made.append(part.model_copy(update={"metadata": {**part.metadata, KEY: parts}}))
            else:
                made.append(part)
    return made


def _apart(messages: Sequence[Any]) -> list[Any]:
    """Return the messages; those of which Inspect made one are apart again."""
    made: list[Any] = []
    for message in messages:
        about = message.metadata or {}
        is_merged = KEY in about and "combined_from" in about
        made += map(MESSAGE.validate_python, about[KEY]) if is_merged else [message]
    return made


def _is_summary(message: Any) -> bool:
    return bool((message.metadata or {}).get("summary") == KEY)


def _tool(tool: Any) -> dict[str, Any]:
    """Return a tool as one of Chat Completions."""
    parameters = tool.parameters.model_dump(exclude_none=True)
    about = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": about}


def _read(message: Any) -> dict[str, Any]:
    """Return a message as one of Chat Completions."""
    content, thoughts = message.content, _thoughts(message)
    if isinstance(content, list):
        content = [_part(part) for part in content if part.type != "reasoning"] or ""
    plain: dict[str, Any] = {"role": message.role, "content": content}
    if message.role == "tool":
        plain["tool_call_id"] = message.tool_call_id or ""
        plain["content"] = message.error.message if message.error else content
    if message.role == "assistant" and message.tool_calls:
        plain["tool_calls"] = [call(each.id, each.function, each.arguments) for each in message.tool_calls]
    if thoughts:
        readable = [each.summary or ("" if each.redacted else each.reasoning) for each in thoughts]
        plain["reasoning_content"] = "\n".join(readable)
    return plain


def _thoughts(message: Any) -> list[Any]:
    return [part for part in message.content_list if part.type == "reasoning"]


def _part(part: Any) -> dict[str, Any]:
    match part.type:
        case "text":
            return {"type": "text", "text": part.text}
        case "image":
            return {"type": "image_url", "image_url": {"url": part.image}}
        case "audio":
            return {"type": "input_audio", "input_audio": {"data": part.audio, "format": part.format}}
        case "document" | "video":
            return {"type": "file", "file": {"file_data": getattr(part, part.type)}}
        case _:
            return {"type": "text", "text": part.model_dump_json(exclude_none=True, exclude={"internal"})}


def _change(original: Any, message: Mapping[str, Any]) -> Any:
    """Return the original with what an edit left or made; like one that Inspect edits, it has an id of its own."""
    update: dict[str, Any] = {"id": uuid4().hex, "content": _contents(original, message)}
    if original.role == "tool" and original.error:
        update["error"] = replace(original.error, message=text_of(message["content"]))
    if original.role == "assistant":
        known = {each.id: (call(each.id, each.function, each.arguments), each) for each in original.tool_calls or ()}
        calls = [(*known.get(each["id"], (None, None)), each) for each in message.get("tool_calls") or ()]
        update["tool_calls"] = [same if each == before else _call(each) for before, same, each in calls] or None
    return original.model_copy(update=update)


def _contents(original: Any, message: Mapping[str, Any]) -> Any:
    """Return the content of a message that an edit left or made."""
    content = message.get("content") or ""
    if isinstance(original.content, str):
        return text_of(content)
    known = [(_part(part), part) for part in original.content if part.type != "reasoning"]
    made = _thoughts(original) if "reasoning_content" in message else []
    for plain in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        same = next((part for before, part in known if before == plain), None)
        if same is not None or plain.get("text"):
            made.append(ContentText(text=plain["text"]) if same is None else same)
    return made or ""


def _call(plain: Mapping[str, Any]) -> ToolCall:
    about = plain["function"]
    return ToolCall(id=plain["id"], function=about["name"], arguments=json.loads(about["arguments"]))


def _make(message: Mapping[str, Any]) -> Any:
    """Return a new message."""
    made: dict[str, Any] = {"role": str(message["role"]), "content": text_of(message.get("content"))}
    if made["role"] == "user":
        made["metadata"] = {"summary": KEY}
    calls = [*map(_call, message.get("tool_calls") or ())] or None
    return MESSAGE.validate_python({**made, "tool_call_id": message.get("tool_call_id"), "tool_calls": calls})
