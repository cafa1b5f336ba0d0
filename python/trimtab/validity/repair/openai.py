"""Repairs of OpenAI's two shapes, Chat Completions and Responses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .entries import INTERRUPTED, ORPHAN, Entry, Notes, name, sayable

if TYPE_CHECKING:
    from ..validate import Rules

_ANSWERS = {
    "function_call": ("function_call_output",),
    "custom_tool_call": ("custom_tool_call_output",),
    "local_shell_call": ("local_shell_call_output", "function_call_output"),  # the second as Codex writes it
    "computer_call": ("computer_call_output",),
    "tool_search_call": ("tool_search_output",),
}
_OUTPUTS = {output for outputs in _ANSWERS.values() for output in outputs}
_MODEL = {*_ANSWERS, "reasoning", "item_reference", "web_search_call", "file_search_call", "code_interpreter_call"}
_MODEL |= {"image_generation_call", "mcp_call", "mcp_list_tools", "mcp_approval_request"}


def chat(entries: list[Entry], notes: Notes, rules: Rules) -> list[Entry]:
    """Every call has one tool message in the run right behind its message, every tool message its call."""
    closed: list[Entry] = []
    late: list[Entry] = []  # what becomes of results without a call; between results it would end their run
    given: dict[str, Entry | None] = {}
    for entry in entries:
        ref = name(entry.message, "tool_call_id")
        _fill(entry, notes)
        if entry.message["role"] != "tool":
            _finish(closed, given, late, notes)
            given, late = dict.fromkeys(_chat_calls(entry, notes)), []
            closed.append(entry)
        elif ref in given and given[ref] is None:
            given[ref] = entry
            closed.append(entry)
        else:
            first = given.get(ref)
            notes.add(entry, "duplicate_result" if first else "orphan_result", ref)
            if not first or first.message.get("content") != entry.message.get("content"):
                entry.message = {"role": "user", "content": _told(entry.message.get("content"), "text")}
                late.append(entry)
    if rules.in_flight and not late:
        given = {}  # what runs at the end has no result yet
    _finish(closed, given, late, notes)
    return _merged(closed, notes) if rules.alternation else closed


def _merged(entries: list[Entry], notes: Notes) -> list[Entry]:
    """Neighbours of one role as one message, where they say nothing but text and parts."""
    kept: list[Entry] = []
    for entry in entries:
        before = kept[-1].message if kept else {}
        if before.get("role") != entry.message["role"] or entry.message["role"] not in ("user", "assistant"):
            kept.append(entry)
            continue
        fields = {key: value for key, value in entry.message.items() if key != "content"}
        contents = [content for content in (before.get("content"), entry.message.get("content")) if content]
        texts = all(isinstance(content, str) for content in contents)
        joined = "\n\n".join(contents) if texts else [part for content in contents for part in _listed(content)]
        kept[-1].message = {**before, **fields, "content": joined}
        notes.add(entry, "merged")
    return kept


def _listed(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def _fill(entry: Entry, notes: Notes) -> None:
    """Takes away what is empty or another role's; content may be null only where there are calls."""
    told = len(notes.notes)
    fields = {key: value for key, value in entry.message.items() if key != "tool_calls" or value != []}
    if fields["role"] not in _ROLES:
        notes.add(entry, "unknown_role")
        fields["role"] = "user"
    if fields["role"] != "assistant" and fields.get("tool_calls") is not None:
        notes.add(entry, "misplaced")
        fields["content"] = _with_told(fields.get("content"), [f"[calls: {json.dumps(fields.pop('tool_calls'))}]"])
    has_calls = fields.get("tool_calls") or fields.get("function_call") or fields["role"] == "function"
    if isinstance(content := fields.get("content"), list) and sayable(content) != content:
        fields["content"] = sayable(content)
        notes.add(entry, "incomplete")
    if fields.get("content") == [] or (fields.get("content") is None and not has_calls):
        fields["content"] = ""
    if fields != entry.message:
        if len(notes.notes) == told:
            notes.add(entry, "empty_field")
        entry.message = fields
    if isinstance(fields.get("tool_calls"), list):
        _complete(entry, notes)


def _complete(entry: Entry, notes: Notes) -> None:
    """Gives calls the fields that the server asks for; one without an id or a name becomes text."""
    kept, told = [], []
    for call in entry.message["tool_calls"]:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(call, dict) and isinstance(call.get("custom"), dict) and name(call, "id"):
            kept.append(call)
        elif not isinstance(function, dict) or not name(call, "id") or not isinstance(function.get("name"), str):
            told.append(f"[call: {json.dumps(call, default=str)}]")
        elif not isinstance(function.get("arguments"), str) or not isinstance(call.get("type"), str):
            given = function.get("arguments")
            arguments = given if isinstance(given, str) else json.dumps({} if given is None else given, default=str)
            kept.append({**call, "type": "function", "function": {**function, "arguments": arguments}})
        else:
            kept.append(call)
    if kept == entry.message["tool_calls"]:
        return
    notes.add(entry, "incomplete")
    fields = {key: value for key, value in entry.message.items() if key != "tool_calls"}
    content = _with_told(fields.get("content"), told)
    if content is None and not kept:
        content = ""
    entry.message = {**fields, "content": content} | ({"tool_calls": kept} if kept else {})
    entry.is_new = True


def _with_told(content: Any, told: list[str]) -> Any:
    """The content, and behind it what cannot stay what it was."""
    if told and isinstance(content, list):
        return [*content, *({"type": "text", "text": text} for text in told)]
    return "\n\n".join(([content] if content else []) + told) if told else content


def _finish(closed: list[Entry], given: dict[str, Entry | None], late: list[Entry], notes: Notes) -> None:
    """Ends a run of tool messages: first those that are missing, then what cannot stand among them."""
    for ref in [ref for ref, entry in given.items() if entry is None]:
        message = {"role": "tool", "tool_call_id": ref, "content": INTERRUPTED}
        closed.append(notes.added(closed[-1].origin, message, "interrupted_result", ref))
    _put_behind(closed, late)


def _put_behind(closed: list[Entry], entries: list[Entry]) -> None:
    """Appends entries that moved back; their origin follows, so that origins rise and can be searched."""
    for entry in entries:
        entry.origin = max(entry.origin, closed[-1].origin if closed else 0)
        closed.append(entry)


def _chat_calls(entry: Entry, notes: Notes) -> list[str]:
    """The ids of a message's calls; a second call with the same id goes, or becomes text if it is another one."""
    calls = entry.message.get("tool_calls")
    made: dict[str, Any] = {}
    kept, told = [], []
    for call in calls if isinstance(calls, list) else ():
        ref = name(call, "id") if isinstance(call, dict) else ""
        if ref and ref in made:
            notes.add(entry, "duplicate_call", ref)
            told += [] if call == made[ref] else [f"[call: {json.dumps(call.get('function') or call)}]"]
        else:
            kept.append(call)
            made |= {ref: call} if ref else {}
    if isinstance(calls, list) and len(kept) < len(calls):
        entry.set(content=_with_told(entry.message.get("content"), told), tool_calls=kept)
    return list(made)


def responses(entries: list[Entry], notes: Notes, rules: Rules) -> list[Entry]:
    """Every call has one output behind it, every output its call, reasoning the item that it led to."""
    entries = _said(entries, notes)
    answers = _answers(entries)
    last = entries[_last_response(entries) :] if rules.in_flight else []
    told = any(_is_told(entry, answers) for entry in last)  # what is said behind a call ends its turn
    running = set() if told else {id(entry) for entry in last}
    closed: list[Entry] = []
    missing: list[Entry] = []
    seen: dict[str, Entry] = {}
    for entry in entries:
        kind, ref = entry.message.get("type"), _call_id(entry.message)
        if not _is_model(entry.message):  # behind all calls of a response, so that parallel ones stay together
            _put_behind(closed, missing)
            missing = []
        if ref and kind in _ANSWERS:
            if ref in seen:
                closed += _second_call(entry, seen[ref], notes)
                continue
            seen[ref] = entry
            output = _interrupted(entry.message, ref)
            if id(entry) in running:
                closed.append(entry)
                continue
            if ref not in answers and output is None:
                notes.add(entry, "interrupted_result", ref)
                continue  # nothing can stand for the picture of a screen, so the call goes
            if ref not in answers and output:
                missing.append(notes.added(entry.origin, output, "interrupted_result", ref))
        elif ref and kind in _OUTPUTS and answers.get(ref) is not entry:
            closed += _stray_output(entry, answers.get(ref), notes)
            continue
        closed.append(entry)
    _put_behind(closed, missing)
    return _without_bare_reasoning(closed, notes, in_flight=rules.in_flight)


def _is_told(entry: Entry, answers: dict[str, Entry]) -> bool:
    """Whether an output answers nothing and has words."""
    item, first = entry.message, answers.get(_call_id(entry.message))
    if item.get("type") not in _OUTPUTS or not _call_id(item) or first is entry:
        return False
    output = item.get("output")
    return isinstance(output, (str, list)) and not (first and first.message.get("output") == output)


def _last_response(entries: list[Entry]) -> int:
    """Where what the model said last begins; outputs behind it are its own."""
    start = 0
    for n, entry in enumerate(entries):
        is_output = entry.message.get("type") in _OUTPUTS and bool(_call_id(entry.message))
        goes_on = n > 0 and _is_model(entry.message) and _is_model(entries[n - 1].message)
        start = start if is_output or goes_on else n
    return start


def _said(entries: list[Entry], notes: Notes) -> list[Entry]:
    """Without messages that say nothing, and with a role that there is."""
    kept = []
    for entry in entries:
        if entry.message.get("type", "message") == "message":
            if entry.message.get("role") not in ("user", "assistant", "system", "developer"):
                entry.set(role="user")
                notes.add(entry, "unknown_role")
            content = entry.message.get("content")
            if isinstance(content, list) and sayable(content, "input_text") != content:
                content = sayable(content, "input_text")
                entry.set(content=content)
                notes.add(entry, "incomplete")
            if content in (None, []):
                notes.add(entry, "blank_text")
                continue
        elif not _whole(entry, notes):
            continue
        kept.append(entry)
    return kept


def _answers(entries: list[Entry]) -> dict[str, Entry]:
    """The output of each call: the first of the right kind behind it."""
    calls: dict[str, Any] = {}
    answers: dict[str, Entry] = {}
    for entry in entries:
        kind, ref = entry.message.get("type"), _call_id(entry.message)
        if kind in _ANSWERS:
            calls.setdefault(ref, kind)
        elif kind in _ANSWERS.get(calls.get(ref, ""), ()):
            answers.setdefault(ref, entry)
    return answers


def _call_id(item: dict[str, Any]) -> str:
    is_local = str(item.get("type")).startswith("local_shell_call")
    return name(item, "call_id") or (name(item, "id") if is_local else "")


def _is_model(item: dict[str, Any]) -> bool:
    """Whether the model wrote an item, or its server did within the same response."""
    is_server_search = item.get("type") == "tool_search_output" and not _call_id(item)
    return item.get("role") == "assistant" or item.get("type") in _MODEL or is_server_search


def _interrupted(call: dict[str, Any], ref: str) -> dict[str, Any] | None:
    """An output that says that there is none, in the shape that this call takes; None if it takes no words."""
    kind = call["type"]
    if kind == "computer_call":
        return None
    if kind == "tool_search_call":
        return {
            "type": "tool_search_output",
            "call_id": ref,
            "execution": "client",
            "status": "incomplete",
            "tools": [],
        }
    return {"type": _ANSWERS[kind][-1], "call_id": ref, "output": INTERRUPTED}


def _second_call(entry: Entry, first: Entry, notes: Notes) -> list[Entry]:
    """A call whose id is taken: nothing if it is a copy, text if it is another."""
    call = entry.message
    notes.add(entry, "duplicate_call", _call_id(call))
    if call == first.message:
        return []
    text = f"[call of {call.get('name')}: {call.get('arguments', call.get('input'))}]"
    entry.message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return [entry]


def _stray_output(entry: Entry, first: Entry | None, notes: Notes) -> list[Entry]:
    """An output that answers nothing, as a user message; nothing if it repeats the first or has no words."""
    output = entry.message.get("output")
    notes.add(entry, "duplicate_result" if first else "orphan_result", _call_id(entry.message))
    if not isinstance(output, (str, list)) or (first and first.message.get("output") == output):
        return []
    entry.message = {"type": "message", "role": "user", "content": _told(output, "input_text")}
    return [entry]


def _told(content: Any, kind: str) -> list[dict[str, Any]]:
    """A result's content as parts of a user message."""
    parts = content if isinstance(content, list) else [{"type": kind, "text": str(content or "")}]
    return [{"type": kind, "text": ORPHAN}, *parts]


def _whole(entry: Entry, notes: Notes) -> bool:
    """Gives an item the fields that it needs; False if it cannot be what it is without one."""
    item = entry.message
    fields: dict[str, Any] = {}
    kind = item.get("type")
    key = {"function_call": "arguments", "custom_tool_call": "input"}.get(str(kind), "")
    if key and not isinstance(item.get(key), str):
        given = item.get(key)
        fields[key] = json.dumps({} if given is None else given, default=str)
    if kind in ("function_call_output", "custom_tool_call_output") and _call_id(item):
        output = item.get("output")
        if not isinstance(output, str | list):
            fields["output"] = "" if output is None else json.dumps(output, default=str)
        elif isinstance(output, list) and sayable(output, "input_text") != output:
            fields["output"] = sayable(output, "input_text")
    lost = bool(key) and not (_call_id(item) and isinstance(item.get("name"), str))
    lost |= kind in _OUTPUTS and kind != "tool_search_output" and not _call_id(item)
    if fields or lost:
        notes.add(entry, "incomplete")
    if fields and not lost:
        entry.set(**fields)
    if lost and key:
        text = f"[call of {item.get('name')}: {item.get(key)}]"
        entry.message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    elif lost:
        output = item.get("output")
        if not isinstance(output, str | list) or not output:
            return False
        entry.message = {"type": "message", "role": "user", "content": _told(output, "input_text")}
    return True


def _without_bare_reasoning(entries: list[Entry], notes: Notes, *, in_flight: bool) -> list[Entry]:
    """Without reasoning that leads nowhere, as an aborted response leaves it: the server asks for what follows."""
    kept: list[Entry] = []
    leads = in_flight  # the answer is still coming
    for entry in reversed(entries):
        if entry.message.get("type") != "reasoning":
            leads = _is_model(entry.message)
        elif not leads:
            notes.add(entry, "bare_reasoning")
            continue
        kept.append(entry)
    return kept[::-1]
