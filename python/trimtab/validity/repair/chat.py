"""Repairs of the Chat Completions shape."""

from __future__ import annotations

import json
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ...messages.shapes import as_blocks, text_block
from .entries import INTERRUPTED, Entry, append_moved, merge, orphan_parts, string, whole_parts

if TYPE_CHECKING:
    from ..validate import Rules
    from .entries import Repairs

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_LEGACY = "function_call:"
"""Beginning of the id of a call in the form before ``tool_calls``, which has none; the function's name follows."""
_INSTEAD = ("tool_calls", "function_call", "audio", "refusal")
"""Fields of the assistant that may stand without content."""


def repair_chat(entries: list[Entry], changes: Repairs, rules: Rules) -> list[Entry]:
    """Give every call one tool message in the run behind its message, and every tool message its call."""
    kept: list[Entry] = []
    strays: list[Entry] = []  # results without a call, now user messages; between results they would end the run
    results: dict[str, Entry | None] = {}
    for entry in entries:
        calls = _complete(entry, changes)
        ref = _answered(entry.message)
        if ref is None:
            _close_run(kept, results, strays, changes)
            results, strays = dict.fromkeys(calls), []
            kept.append(entry)
        elif ref in results and results[ref] is None:
            results[ref] = entry
            kept.append(entry)
        else:
            first, content = results.get(ref), entry.message.get("content")
            changes.add(entry, "duplicate_result" if first else "orphan_result", ref)
            if not first or first.message.get("content") != content:
                entry.message = {"role": "user", "content": orphan_parts(content, "text")}
                strays.append(entry)
    if rules.in_flight and not strays:
        results = {}  # calls at the end are still running
    _close_run(kept, results, strays, changes)
    return merge(kept, changes, _join) if rules.alternation else kept


def _answered(message: dict[str, Any]) -> str | None:
    """Return the id of the call that a message answers, empty if it names none; None if it is no result."""
    if message["role"] == "function":
        name = string(message, "name")
        return f"{_LEGACY}{name}" if name else ""
    return string(message, "tool_call_id") if message["role"] == "tool" else None


def _join(messages: list[dict[str, Any]]) -> dict[str, Any]:
    contents = [content for message in messages if (content := message.get("content"))]
    texts = [*takewhile(lambda content: isinstance(content, str), contents)]
    parts = [part for content in contents[len(texts) :] for part in as_blocks(content)]
    fields = {key: value for message in messages for key, value in message.items()}
    text = "\n\n".join(texts)
    return {**fields, "content": [*as_blocks(text or []), *parts] if parts else text}


def _close_run(kept: list[Entry], results: dict[str, Entry | None], strays: list[Entry], changes: Repairs) -> None:
    """End a run of tool messages: first add missing results, then the messages that cannot stand among results."""
    for ref in [ref for ref, entry in results.items() if entry is None]:
        message = {"role": "tool", "tool_call_id": ref, "content": INTERRUPTED}
        if ref.startswith(_LEGACY):
            message = {"role": "function", "name": ref.removeprefix(_LEGACY), "content": INTERRUPTED}
        kept.append(changes.added(kept[-1].origin, message, "interrupted_result", ref))
    append_moved(kept, strays)


def _complete(entry: Entry, changes: Repairs) -> list[str]:
    """Give a message the fields that its role needs, and drop others; return the ids of its calls."""
    recorded = len(changes.changes)
    fields = {key: value for key, value in entry.message.items() if key != "tool_calls" or value != []}
    if fields["role"] not in _ROLES:
        changes.add(entry, "unknown_role")
        fields["role"] = "user"
    if fields["role"] != "assistant" and fields.get("tool_calls") is not None:
        changes.add(entry, "misplaced")
        fields["content"] = _with_texts(fields.get("content"), [f"[calls: {json.dumps(fields.pop('tool_calls'))}]"])
    if isinstance(content := fields.get("content"), list) and whole_parts(content) != content:
        changes.add(entry, "incomplete")
        fields["content"] = whole_parts(content)
    says = any(fields.get(key) for key in _INSTEAD) or fields["role"] == "function"
    if fields.get("content") == [] or (fields.get("content") is None and not says):
        fields["content"] = ""
    if fields != entry.message and len(changes.changes) == recorded:
        changes.add(entry, "empty_field")
    calls = [*_complete_calls(entry, fields, changes)] if isinstance(fields.get("tool_calls"), list) else []
    if isinstance(fields.get("function_call"), dict) and fields["role"] == "assistant":
        calls += _complete_legacy(entry, fields, changes)
    if fields != entry.message:
        entry.message = fields
    return calls


def _complete_legacy(entry: Entry, fields: dict[str, Any], changes: Repairs) -> list[str]:
    """Complete the one call in ``fields`` of the form before ``tool_calls``; return its id, none if it became text."""
    given = fields["function_call"]
    if not string(given, "name"):
        changes.add(entry, "incomplete")
        fields["content"] = _with_texts(fields.get("content"), [f"[call: {json.dumps(given, default=str)}]"])
        del fields["function_call"]
        return []
    if not isinstance(given.get("arguments"), str):
        changes.add(entry, "incomplete")
        fields["function_call"] = _with_arguments(given, "arguments")
    return [_LEGACY + given["name"]]


def _complete_calls(entry: Entry, fields: dict[str, Any], changes: Repairs) -> dict[str, Any]:
    """Complete the calls in ``fields`` and return them by id; a call without id or name, or with a used id, is text."""
    given = fields["tool_calls"]
    made = [_complete_call(call) for call in given]
    texts = [call for call in made if isinstance(call, str)]
    if made != given:
        changes.add(entry, "incomplete")
    calls: dict[str, Any] = {}
    for call in made:
        if isinstance(call, str):
            continue
        if call["id"] not in calls:
            calls[call["id"]] = call
        else:
            changes.add(entry, "duplicate_call", call["id"])
            texts += [] if call == calls[call["id"]] else [f"[call: {json.dumps(call.get('function') or call)}]"]
    if list(calls.values()) != given:
        content = _with_texts(fields.get("content"), texts)
        fields |= {"content": "" if content is None and not calls else content, "tool_calls": list(calls.values())}
        if not calls:
            del fields["tool_calls"]
    return calls


def _complete_call(call: Any) -> Any:
    """Return the call with its fields; as text if it has no id or no name."""
    kinds = (("function", "arguments"), ("custom", "input")) if isinstance(call, dict) and string(call, "id") else ()
    kind, field = next((kind for kind in kinds if isinstance(call.get(kind[0]), dict)), ("", ""))
    if not kind or not isinstance(call[kind].get("name"), str):
        return f"[call: {json.dumps(call, default=str)}]"
    if isinstance(call[kind].get(field), str) and isinstance(call.get("type"), str):
        return call
    return {**call, "type": kind, kind: _with_arguments(call[kind], field)}


def _with_arguments(called: dict[str, Any], field: str) -> dict[str, Any]:
    """Return what is called with its arguments as a string."""
    given = called.get(field)
    return {
        **called,
        field: given if isinstance(given, str) else json.dumps({} if given is None else given, default=str),
    }


def _with_texts(content: Any, texts: list[str]) -> Any:
    """Return the content with texts behind it."""
    if texts and isinstance(content, list):
        return [*content, *map(text_block, texts)]
    return "\n\n".join(([content] if content else []) + texts) if texts else content
