"""OpenHands: a condenser that keeps a conversation inside its model's context window.

A condenser returns the view that it is given, or a condensation: OpenHands stores it in the event log and applies it to
the view. ``TrimtabCondensation`` holds the messages that a compaction made, and the session's state.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from openhands.sdk.context.condenser.base import NoCondensationAvailableException, PipelinableCondenserBase
from openhands.sdk.context.view import View
from openhands.sdk.conversation.visualizer.default import EVENT_VISUALIZATION_CONFIG
from openhands.sdk.event import ActionEvent, Condensation, LLMConvertibleEvent
from openhands.sdk.event.types import SourceType  # noqa: TC002 - pydantic reads it
from openhands.sdk.llm import ImageContent, Message, TextContent
from openhands.sdk.llm.call_context import resolve_llm_call_context
from openhands.sdk.llm.exceptions import LLMContextWindowExceedError
from pydantic import Field, PrivateAttr, field_serializer

from ..errors import OverflowedError
from .mirror import PROVIDER, mirrored, returned
from .sessions import Conversation, Sessions, session_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from openhands.sdk.llm import LLM

    from ..models.model import Model
    from ..session.compactor import Compactor

REFUSED = LLMContextWindowExceedError("prompt is too long")
"""The refusal of a call, whose own error OpenHands does not hand to a condenser."""

SHARE = 0.5
"""Tokens that a condensation for the user leaves, of those before it: of events, OpenHands's own leaves as many. Also
the share of the window past which a call without an answer is taken for a refused one at once."""


class TrimtabMessage(LLMConvertibleEvent):  # type: ignore[misc, unused-ignore]
    """A message that a compaction made or changed, or one that lost a neighbour which its event needs.

    Attributes:
        message: the message.
        state: the session's state; the last one that was made has it.
    """

    source: SourceType = "environment"
    message: Message
    state: dict[str, Any] | None = None

    def to_llm_message(self) -> Message:
        """Return a copy of the message: OpenHands joins the contents of neighbours in place."""
        return self.message.model_copy()


class TrimtabCondensation(Condensation):  # type: ignore[misc, unused-ignore]
    """A compaction in the event log.

    Attributes:
        placed: new messages, each with its index in the resulting view.
    """

    placed: list[tuple[int, TrimtabMessage]] = Field(default_factory=list)

    def apply(self, events: list[LLMConvertibleEvent]) -> list[LLMConvertibleEvent]:
        """Return the events without the forgotten ones, and with the new messages."""
        kept = [event for event in events if event.id not in self.forgotten_event_ids]
        if self.placed:
            kept = [event.model_copy(update={"state": None}) if _state((event,)) else event for event in kept]
        for index, event in self.placed:
            kept.insert(index, event)
        return kept


EVENT_VISUALIZATION_CONFIG[TrimtabCondensation] = EVENT_VISUALIZATION_CONFIG[Condensation]  # it has exact classes alone


class TrimtabCondenser(PipelinableCondenserBase):  # type: ignore[misc, unused-ignore]
    """Keeps the view of each conversation inside the model's context window.

    System prompt and tools count. After a call that the provider refused as too long, the view shrinks.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """

    model: Any
    options: dict[str, Any] = Field(default_factory=dict)
    _sessions: Sessions = PrivateAttr()
    _before: WeakKeyDictionary[Conversation, _Outcome] = PrivateAttr(default_factory=WeakKeyDictionary)

    def __init__(self, model: str | Model | Compactor, **options: Any) -> None:
        """Make the Compactor where none was given."""
        given = {**options.pop("options", {}), **options}  # a stored agent has them in one field
        super().__init__(model=model, options=given)
        self._sessions = Sessions(model, given, PROVIDER)

    @property
    def compactor(self) -> Compactor:
        """The Compactor: its history, pins and archive."""
        return self._sessions.compactor

    def handles_condensation_requests(self) -> bool:
        """Return True: OpenHands requests a condensation after a refused call, and in ``conversation.condense()``."""
        return True

    def condense(self, view: View, agent_llm: LLM | None = None) -> View | Condensation:
        """Return the view where it fits, else a condensation.

        Raises:
            NoCondensationAvailableException: a call was refused, and too little can leave; says what stays.
        """
        call = self._calling(view, agent_llm)
        with _floor():
            return self._done(call, call.run())

    async def acondense(self, view: View, agent_llm: LLM | None = None) -> View | Condensation:
        """Do as ``condense`` without blocking the event loop; hooks and a summarizer may be asynchronous."""
        call = self._calling(view, agent_llm)
        with _floor():
            return self._done(call, await call.run("a"))

    def _calling(self, view: View, agent_llm: LLM | None) -> _Call:
        """Return a view with its conversation; record the usage of the call before."""
        name = resolve_llm_call_context(None).session_id or _last(view.events[:1])
        state = _state(view.events)
        is_own = state is not None and state.get("session") == session_name(name)  # a fork begins with another's
        conversation = self._sessions.of(name, state if is_own else None)
        before = self._before.pop(conversation, NOTHING)
        if agent_llm is not None:
            if conversation.session.budget().source == "assumed":  # a public table raises no window that is known
                conversation.learn_window(agent_llm.effective_max_input_tokens)
            if before.is_sent:
                conversation.record(_usage(view.events, before.last, agent_llm))
        is_same = before.last == _last(view.events)
        is_refused = is_same and before.is_sent and view.unhandled_condensation_request
        refusals, plain = before.refusals + is_refused, mirrored(_turns(view.events), _read)
        return _Call(view, conversation, plain, refusals, is_refused, is_condensed=is_same and not before.is_sent)

    def _done(self, call: _Call, done: Any) -> View | Condensation:
        """Return the view where nothing was done, else the condensation of what was done."""
        view, is_asked = call.view, call.view.unhandled_condensation_request
        self._before[call.conversation] = _Outcome(_last(view.events), call.refusals, is_sent=True)
        if not is_asked and [*map(id, done.messages)] == [*map(id, call.plain)]:
            return view
        is_stored = is_asked or not call.is_condensed  # one condensation after another could go on for ever
        made = _condensation(call, done, is_stored=is_stored)
        resulting = made.apply(view.events)
        if not is_stored:
            return View(events=resulting)
        self._before[call.conversation] = _Outcome(_last(resulting), call.refusals)
        return made

    @field_serializer("model", when_used="json")
    def _write_model(self, _: Any) -> str:
        return self.compactor.model

    @field_serializer("options", when_used="json")
    def _write_options(self, options: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in options.items() if isinstance(value, str | int | float | None)}


@dataclass(frozen=True)
class _Outcome:
    """What became of a view.

    Attributes:
        last: id of its last event.
        refusals: requests for a condensation that came in place of an answer, in the whole conversation.
        is_sent: whether it was sent; otherwise it is the result of a condensation.
    """

    last: str
    refusals: int = 0
    is_sent: bool = False


NOTHING = _Outcome("")
"""What is known of the view of a conversation that this process has not seen."""


@dataclass(frozen=True)
class _Call:
    """A view that is about to be sent.

    Attributes:
        refusals: requests for a condensation that came in place of an answer, in the whole conversation.
        is_refused: whether one came in place of an answer to this view.
        is_condensed: whether it is the result of a condensation.
    """

    view: View
    conversation: Conversation
    plain: list[dict[str, Any]]
    refusals: int
    is_refused: bool
    is_condensed: bool

    def run(self, prefix: str = "") -> Any:
        """Return the messages that fit: fewer ones where a condensation is requested."""
        tools = [tool for event in self.view.events for tool in getattr(event, "tools", ())]
        beside = {"tools": [tool.to_openai_tool(add_security_risk_prediction=True) for tool in tools] or None}
        if not self.view.unhandled_condensation_request:
            return getattr(self.conversation, f"{prefix}fit")(self.plain, **beside)
        session = self.conversation.session
        # The first one may be of a user whose call was interrupted, if the prompt is small.
        is_large = self.is_refused and session.size(self.plain, **beside).prompt > SHARE * session.window
        if is_large or (self.is_refused and self.refusals > 1):
            return getattr(self.conversation, f"{prefix}overflow")(REFUSED, self.plain, **beside)
        return getattr(session, f"{prefix}compact")(self.plain, target_share=SHARE, **beside)


@dataclass(frozen=True, eq=False)
class _Turn:
    """A message and its events, which are several for the calls of one answer, and none for a new message."""

    message: Message
    events: list[Any]


@contextmanager
def _floor() -> Iterator[None]:
    """Raise the error that OpenHands has where too little can leave."""
    try:
        yield
    except OverflowedError as floor:
        raise NoCondensationAvailableException(f"trimtab: {floor}") from floor


def _condensation(call: _Call, done: Any, *, is_stored: bool) -> TrimtabCondensation:
    """Return the condensation that makes the given messages of a view.

    OpenHands keeps or forgets some events together only: where one of them left or changed, messages stand in for all.
    """
    events, turns = call.view.events, returned(call.plain, done.messages, _change, lambda new: _Turn(_made(new), []))
    kept, cuts = {event.id for turn in turns for event in turn.events}, sorted(call.view.manipulation_indices)
    units = [bisect_right(cuts, index) for index in range(len(events))]
    broken = {unit for unit, event in zip(units, events, strict=True) if event.id not in kept}
    whole = {event.id for unit, event in zip(units, events, strict=True) if unit not in broken}
    placed: list[tuple[int, TrimtabMessage]] = []
    index = 0
    for turn in turns:
        stays = bool(turn.events) and turn.events[0].id in whole
        if not stays:
            placed.append((index, TrimtabMessage(message=turn.message)))
        index += len(turn.events) if stays else 1
    if placed and is_stored:
        place, message = placed.pop()
        placed.append((place, message.model_copy(update={"state": call.conversation.state()})))
    made = getattr(done, "compaction", done)
    return TrimtabCondensation(
        forgotten_event_ids={event.id for event in events} - whole,
        placed=placed,
        summary=getattr(made, "summary", None),
        llm_response_id=str(getattr(made, "ref", None)),
    )


def _turns(events: Sequence[Any]) -> list[_Turn]:
    """Return the messages of a view, of which OpenHands joins those of the user that follow each other."""
    batches = groupby(events, lambda event: event.llm_response_id if isinstance(event, ActionEvent) else event.id)
    turns = [[*batch] for _, batch in batches]
    return [_Turn(LLMConvertibleEvent.events_to_messages(batch)[0], batch) for batch in turns]


def _read(turn: _Turn) -> dict[str, Any]:
    """Return a message as one of Chat Completions."""
    message = turn.message
    parts = [part for content in message.content for part in content.to_llm_dict()]
    is_text = len(parts) == 1 and "text" in parts[0]
    plain: dict[str, Any] = {"role": message.role, "content": parts[0]["text"] if is_text else parts or ""}
    thoughts = [getattr(block, "thinking", "") for block in message.thinking_blocks]
    if reasoning := message.reasoning_content or "\n".join(thoughts):
        plain["reasoning_content"] = reasoning
    if message.tool_calls:
        plain["tool_calls"] = [call.to_chat_dict() for call in message.tool_calls]
    if message.role == "tool":
        plain["tool_call_id"] = message.tool_call_id or ""
    return plain


def _change(original: _Turn, message: Mapping[str, Any]) -> _Turn:
    """Return the original with other content, other calls, or without its reasoning."""
    calls = {call["id"]: call["function"]["arguments"] for call in message.get("tool_calls") or ()}
    given = [call for call in original.message.tool_calls or () if call.id in calls]
    update: dict[str, Any] = {"content": _made(message).content}
    update["tool_calls"] = [call.model_copy(update={"arguments": calls[call.id]}) for call in given] or None
    if "reasoning_content" in _read(original) and "reasoning_content" not in message:
        update |= {"reasoning_content": None, "thinking_blocks": [], "responses_reasoning_item": None}
    return _Turn(original.message.model_copy(update=update), [])


def _made(message: Mapping[str, Any]) -> Message:
    """Return a new message."""
    content = message.get("content") or []
    return Message(
        role=str(message["role"]),
        content=content
        if isinstance(content, str)
        else [
            ImageContent(image_urls=[part["image_url"]["url"]])
            if "image_url" in part
            else TextContent(text=part["text"])
            for part in content
        ],
    )


def _usage(events: Sequence[Any], last: str, llm: LLM) -> dict[str, int] | None:
    """Return the usage of the first answer after an event."""
    newer = [*takewhile(lambda event: event.id != last, reversed(events))]
    answers = [name for event in newer if (name := getattr(event, "llm_response_id", None))]
    used = [usage for usage in llm.metrics.token_usages if answers and usage.response_id == answers[-1]]
    return {"input_tokens": used[-1].prompt_tokens, "output_tokens": used[-1].completion_tokens} if used else None


def _state(events: Sequence[Any]) -> dict[str, Any] | None:
    """Return the session's state in a view."""
    return next((event.state for event in events if isinstance(event, TrimtabMessage) and event.state), None)


def _last(events: Sequence[Any]) -> str:
    return str(events[-1].id) if events else ""
