"""Repairs of the Responses shape: a flat list of items, whose types the core's table knows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import _core
from ...messages.shapes import text_block
from .entries import INTERRUPTED, Entry, append_moved, orphan_parts, string, whole_parts

if TYPE_CHECKING:
    from ..validate import Rules
    from .entries import Repairs


class ItemKind(NamedTuple):
    """What the core's table says of a type of item; ``rust/core/src/shape/items.rs`` describes the fields."""

    name: str
    part: str
    is_model: bool
    ids: tuple[str, ...]
    needs_id: bool
    body: str | None
    answers: tuple[str, ...]


_KINDS = {row[0]: ItemKind(*row) for row in _core.ITEMS}
_CALLS, _OUTPUTS = ("call", "request"), ("output", "answer")
_TEXTS = ("function_call_output", "custom_tool_call_output")
"""Outputs that say what a tool gave back as text or parts, under one name."""
_RETYPED = tuple((name,) for name in _TEXTS)
"""The answers of calls that have such an output."""
_EXIT = 130
"""Exit code of a command that was interrupted."""


def _kind(item: dict[str, Any]) -> ItemKind:
    """Return the kind of an item; of a type that the table does not have by its end, as the core reads it."""
    name = item.get("type") or "message"
    if not isinstance(name, str):
        name = ""
    known = _KINDS.get(name)
    if known is not None:
        return known
    part = "whole"
    if string(item, "call_id"):
        part = "call" if name.endswith("_call") else "output" if name.endswith("_output") else part
    return ItemKind(name, part, not name.endswith("_output"), ("call_id",), True, None, ())


def _id(item: dict[str, Any], kind: ItemKind) -> str:
    return next((found for key in kind.ids if (found := string(item, key))), "")


def repair_responses(entries: list[Entry], changes: Repairs, rules: Rules) -> list[Entry]:
    """Give every call one output behind it, every output its call, and reasoning the item that it led to."""
    entries = _controls([entry for entry in entries if _complete(entry, changes)], changes)
    outputs = _first_outputs(entries, changes)
    last = _running(entries, outputs)
    kept: list[Entry] = []
    missing: list[Entry] = []
    calls: dict[str, Entry] = {}
    for entry in entries:
        kind = _kind(entry.message)
        ref = _id(entry.message, kind) if kind.part in (*_CALLS, *_OUTPUTS) else ""
        if not _is_model(entry.message, kind):  # behind all calls of a response, so that parallel calls stay together
            append_moved(kept, missing)
            missing = []
        running = entry in last and (rules.in_flight or kind.name == "program")
        if ref and kind.part in _CALLS and ref in calls:
            changes.add(entry, "duplicate_call", ref)
            if entry.message != calls[ref].message:
                entry.message = _call_as_message(entry.message)
                kept.append(entry)
        elif ref and kind.part in _OUTPUTS and outputs.get(ref) is not entry:
            changes.add(entry, "duplicate_result" if ref in outputs else "orphan_result", ref)
            if message := _stray_as_message(entry.message, outputs.get(ref)):
                entry.message = message
                kept.append(entry)
        elif ref and kind.part in _CALLS and ref not in outputs and not running:
            calls[ref] = entry
            answer = _interrupted(kind, ref)
            if answer is None and kind.name != "computer_call":  # as text, where no output can be written
                entry.message = _call_as_message(entry.message)
            if answer is not None or kind.name != "computer_call":  # no text can stand for a screenshot: the call goes
                kept.append(entry)
            if answer is None:
                changes.add(entry, "interrupted_result", ref)
            else:
                missing.append(changes.added(entry.origin, answer, "interrupted_result", ref))
        else:
            calls |= {ref: entry} if ref and kind.part in _CALLS else {}
            kept.append(entry)
    append_moved(kept, missing)
    return _without_bare_reasoning(kept, changes, in_flight=rules.in_flight)


def _controls(entries: list[Entry], changes: Repairs) -> list[Entry]:
    """Move a trigger to the end, and the settings that came with a compaction behind it; one trigger stays."""
    kept: list[Entry] = []
    triggers: list[Entry] = []
    place: int | None = None  # behind a compaction that the model has not answered yet
    for entry in entries:
        kind = _kind(entry.message)
        if kind.name == "compaction_trigger":
            triggers.append(entry)
            continue
        if kind.name == "configuration_update" and place is not None:
            if place < len(kept):
                entry.origin = kept[place - 1].origin
                changes.add(entry, "configuration_update")
            kept.insert(place, entry)
            place = None
            continue
        kept.append(entry)
        if kind.part == "compaction":
            place = len(kept)
        elif _is_model(entry.message, kind):
            place = None
    for n, entry in enumerate(triggers):
        if n or (kept and kept[-1].origin > entry.origin):
            changes.add(entry, "compaction_trigger")
    append_moved(kept, triggers[:1])
    return kept


def _running(entries: list[Entry], outputs: dict[str, Entry]) -> set[Entry]:
    """Return the entries of the last response, whose calls may still be running; none if a message ends its turn."""
    start = 0
    before = False
    for n, entry in enumerate(entries):
        kind = _kind(entry.message)
        is_model = _is_model(entry.message, kind)
        if not (is_model and before) and not (kind.part in _OUTPUTS and _id(entry.message, kind)):
            start = n
        before = is_model
    last = entries[start:]
    strays = [e for e in last if _is_stray(e, outputs)]
    ends = any(_stray_as_message(e.message, outputs.get(_id(e.message, _kind(e.message)))) for e in strays)
    return set() if ends else set(last)


def _is_stray(entry: Entry, outputs: dict[str, Entry]) -> bool:
    kind = _kind(entry.message)
    ref = _id(entry.message, kind)
    return kind.part in _OUTPUTS and bool(ref) and outputs.get(ref) is not entry


def _first_outputs(entries: list[Entry], changes: Repairs) -> dict[str, Entry]:
    """Return the output of each call: the first of the right kind behind it.

    Where there is none, the output of a function that answers a call with free text, or the reverse, gets the right
    type: what it says is the same in both.
    """
    calls: dict[str, ItemKind] = {}
    outputs: dict[str, Entry] = {}
    alike: dict[str, Entry] = {}
    for entry in entries:
        kind = _kind(entry.message)
        ref = _id(entry.message, kind)
        if ref and kind.part in _CALLS:
            calls.setdefault(ref, kind)
        elif ref in calls and kind.part in _OUTPUTS and _answers(kind, calls[ref]):
            outputs.setdefault(ref, entry)
        elif ref in calls and kind.name in _TEXTS and calls[ref].answers in _RETYPED:
            alike.setdefault(ref, entry)
    for ref, entry in alike.items():
        if ref not in outputs:
            outputs[ref] = entry
            entry.set(type=calls[ref].answers[-1])
            changes.add(entry, "output_type", ref)
    return outputs


def _answers(output: ItemKind, call: ItemKind) -> bool:
    """Return whether an output is of a type that answers a call; of an unknown one any."""
    same_side = (output.part == "answer") == (call.part == "request")
    return output.name in call.answers or (same_side and not call.answers)


def _is_model(item: dict[str, Any], kind: ItemKind) -> bool:
    """Return whether the model wrote an item, or its server did within the same response."""
    if kind.part == "message":
        return item.get("role") == "assistant"
    return kind.is_model or (not kind.needs_id and not _id(item, kind))


def _interrupted(kind: ItemKind, ref: str) -> dict[str, Any] | None:
    """Return an output, in the form of the call's kind, that says that there is none; None if no text can."""
    if not kind.answers:
        return None
    name = kind.answers[-1]
    answer: dict[str, Any] = {"type": name, "call_id": ref}
    match name:
        case _ if name in _TEXTS:
            return answer | {"output": INTERRUPTED}
        case "shell_call_output":
            chunk = {"stdout": "", "stderr": INTERRUPTED, "outcome": {"type": "exit", "exit_code": _EXIT}}
            return answer | {"output": [chunk]}
        case "apply_patch_call_output":
            return answer | {"status": "failed", "output": INTERRUPTED}
        case "tool_search_output":
            return answer | {"execution": "client", "status": "incomplete", "tools": []}
        case "mcp_approval_response":
            return {"type": name, "approval_request_id": ref, "approve": False, "reason": INTERRUPTED}
        case "program_output":
            return answer | {"id": f"{ref}_output", "result": INTERRUPTED, "status": "incomplete"}
        case _:
            return None


def _call_as_message(call: dict[str, Any]) -> dict[str, Any]:
    body = next((call[key] for key in ("arguments", "input", "action", "operation", "code") if key in call), None)
    text = f"[call of {call.get('name') or call.get('type')}: {body}]"
    return {"type": "message", "role": "assistant", "content": [text_block(text, "output_text")]}


def _stray_as_message(item: dict[str, Any], first: Entry | None = None) -> dict[str, Any] | None:
    """Return an output without a call as a user message; None if it repeats the first output or has no content."""
    output = _content(item)
    if not output or (first and _content(first.message) == output):
        return None
    return {"type": "message", "role": "user", "content": orphan_parts(output, "input_text")}


def _content(item: dict[str, Any]) -> str | list[Any] | None:
    """Return what an output says, as text or parts."""
    output = next((item[key] for key in ("output", "result", "reason") if item.get(key) is not None), None)
    if isinstance(output, list) and item.get("type") not in _TEXTS:
        texts = (part.get(key) for part in output if isinstance(part, dict) for key in ("stdout", "stderr", "text"))
        return "\n".join(text for text in texts if isinstance(text, str) and text)
    if isinstance(output, list):
        return whole_parts(output, "input_text")
    return output if isinstance(output, str) else None


def _complete(entry: Entry, changes: Repairs) -> bool:
    """Give an item a known role and its required fields; return False if nothing of it can be kept."""
    item = entry.message
    kind = _kind(item)
    if kind.part == "message":
        return _complete_message(entry, changes)
    if kind.part == "compaction" and not string(item, "encrypted_content"):
        changes.add(entry, "incomplete")
        return False
    fields: dict[str, Any] = {}
    ref, given = _id(item, kind), item.get(kind.body or "")
    if kind.part in _CALLS and kind.body and not isinstance(given, str):
        fields[kind.body] = json.dumps({} if given is None else given, default=str)
    if kind.part == "output" and kind.body and ref:
        if not isinstance(given, str | list):
            fields[kind.body] = "" if given is None else json.dumps(given, default=str)
        elif isinstance(given, list) and whole_parts(given, "input_text") != given:
            fields[kind.body] = whole_parts(given, "input_text")
    is_paired = kind.part in (*_CALLS, *_OUTPUTS)
    lost = is_paired and kind.needs_id and not ref
    lost |= kind.part in _CALLS and kind.body is not None and not isinstance(item.get("name"), str)
    if not fields and not lost:
        return True
    changes.add(entry, "incomplete")
    message: dict[str, Any] | None = {**item, **fields}
    if lost:
        message = _call_as_message(item) if kind.part in _CALLS else _stray_as_message(item)
    entry.message = message or item
    return message is not None


def _complete_message(entry: Entry, changes: Repairs) -> bool:
    if entry.message.get("role") not in ("user", "assistant", "system", "developer"):
        entry.set(role="user")
        changes.add(entry, "unknown_role")
    content = entry.message.get("content")
    if isinstance(content, list) and whole_parts(content, "input_text") != content:
        content = whole_parts(content, "input_text")
        entry.set(content=content)
        changes.add(entry, "incomplete")
    if content in (None, []):
        changes.add(entry, "blank_text")
    return content not in (None, [])


def _without_bare_reasoning(entries: list[Entry], changes: Repairs, *, in_flight: bool) -> list[Entry]:
    """Drop reasoning without an item behind it, as an aborted response leaves it: the server refuses it."""
    kept: list[Entry] = []
    leads = in_flight  # the answer is still coming
    for entry in reversed(entries):
        if entry.message.get("type") != "reasoning":
            leads = _is_model(entry.message, _kind(entry.message))
        elif not leads:
            changes.add(entry, "bare_reasoning")
            continue
        kept.append(entry)
    return kept[::-1]
