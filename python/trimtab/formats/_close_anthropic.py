"""Repairs of Anthropic's shape: neighbours of one role are one turn to the server, and pairs are made by turns."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from ._entries import BEGINNING, INTERRUPTED, ORPHAN, Entry, Notes, name

if TYPE_CHECKING:
    from collections.abc import Iterable

_THINKING = ("thinking", "redacted_thinking")
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_USER_BLOCKS = ("text", "image", "document", "search_result")


def repaired(entries: list[Entry], notes: Notes) -> list[Entry]:
    """The entries, so that the server takes them: what it refuses is noted here and changed.

    Client calls come first, because what the server's own calls may leave open depends on their results; thinking
    comes last, because everything that went can have bared it.
    """
    entries = list(_spoken(entries, notes))
    seen: set[str] = set()
    calls: list[str] = []
    for role, turn in _turns(entries):
        if role == "assistant":
            calls += _calls(turn, seen, notes)
        elif role == "user":
            _answer(turn, calls, notes)
            calls = []
    entries = _filled(entries)
    _drop_halves(entries, notes)
    entries = _filled(entries)
    for role, turn in _turns(entries):
        if role == "assistant":
            _drop_bare_thinking(turn, notes)
    entries = _filled(entries)
    if calls:
        if not entries[-1].message["content"]:
            notes.add(entries.pop(), "blank_text")
        entries.append(_results(entries[-1].origin, calls, notes))
    _unspace(entries, notes)
    begins_well = not entries or entries[0].message["role"] != "assistant"
    if begins_well or [block["type"] for block in _blocks(entries[0])[:1]] == ["compaction"]:
        return entries
    return [notes.added(-1, {"role": "user", "content": BEGINNING}, "first_role"), *entries]


def _turns(entries: list[Entry]) -> list[tuple[str, list[Entry]]]:
    return [(role, list(turn)) for role, turn in groupby(entries, key=lambda entry: entry.message["role"])]


def _filled(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.message["content"] or not entry.is_new]


def _blocks(entry: Entry) -> list[dict[str, Any]]:
    """The content as a list of its own, whichever way it is written."""
    content = entry.message["content"]
    return [_text(content)] if isinstance(content, str) and content else list(content)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _is_blank(block: dict[str, Any]) -> bool:
    return block["type"] == "text" and not str(block.get("text") or "").strip()


def _spoken(entries: list[Entry], notes: Notes) -> Iterable[Entry]:
    """Without blank text, and without messages that have nothing else: agents save what streamed in before a call."""
    for entry in entries:
        if not entry.message["content"] and entry is entries[-1] and entry.message["role"] == "assistant":
            yield entry  # the one empty message that is allowed
            continue
        blocks = _blocks(entry)
        said = [block for block in blocks if not _is_blank(block)]
        if len(said) < len(blocks) or not said:
            notes.add(entry, "blank_text")
            entry.set(content=said)
        if said:
            yield entry


def _drop_halves(entries: list[Entry], notes: Notes) -> None:
    """Drops the server's own calls without a result in their turn, and such results without a call before them.

    A turn that calls the client as well may leave the server's calls open: the server goes on with them when the next
    turn brings the client's results, and nothing else.
    """
    halves: set[tuple[Entry, int]] = set()
    opened: dict[str, tuple[Entry, int]] = {}
    seen: set[str] = set()
    turns = _turns(entries)
    for i, (role, turn) in enumerate(turns):
        blocks = [((entry, j), block) for entry in turn for j, block in enumerate(_blocks(entry))]
        for place, block in blocks if role == "assistant" else ():
            ref, is_call = name(block, "id"), block["type"] in _SERVER_CALLS
            is_answer = block["type"].endswith("_tool_result")
            if is_call and ref not in seen:
                seen.add(ref)
                opened[ref] = place
            elif is_call or (is_answer and not opened.pop(name(block, "tool_use_id"), None)):
                halves.add(place)
        behind = {block["type"] for _, after in turns[i + 1 : i + 2] for entry in after for block in _blocks(entry)}
        waits = behind == {"tool_result"} and any(block["type"] == "tool_use" for _, block in blocks)
        if role == "assistant" and not waits:
            halves |= set(opened.values())
            opened = {}
    for entry in {entry: None for entry, _ in halves}:
        kept = []
        for j, block in enumerate(_blocks(entry)):
            if (entry, j) in halves:
                notes.add(entry, "server_half", name(block, "id") or name(block, "tool_use_id"))
            else:
                kept.append(block)
        entry.set(content=kept)


def _drop_bare_thinking(turn: list[Entry], notes: Notes) -> None:
    """Drops thinking that ends a turn, as an interruption leaves it, and thinking in a turn that begins without."""
    kinds = [block["type"] for entry in turn for block in _blocks(entry) if block["type"] != "compaction"]
    end = len(kinds)
    while end and kinds[end - 1] in _THINKING:
        end -= 1
    led = end if kinds[:1] and kinds[0] in _THINKING else 0  # thinking before this place is in order
    place = 0
    for entry in turn:
        kept = []
        for block in _blocks(entry):
            if block["type"] not in _THINKING or place < led:
                kept.append(block)
            place += block["type"] != "compaction"
        if len(kept) < len(_blocks(entry)):
            notes.add(entry, "bare_thinking")
            entry.set(content=kept)


def _calls(turn: list[Entry], seen: set[str], notes: Notes) -> list[str]:
    """The calls of a turn; one whose id was used before becomes text, a copy in the same turn goes."""
    made: dict[str, dict[str, Any]] = {}
    for entry in turn:
        kept = []
        for block in _blocks(entry):
            ref = name(block, "id") if block["type"] == "tool_use" else ""
            if ref and ref in seen:
                notes.add(entry, "duplicate_call", ref)
                if made.get(ref) != block:
                    kept.append(_text(f"[call of {block.get('name')}: {block.get('input')}]"))
                continue
            kept.append(block)
            if ref:
                seen.add(ref)
                made[ref] = block
        if kept != _blocks(entry):
            entry.set(content=kept)
    return list(made)


def _answer(turn: list[Entry], calls: list[str], notes: Notes) -> None:
    """Matches a user turn's results with the calls before it, puts them first, and adds those that are missing."""
    given: dict[str, dict[str, Any]] = {}
    contents = [_matched(entry, calls, given, notes) for entry in turn]
    flat = [block["type"] != "tool_result" for blocks in contents for block in blocks]
    if flat != sorted(flat):
        notes.add(turn[0], "result_order")
        contents = [[block for block in blocks if block["type"] != "tool_result"] for blocks in contents]
        contents[0] = [*given.values(), *contents[0]]
    missing = [ref for ref in calls if ref not in given]
    for ref in missing:
        notes.add(turn[0], "interrupted_result", ref)
    behind = sum(block["type"] == "tool_result" for block in contents[0])
    contents[0][behind:behind] = [_interrupted(ref) for ref in missing]
    for entry, blocks in zip(turn, contents, strict=True):
        if blocks != _blocks(entry):
            entry.set(content=blocks)


def _matched(entry: Entry, calls: list[str], given: dict[str, dict[str, Any]], notes: Notes) -> list[dict[str, Any]]:
    """A user message's blocks; results that answer nothing as text, and of the second copy of one nothing."""
    blocks = []
    for block in _blocks(entry):
        ref = name(block, "tool_use_id")
        if block["type"] != "tool_result":
            blocks.append(block)
        elif ref in calls and ref not in given:
            given[ref] = block
            blocks.append(block)
        else:
            notes.add(entry, "duplicate_result" if ref in given else "orphan_result", ref)
            blocks += [] if given.get(ref) == block else _as_text(block)
    return blocks


def _results(origin: int, calls: list[str], notes: Notes) -> Entry:
    """A message of its own for the calls that the list ends with."""
    entry = Entry(origin, {"role": "user", "content": [_interrupted(ref) for ref in calls]}, is_new=True)
    for ref in calls:
        notes.add(entry, "interrupted_result", ref)
    return entry


def _interrupted(ref: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": ref, "content": INTERRUPTED, "is_error": True}


def _as_text(result: dict[str, Any]) -> list[dict[str, Any]]:
    """What a result says, as content of a user message."""
    content = result.get("content")
    blocks = [_text(content)] if isinstance(content, str) else content if isinstance(content, list) else []
    said = [block for block in blocks if block.get("type") in _USER_BLOCKS and not _is_blank(block)]
    return [_text(ORPHAN), *said] if said else []


def _unspace(entries: list[Entry], notes: Notes) -> None:
    """Cuts white space behind an assistant's last word: the server takes that for the start of its answer."""
    last = next((entry for entry in reversed(entries) if entry.message["content"]), None)
    if last is None or last.message["role"] != "assistant":
        return
    block = _blocks(last)[-1]
    text = name(block, "text") if block["type"] == "text" else ""
    if text[-1:].isspace():
        notes.add(last, "trailing_space")
        content = last.message["content"]
        cut = {**block, "text": text.rstrip()}
        last.set(content=text.rstrip() if isinstance(content, str) else [*content[:-1], cut])
