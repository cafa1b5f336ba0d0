"""Clients of the providers' SDKs whose calls fit the model's window.

All model calls of these SDKs, streams and raw responses and a tool runner's own too, go through one method of the
client: ``post``. A guarded client is a copy whose ``post`` makes the messages of a model call fit, repeats a call that
was refused as too long, and records the usage of its answer. Every other call is the client's own.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property, reduce
from inspect import getattr_static, iscoroutinefunction
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .._log import log
from ..messages.surrogates import mend
from ..messages.usage import usage_in
from ..session.compactor import Compactor
from ..validity.parameters import EDITS, flags_of
from .sessions import Conversation, Sessions, opening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from ..models.model import Model
    from ..server.call import ServerCall
    from ..session.call import Fitted

C = TypeVar("C")

COPIES = ("copy", "with_options")
"""Methods of a client that return a client with other options, which is guarded too."""


BRINGS = ("content_block_start", "response.output_item.done")
"""Events of a stream that bring a block, which deltas fill, or a whole item."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A kind of model call.

    Attributes:
        provider: the shape of its messages.
        messages: the body's field with the messages.
        system: the body's field with the system text; empty where it stands among the messages.
        held: fields that say that the server holds the conversation and is sent new messages alone.
    """

    provider: str
    messages: str
    system: str
    held: tuple[str, ...] = ()


class Guard:
    """Makes the model calls of clients fit; ``anthropic.wrap`` and ``openai.wrap`` describe the arguments.

    Args:
        endpoints: the model calls, by path.
        probe: the client's resource of one of them, by its attributes.
        model: an id, a ``Model``, or a ``Compactor``; None takes the model of each call.
        session: a conversation's name, or a function that returns it from the body of a call; None tells conversations
            apart by how they begin.
        options: keywords of a new ``Compactor``.
    """

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        probe: str,
        model: str | Model | Compactor | None,
        session: str | Callable[[Mapping[str, Any]], str] | None,
        options: Mapping[str, Any],
    ) -> None:
        """Make the Compactor where a model is named, so that a wrong option is an error at once."""
        self._endpoints, self._probe = endpoints, probe
        self._model, self._session, self._options = model, session, options
        self._sessions: dict[tuple[object, str], Sessions] = {}
        self._warned = False
        if model is not None:
            self._of(model, next(iter(endpoints.values())))

    def guarded(self, client: C) -> C:
        """Return a copy of a client, which shares its connections, with guarded calls.

        Raises:
            TypeError: this release of the SDK sends its calls in another way, which nothing would guard.
        """
        made = copy.copy(client)
        kind: Any = type(client)
        send = kind.post.__get__(made)

        def post(path: str, **given: Any) -> Any:
            call = self.call(path, given)
            return send(path, **given) if call is None else call.send(send)

        async def apost(path: str, **given: Any) -> Any:
            call = self.call(path, given)
            return await (send(path, **given) if call is None else call.asend(send))

        def copied(*args: Any, **options: Any) -> Any:
            return self.guarded(kind.copy(made, *args, **options))

        made.__dict__["post"] = apost if iscoroutinefunction(kind.post) else post
        made.__dict__.update(dict.fromkeys(COPIES, copied))
        _renew_resources(made, client)
        if reduce(getattr, self._probe.split("."), cast("Any", made))._post is not made.__dict__["post"]:  # noqa: SLF001
            raise TypeError(f"{kind.__name__} sends its calls past its post: this release of the SDK cannot be wrapped")
        return made

    def call(self, path: str, given: dict[str, Any]) -> _Call | None:
        """Return a model call; None for another request, and where the server holds the conversation."""
        endpoint, body = self._endpoints.get(path.partition("?")[0]), given.get("body")
        if endpoint is None or not isinstance(body, dict) or _given(body.get("compaction")):
            return None  # a compaction that the caller asks for reads the list as it is
        if held := [name for name in endpoint.held if _given(body.get(name))]:
            if not self._warned:
                log.warning("the server holds a conversation (%s=): nothing of it is compacted", held[0])
            self._warned = True
            return None
        messages: Any = body.get(endpoint.messages)
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        elif not isinstance(messages, list | tuple):
            messages = [*messages] if _given(messages) else []
            given["body"] = body = {**body, endpoint.messages: messages}  # an iterator is read once
        # ``fit`` replaces lone surrogates in the messages; what stands beside them goes out too.
        beside = {name: body[name] for name in (endpoint.system, "tools") if name in body}
        if (whole := mend(beside)) is not beside:
            given["body"] = body = {**body, **whole}
        name = self._session(body) if callable(self._session) else self._session
        sessions = self._of(self._model or str(body.get("model")), endpoint)
        return _Call(path, given, endpoint, messages, sessions.of(opening(messages) if name is None else name))

    def _of(self, model: str | Model | Compactor, endpoint: Endpoint) -> Sessions:
        key = (model if isinstance(model, str) else id(model), endpoint.provider)
        if key not in self._sessions:
            own = {} if isinstance(model, Compactor) else {"provider": endpoint.provider}  # text alone does not tell
            self._sessions[key] = Sessions(model, {**own, **self._options}, carries=True)
        return self._sessions[key]


def _renew_resources(made: object, client: object) -> None:
    """Make a copy of a client forget the resources of the client: each holds the ``post`` that it was made with.

    Newer releases of the SDKs make them when they are first used, older ones with the client.
    """
    views: list[tuple[str, Any]] = []
    for name, held in [*vars(made).items()]:
        kind: Any = type(held)
        if isinstance(getattr_static(type(made), name, None), cached_property):
            del made.__dict__[name]
        elif getattr(held, "_client", None) is client:
            made.__dict__[name] = kind(made)
        elif kind.__name__.endswith(("WithRawResponse", "WithStreamedResponse")):
            views.append((name, kind))
    for name, kind in views:  # of the resources
        made.__dict__[name] = kind(made)


@dataclass(frozen=True, slots=True)
class _Call:
    """A model call: the arguments of ``post``, its messages, and its conversation."""

    path: str
    given: dict[str, Any]
    endpoint: Endpoint
    messages: Sequence[Any]
    conversation: Conversation

    def send(self, post: Callable[..., Any]) -> Any:
        def send(fit: Fitted[Any]) -> Any:
            sent = self._sent(post, fit)
            if fit.server is None or not fit.server.is_pass:
                return sent
            if (response := getattr(sent, "http_response", None)) is not None:
                response.read()
            return _read(sent)

        answer = self.conversation.call(send, self.messages, **self._beside())
        if self.given.get("stream") and hasattr(answer, "_iterator"):
            answer._iterator = _watched(answer._iterator, self.conversation)  # noqa: SLF001 - a stream has no hook
        else:
            self.conversation.record(_read(answer))
        return answer

    async def asend(self, post: Callable[..., Any]) -> Any:
        async def send(fit: Fitted[Any]) -> Any:
            sent = await self._sent(post, fit)
            if fit.server is None or not fit.server.is_pass:
                return sent
            if (response := getattr(sent, "http_response", None)) is not None:
                await response.aread()
            return _read(sent)

        answer = await self.conversation.acall(send, self.messages, **self._beside())
        if self.given.get("stream") and hasattr(answer, "_iterator"):
            answer._iterator = _awatched(answer._iterator, self.conversation)  # noqa: SLF001 - a stream has no hook
        else:
            await self.conversation.arecord(_read(answer))
        return answer

    def _beside(self) -> dict[str, Any]:
        body = self.given["body"]
        system = body.get(self.endpoint.system)
        tools = body.get("tools")
        return {"system": system if _given(system) else None, "tools": [*tools] if _given(tools) else None}

    def _sent(self, post: Callable[..., Any], fitted: Fitted[Any]) -> Any:
        """Return what ``post`` returns for the messages that fit."""
        server = fitted.server
        if server is None:
            return post(self.path, **self._with(fitted))
        if server.is_pass:
            messages = fitted.messages[: server.cut]
            path, given = compaction_alone(self.path, self.given, self.endpoint.messages, messages, server)
            return post(path, **given)
        return post(self.path, **asking(self._with(fitted), server))

    def _with(self, fitted: Fitted[Any]) -> dict[str, Any]:
        """Return the arguments of ``post`` with the messages that fit, and the flags of the server's compactions."""
        given = self._with_messages(fitted)
        if self.endpoint.provider != "anthropic" or not self.conversation.session.policy.server:
            return given
        flags = flags_of(fitted.messages)
        return with_betas(given, flags) if flags else given

    def _with_messages(self, fitted: Fitted[Any]) -> dict[str, Any]:
        """Return the arguments of ``post`` with the messages that fit."""
        if fitted.messages is self.messages:
            return self.given
        body = {**self.given["body"], self.endpoint.messages: [*fitted.messages]}
        if self.endpoint.provider != "anthropic":
            return {**self.given, "body": body}
        # Thinking that was marked, not removed: the provider drops what stands behind an edit.
        asked = fitted.request
        if "thinking" not in asked:
            return {**self.given, "body": body}
        thinking = body.get("thinking")
        body["thinking"] = {**(thinking if isinstance(thinking, dict) else {}), **asked["thinking"]}
        return with_betas({**self.given, "body": body}, asked["betas"])


def _given(value: object) -> bool:
    """Return whether a field of a body has a value: an omitted one holds an object of the SDK, which is false."""
    return value is not None and type(value).__name__ not in {"Omit", "NotGiven"} and value != []


def _read(answer: object) -> object:
    """Return an answer with a usage, or the JSON of one that the caller reads raw; None where it has none yet."""
    if usage_in(answer) is not answer:
        return answer
    try:
        body = cast("Any", answer).http_response.json()
    except Exception:  # noqa: BLE001 - no raw answer, or one whose body is a stream or not read yet: the caller's own
        return None
    return body if body.get("usage") is not None else None


class _Tally:
    """The usage of a stream, and what the provider's server did, whose events tell it in parts."""

    def __init__(self) -> None:
        self.usage: dict[str, Any] = {}
        self.content: list[Any] = []
        self.management: object = None

    def see(self, event: object) -> None:
        for holder in (event, getattr(event, "message", None), getattr(event, "response", None)):
            usage = getattr(holder, "usage", None)
            if usage is not None and hasattr(usage, "model_dump"):
                self.usage |= usage.model_dump(exclude_none=True)
            self.management = getattr(holder, "context_management", None) or self.management
        block = getattr(event, "content_block", None) or getattr(event, "item", None)
        if getattr(event, "type", "") in BRINGS and getattr(block, "type", "") == "compaction":
            self.content.append(cast("Any", block).model_dump(exclude_none=True))
        delta = getattr(event, "delta", None)
        if getattr(delta, "type", "") == "compaction_delta" and self.content:
            self.content[-1] |= cast("Any", delta).model_dump(exclude_none=True) | {"type": "compaction"}

    def answer(self) -> object:
        """Return the answer as far as a session reads it; None without a usage."""
        if not self.usage:
            return None
        return {"usage": self.usage, "content": self.content, "context_management": self.management}


def _watched(events: Iterator[Any], conversation: Conversation) -> Iterator[Any]:
    """Yield a stream's events, and record the usage at its end."""
    tally = _Tally()
    for event in events:
        tally.see(event)
        yield event
    conversation.record(tally.answer())


async def _awatched(events: AsyncIterator[Any], conversation: Conversation) -> AsyncIterator[Any]:
    """Yield a stream's events like ``_watched``."""
    tally = _Tally()
    async for event in events:
        tally.see(event)
        yield event
    await conversation.arecord(tally.answer())


COMPACT_PATH = "/responses/compact"
"""OpenAI's endpoint for a compaction alone; Anthropic's is that of a call."""

_RAW = "x-stainless-raw-response"
"""Header with which a caller reads an answer raw: the answer of a compaction is not the caller's."""

_OF_COMPACT = ("model", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "service_tier", "image")
"""Fields of a call that ``responses.compact`` takes too."""

_OF_REPLY = ("stream", "stop_sequences", "output_format", "context_management", "betas")
"""Fields that shape a reply: Anthropic refuses them in a request for a compaction."""


def with_betas(given: Mapping[str, Any], flags: tuple[str, ...] | list[str]) -> dict[str, Any]:
    """Return the arguments with beta flags in the header that Anthropic reads them from; those that are there stay."""
    options = dict(given.get("options") or {})
    headers = {**(options.get("headers") or {})}
    name = next((name for name in headers if name.lower() == "anthropic-beta"), "anthropic-beta")
    known = headers.get(name)
    there = [each.strip() for each in known.split(",")] if isinstance(known, str) else []
    headers[name] = ",".join(dict.fromkeys([*there, *flags]))
    return {**given, "options": {**options, "headers": headers}}


def asking(given: dict[str, Any], server: ServerCall) -> dict[str, Any]:
    """Return the arguments of a call that also asks the server; the caller's own edits stay."""
    body, parameters = {**given["body"]}, dict(server.parameters)
    own = body.get("context_management")
    if isinstance(own, dict) and isinstance(parameters.get("context_management"), dict):
        edits = parameters["context_management"]["edits"]
        types = {edit["type"] for edit in edits}
        kept = [edit for edit in own.get("edits") or () if edit.get("type") not in types]
        parameters["context_management"] = {"edits": sorted([*kept, *edits], key=_place)}
    made = {**given, "body": {**body, **parameters}}
    return with_betas(made, server.betas) if server.betas else made


def _place(edit: Mapping[str, Any]) -> int:
    """The place of an edit in a request's list: the one of thinking comes first."""
    return EDITS.index(edit["type"]) if edit.get("type") in EDITS else len(EDITS)


def compaction_alone(path: str, given: Mapping[str, Any], field: str, messages: Any, server: ServerCall) -> Any:
    """Return path and arguments of the request for a compaction alone; its answer comes back as JSON.

    Args:
        path: of the model call.
        given: its arguments.
        field: the body's field with the messages.
        messages: those that the compaction stands for.
        server: what is asked.
    """
    body = given["body"]
    options = dict(given.get("options") or {})
    headers = {name: value for name, value in (options.get("headers") or {}).items() if name.lower() != _RAW}
    options = {name: value for name, value in options.items() if name not in {"post_parser", "headers"}}
    options["headers"] = headers
    if field == "input":
        kept = {name: body[name] for name in (*_OF_COMPACT, "instructions") if name in body}
        return COMPACT_PATH, {"body": {**kept, field: [*messages]}, "options": options, "cast_to": object}
    kept = {name: value for name, value in body.items() if name not in _OF_REPLY}
    if isinstance(choice := kept.get("tool_choice"), dict) and choice.get("type") in {"any", "tool"}:
        del kept["tool_choice"]
    if isinstance(config := kept.get("output_config"), dict):
        kept["output_config"] = {name: value for name, value in config.items() if name != "format"}
    made = {"body": {**kept, **server.parameters, field: [*messages]}, "options": options, "cast_to": object}
    return path, with_betas(made, (*server.betas, *flags_of(messages)))
