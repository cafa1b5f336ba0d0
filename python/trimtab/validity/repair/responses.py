"""Repairs of the Responses shape: a flat list of items."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .entries import INTERRUPTED, Entry, append_moved, orphan_parts, string, text_block, whole_parts

if TYPE_CHECKING:
    from ..validate import Rules
    from .entries import Changes

_OUTPUTS_OF = {
    "function_call": ("function_call_output",),
    "custom_tool_call": ("custom_tool_call_output",),
    "local_shell_call": ("local_shell_call_output", "function_call_output"),  # the second as Codex writes it
    "computer_call": ("computer_call_output",),
    "tool_search_call": ("tool_search_output",),
}
_OUTPUTS = {output for outputs in _OUTPUTS_OF.values() for output in outputs}
_MODEL = {*_OUTPUTS_OF, "reasoning", "item_reference", "web_search_call", "file_search_call", "code_interpreter_call"}
_MODEL |= {"image_generation_call", "mcp_call", "mcp_list_tools", "mcp_approval_request"}
_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}


def repair_responses(entries: list[Entry], changes: Changes, rules: Rules) -> list[Entry]:
    """Give every call one output behind it, every output its call, and reasoning the item that it led to."""
    entries = [entry for entry in entries if _complete(entry, changes)]
    outputs = _first_outputs(entries)
    running = _running(entries, outputs) if rules.in_flight else set()
    kept: list[Entry] = []
    missing: list[Entry] = []
    calls: dict[str, Entry] = {}
    for entry in entries:
        kind, ref = entry.message.get("type"), _call_id(entry.message)
        if not _is_model(entry.message):  # behind all calls of a response, so that parallel calls stay together
            append_moved(kept, missing)
            missing = []
        if ref and kind in _OUTPUTS_OF and ref in calls:
            changes.add(entry, "duplicate_call", ref)
            if entry.message != calls[ref].message:
                entry.message = _call_as_message(entry.message)
                kept.append(entry)
        elif ref and kind in _OUTPUTS and outputs.get(ref) is not entry:
            changes.add(entry, "duplicate_result" if ref in outputs else "orphan_result", ref)
            if message := _stray_as_message(entry.message, outputs.get(ref)):
                entry.message = message
                kept.append(entry)
        elif ref and kind in _OUTPUTS_OF and ref not in outputs and entry not in running:
            calls[ref] = entry
            if kind == "computer_call":  # no text can stand for its screenshot, so the call goes
                changes.add(entry, "interrupted_result", ref)
            else:
                kept.append(entry)
                missing.append(changes.added(entry.origin, _interrupted(kind, ref), "interrupted_result", ref))
        else:
            calls |= {ref: entry} if ref and kind in _OUTPUTS_OF else {}
            kept.append(entry)
    append_moved(kept, missing)
    return _without_bare_reasoning(kept, changes, in_flight=rules.in_flight)


def _running(entries: list[Entry], outputs: dict[str, Entry]) -> set[Entry]:
    """Return the entries of the last response, whose calls may still be running; none if a message ends its turn."""
    start = 0
    for n, entry in enumerate(entries):
        continues = n > 0 and _is_model(entry.message) and _is_model(entries[n - 1].message)
        start = start if continues or _is_output(entry.message) else n
    last = entries[start:]
    strays = (e for e in last if _is_output(e.message) and outputs.get(_call_id(e.message)) is not e)
    ends = any(_stray_as_message(e.message, outputs.get(_call_id(e.message))) for e in strays)
    return set() if ends else set(last)


def _first_outputs(entries: list[Entry]) -> dict[str, Entry]:
    """Return the output of each call: the first of the right kind behind it."""
    calls: dict[str, str] = {}
    outputs: dict[str, Entry] = {}
    for entry in entries:
        kind, ref = str(entry.message.get("type")), _call_id(entry.message)
        if kind in _OUTPUTS_OF:
            calls.setdefault(ref, kind)
        elif kind in _OUTPUTS_OF.get(calls.get(ref, ""), ()):
            outputs.setdefault(ref, entry)
    return outputs


def _call_id(item: dict[str, Any]) -> str:
    is_local = str(item.get("type")).startswith("local_shell_call")
    return string(item, "call_id") or (string(item, "id") if is_local else "")


def _is_output(item: dict[str, Any]) -> bool:
    return item.get("type") in _OUTPUTS and bool(_call_id(item))


def _is_model(item: dict[str, Any]) -> bool:
    """Return whether the model wrote an item, or its server did within the same response."""
    is_server_search = item.get("type") == "tool_search_output" and not _call_id(item)
    return item.get("role") == "assistant" or item.get("type") in _MODEL or is_server_search


def _interrupted(kind: str, ref: str) -> dict[str, Any]:
    """Return an output, in the form of the call's kind, that says that there is none."""
    if kind == "tool_search_call":
        kind = "tool_search_output"
        return {"type": kind, "call_id": ref, "execution": "client", "status": "incomplete", "tools": []}
    return {"type": _OUTPUTS_OF[kind][-1], "call_id": ref, "output": INTERRUPTED}


def _call_as_message(call: dict[str, Any]) -> dict[str, Any]:
    text = f"[call of {call.get('name')}: {call.get('arguments', call.get('input'))}]"
    return {"type": "message", "role": "assistant", "content": [text_block(text, "output_text")]}


def _stray_as_message(item: dict[str, Any], first: Entry | None = None) -> dict[str, Any] | None:
    """Return an output without a call as a user message; None if it repeats the first output or has no content."""
    output = item.get("output")
    if not isinstance(output, str | list) or (first and first.message.get("output") == output):
        return None
    return {"type": "message", "role": "user", "content": orphan_parts(output, "input_text")}


def _complete(entry: Entry, changes: Changes) -> bool:
    """Give an item a known role and its required fields; return False if nothing of it can be kept."""
    item = entry.message
    kind = item.get("type", "message")
    if kind == "message":
        return _complete_message(entry, changes)
    fields: dict[str, Any] = {}
    key, output = _ARGUMENTS.get(kind, ""), item.get("output")
    if key and not isinstance(item.get(key), str):
        given = item.get(key)
        fields[key] = json.dumps({} if given is None else given, default=str)
    if kind in ("function_call_output", "custom_tool_call_output") and _call_id(item):
        if not isinstance(output, str | list):
            fields["output"] = "" if output is None else json.dumps(output, default=str)
        elif isinstance(output, list) and whole_parts(output, "input_text") != output:
            fields["output"] = whole_parts(output, "input_text")
    lost = bool(key) and not (_call_id(item) and isinstance(item.get("name"), str))
    lost |= kind in _OUTPUTS and kind != "tool_search_output" and not _call_id(item)
    if not fields and not lost:
        return True
    changes.add(entry, "incomplete")
    message: dict[str, Any] | None = {**item, **fields}
    if lost:
        message = _call_as_message(item) if key else (_stray_as_message(item) if output else None)
    entry.message = message or item
    return message is not None


def _complete_message(entry: Entry, changes: Changes) -> bool:
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


def _without_bare_reasoning(entries: list[Entry], changes: Changes, *, in_flight: bool) -> list[Entry]:
    """Drop reasoning without an item behind it, as an aborted response leaves it: the server refuses it."""
    kept: list[Entry] = []
    leads = in_flight  # the answer is still coming
    for entry in reversed(entries):
        if entry.message.get("type") != "reasoning":
            leads = _is_model(entry.message)
        elif not leads:
            changes.add(entry, "bare_reasoning")
            continue
        kept.append(entry)
    return kept[::-1]
