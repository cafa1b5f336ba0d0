"""Trajectories of OpenHands, up to version 0.6x: a list of events, or an object with one in ``trajectory``.

An event is an action or an observation; an observation's ``cause`` is the id of its action. Read are the system prompt
with its tools, messages of user and agent, the agent's actions as calls, observations as their results, and each
response's usage. If the model called functions, its response is kept as it was recorded, once for all its actions; any
other action becomes a call with its name. An action that ends the task is a message of the agent. A condensation
removes events by their ids; its summary takes their place.

Left out are changes of state, recalled knowledge (templates that are not in the file turn it into text), and the lines
that OpenHands adds to a command's output.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..messages.usage import Usage
from ._builder import Builder, FileRecords
from ._parts import call, content_of, dict_of, image_part, list_of, summary, text_of, text_part

_SILENT = ("change_agent_state", "agent_state_changed", "recall", "null", "condensation_request", "pause", "resume")
_LAST = ("finish", "reject")
_BOOKKEEPING = ("thought", "blocking", "is_input", "is_static", "hidden", "confirmation_state", "security_risk", "cwd")

_EVENT = ("message", "args", "content", "extras", "tool_call_metadata")  # extras repeat the content


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether this is an event of OpenHands, or an object that holds such events."""
    return _is_event(value) or any(_is_event(event) for event in _inner(value)[:1])


def _is_event(value: dict[str, Any]) -> bool:
    acts = isinstance(value.get("action"), str) and isinstance(value.get("args"), dict)
    return acts or (isinstance(value.get("observation"), str) and "content" in value and "cause" in value)


def _inner(value: dict[str, Any]) -> list[dict[str, Any]]:
    return list_of(value.get("trajectory")) or list_of(value.get("history"))


def read(records: FileRecords, *, whole: bool) -> Builder:
    """Return the events as messages; `whole` keeps those that a condensation removed."""
    session = _Session(whole=whole)
    events = session.events(records)
    condensed = [at for at, event in enumerate(events) if event.get("action") == "condensation" and not whole]
    last = condensed[-1] if condensed else -1
    text = text_of(dict_of(events[last].get("args")).get("summary")) if condensed else ""
    gone = {ref for at in condensed for ref in _forgotten(dict_of(events[at].get("args")))}
    for at, event in enumerate(events):
        if not whole:
            session.is_prompt = at > last
        if _id(event, "id") not in gone:
            session.add(event)
            session.owners += [_id(event, "id")] * (len(session.messages) - len(session.owners))
            continue
        if text:
            session.messages.append(summary(text))
        text = ""
        session.leave(event.get("action") or event.get("observation"), "condensed")
    return session


def _id(event: dict[str, Any], name: str) -> int | str:
    """Return an event's id, or that of its cause; empty if it has none."""
    ref = event.get(name)
    return ref if isinstance(ref, (int, str)) else ""


def _forgotten(args: dict[str, Any]) -> set[int | str]:
    """Return the ids of the events that a condensation removes: a list or a range."""
    listed = args.get("forgotten_event_ids")
    if isinstance(listed, list):
        return {ref for ref in listed if isinstance(ref, (int, str))}
    first, last = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
    return set(range(first, last + 1)) if isinstance(first, int) and isinstance(last, int) else set()


@dataclass(slots=True)
class _Session(Builder):
    """The messages in Chat's shape.

    Attributes:
        refs: call id of each action.
        responses: ids of the added responses.
        owners: the id of each message's event, with ``whole``.
        forgotten: ids of the events that condensations removed.
    """

    refs: dict[int | str, str] = field(default_factory=dict)
    responses: set[str] = field(default_factory=set)
    owners: list[int | str] = field(default_factory=list)
    forgotten: set[int | str] = field(default_factory=set)

    def events(self, records: FileRecords) -> list[dict[str, Any]]:
        """Return all events; skip other values."""
        events = []
        for record in records:
            value = record.value
            for event in _inner(value) if isinstance(value, dict) and not _is_event(value) else [value]:
                if isinstance(event, dict) and ("action" in event or "observation" in event):
                    events.append(event)
                else:
                    self.skip(record, "no action and no observation")
        return events

    def add(self, event: dict[str, Any]) -> None:
        """Add an event."""
        args, source = dict_of(event.get("args")), event.get("source")
        metrics = dict_of(dict_of(event.get("llm_metrics")).get("accumulated_token_usage"))
        self.name_window(metrics.get("context_window"))
        kind = text_of(event.get("action"))
        message_text = text_of(args.get("content")) or text_of(event.get("message"))
        if kind in _SILENT or event.get("observation") in _SILENT:
            self.leave(kind or event.get("observation"))
            return
        self.leave_fields([event], _EVENT, kind or event.get("observation"))
        if "observation" in event:
            self._add_observation(event)
        elif kind == "system":
            self.tools = args.get("tools")
            self.say("system", message_text)
        elif kind == "condensation":
            if self.whole:
                self.forgotten |= _forgotten(args)
                stays = (
                    each for each in zip(self.messages, self.owners, strict=False) if each[1] not in self.forgotten
                )
                head = [summary(args["summary"])] if text_of(args.get("summary")) else []
                self.compact(head, [message for message, _ in stays])
                self.forgotten.add(_id(event, "id"))  # the next summary replaces this one
        elif source == "user":
            given = args["image_urls"] if isinstance(args.get("image_urls"), list) else []
            urls = [url for url in given if isinstance(url, str)]
            self.leave(kind, "no address", count=len(given) - len(urls))
            self.say("user", content_of([text_part(message_text), *map(image_part, urls)]))
        elif source == "agent":
            self._add_action(event, kind, args, message_text)
        else:
            self.leave(kind, source or "of nobody")

    def _add_action(self, event: dict[str, Any], kind: str, args: dict[str, Any], message_text: str) -> None:
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
        charged = Usage.recorded(response.get("usage"))
        self.model = text_of(response.get("model")) or self.model
        thought = text_of(message.get("content")) or text_of(args.get("thought"))
        if not is_call:
            self.answer(thought or text_of(args.get("final_thought")) or message_text, charged=charged)
            return
        given = {key: value for key, value in args.items() if key not in _BOOKKEEPING}
        made = call(ref, text_of(metadata.get("function_name")) or kind, given)
        self.answer(thought, self.calls_of(message) or [made], charged=charged)

    def _add_observation(self, event: dict[str, Any]) -> None:
        """Add an observation: the result of a call, or the output of the user's own action."""
        metadata = dict_of(dict_of(event.get("extras")).get("metadata"))
        parts = metadata.get("prefix"), event.get("content"), metadata.get("suffix")
        words = "".join(map(text_of, parts))
        if ref := self.refs.get(_id(event, "cause")):
            self.result(ref, words)
        else:
            self.say("user", words)
