"""OpenHands trajectories, up to version 0.6x: a list of events, or an object with one under ``trajectory``.

Actions and observations alternate; an observation's ``cause`` is the id of its action. Mapped: the system prompt with
its tools, what user and agent said, the agent's actions as calls with their observations as results, and what each
response was charged. Where the model called functions, its response is kept as it was recorded, once for all actions
that came of it; other actions become a call named after them. An action that ends the task is what the agent said.
Left out: changes of state, what OpenHands recalled (templates that are not in the file turn it into text), and the
lines it puts behind a command's output.

A condensation removes events by their ids and puts a summary in their place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._chat import Chat, call, calls_of, dict_of, list_of, summary, text_of, text_part, told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..messages.types import Transcript
    from ._records import Record

_SILENT = ("change_agent_state", "agent_state_changed", "recall", "null", "condensation_request", "pause", "resume")
_LAST = ("finish", "reject")
_BOOKKEEPING = ("thought", "blocking", "is_input", "is_static", "hidden", "confirmation_state", "security_risk", "cwd")

_TOLD = ("message", "args", "content", "extras", "tool_call_metadata")  # extras tell the content once more


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether this is an event of OpenHands, or an object that holds such events."""
    return _is_event(value) or any(_is_event(event) for event in _inner(value)[:1])


def _is_event(value: dict[str, Any]) -> bool:
    acts = isinstance(value.get("action"), str) and isinstance(value.get("args"), dict)
    return acts or (isinstance(value.get("observation"), str) and "content" in value and "cause" in value)


def _inner(value: dict[str, Any]) -> list[dict[str, Any]]:
    return list_of(value.get("trajectory")) or list_of(value.get("history"))


def read(records: Iterable[Record], *, whole: bool) -> Transcript:
    """Return the events as messages; `whole` keeps those that a condensation removed."""
    session = _Session(Chat(whole))
    events = list(_events(records, session.chat))
    condensed = [at for at, event in enumerate(events) if event.get("action") == "condensation"]
    gone: set[int | str] = set()
    text, since = "", -1
    if condensed and not whole:
        since = condensed[-1]
        text = text_of(dict_of(events[since].get("args")).get("summary"))
        gone = {ref for at in condensed for ref in _forgotten(dict_of(events[at].get("args")))}
    for at, event in enumerate(events):
        if not whole and _id(event, "id") in gone:
            if text:
                session.chat.messages.append(summary(text))
            text = ""
            session.chat.account.leave(event.get("action") or event.get("observation"), "condensed")
            continue
        session.chat.is_prompt = session.chat.is_prompt if whole else at > since
        session.add(event)
    return session.chat.transcript("openhands", tools=session.tools)


def _events(records: Iterable[Record], chat: Chat) -> Iterator[dict[str, Any]]:
    """Yield all events; skip other values."""
    for record in records:
        value = record.value
        for event in _inner(value) if isinstance(value, dict) and not _is_event(value) else [value]:
            if isinstance(event, dict) and ("action" in event or "observation" in event):
                yield event
            else:
                chat.skip(record, "no action and no observation")


def _id(event: dict[str, Any], name: str) -> int | str:
    """Return an event's id, or that of its cause; empty if it has none."""
    ref = event.get(name)
    return ref if isinstance(ref, (int, str)) else ""


def _forgotten(args: dict[str, Any]) -> Sequence[int | str]:
    """Return the ids of the events that a condensation removes: a list or a range."""
    listed = args.get("forgotten_event_ids")
    if isinstance(listed, list):
        return [ref for ref in listed if isinstance(ref, (int, str))]
    first, last = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
    return range(first, last + 1) if isinstance(first, int) and isinstance(last, int) else ()


@dataclass(slots=True)
class _Session:
    """The session so far.

    Attributes:
        chat: its messages.
        tools: the tools' definitions.
        refs: call id of each action.
        responses: ids of the added responses.
    """

    chat: Chat
    tools: Any = None
    refs: dict[int | str, str] = field(default_factory=dict)
    responses: set[str] = field(default_factory=set)

    def add(self, event: dict[str, Any]) -> None:
        """Add an event."""
        args = dict_of(event.get("args"))
        kind = text_of(event.get("action"))
        said = text_of(args.get("content")) or text_of(event.get("message"))
        if kind in _SILENT or event.get("observation") in _SILENT:
            self.chat.account.leave(kind or event.get("observation"))
            return
        self.chat.account.fields(event, _TOLD, kind or event.get("observation"))
        if "observation" in event:
            self._observe(event)
        elif kind == "system":
            self.tools = args.get("tools")
            self.chat.say("system", said)
        elif kind == "condensation":
            if self.chat.whole:
                self.chat.compact([summary(text)] if (text := text_of(args.get("summary"))) else [])
        elif event.get("source") == "user":
            given = args.get("image_urls")
            urls = [url for url in given if isinstance(url, str)] if isinstance(given, list) else []
            self.chat.account.leave(
                kind, "no address", count=len(given or ()) - len(urls) if isinstance(given, list) else 0
            )
            self.chat.say(
                "user", told([text_part(said), *({"type": "image_url", "image_url": {"url": u}} for u in urls)])
            )
        elif event.get("source") == "agent":
            self._act(event, kind, args, said)
        else:
            self.chat.account.leave(kind, event.get("source") or "of nobody")

    def _act(self, event: dict[str, Any], kind: str, args: dict[str, Any], said: str) -> None:
        """Add an agent's action; each action of one response repeats the whole response."""
        metadata = dict_of(event.get("tool_call_metadata"))
        response = dict_of(metadata.get("model_response"))
        name = text_of(response.get("id"))
        message = next((dict_of(choice.get("message")) for choice in list_of(response.get("choices"))), {})
        ref = text_of(metadata.get("tool_call_id")) or f"event_{event.get('id')}"
        is_call = kind not in ("message", *_LAST)
        if is_call:
            self.refs[_id(event, "id")] = ref
        if name and name in self.responses:
            return
        self.responses.add(name)
        usage = dict_of(response.get("usage"))
        charged = usage.get("prompt_tokens"), usage.get("completion_tokens")
        self.chat.model = text_of(response.get("model")) or self.chat.model
        thought = text_of(message.get("content")) or text_of(args.get("thought"))
        if not is_call:
            self.chat.answer(thought or text_of(args.get("final_thought")) or said, charged=charged)
            return
        calls = calls_of(message, self.chat.account)
        given = {key: value for key, value in args.items() if key not in _BOOKKEEPING}
        made = call(ref, text_of(metadata.get("function_name")) or kind, given)
        self.chat.answer(thought, calls or [made], charged=charged)

    def _observe(self, event: dict[str, Any]) -> None:
        """Add an observation: the result of a call, or the output of the user's own action."""
        metadata = dict_of(dict_of(event.get("extras")).get("metadata"))
        words = "".join(
            text_of(part) for part in (metadata.get("prefix"), event.get("content"), metadata.get("suffix"))
        )
        ref = self.refs.get(_id(event, "cause"))
        if ref:
            self.chat.result(ref, words)
        else:
            self.chat.say("user", words)
