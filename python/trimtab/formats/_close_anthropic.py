"""Repairs of Anthropic's shape: neighbours of one role are one turn to the server, and pairs are made by turns."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from trimtab.formats._entries import BEGINNING, INTERRUPTED, ORPHAN, Entry, Notes, name

if TYPE_CHECKING:
    from collections.abc import Iterable

_THINKING = ("thinking", "redacted_thinking")
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_USER_BLOCKS = ("text", "image", "document", "search_result")


def repaired(entries: list[Entry], notes: Notes) -> list[Entry]:
    """The entries, so that the server takes them: what it refuses is noted here and changed."""
    closed: list[Entry] = []
    seen: set[str] = set()
    calls: list[str] = []
    for role, group in groupby(_spoken(entries, notes), key=lambda entry: entry.message["role"]):
        turn = list(group)
        if role == "assistant":
            _drop_halves(turn, notes)
            _drop_bare_thinking(turn, notes)
            calls += _calls(turn, seen, notes)
        elif role == "user":
            _answer(turn, calls, notes)
            calls = []
        closed += (entry for entry in turn if entry.message["content"] or not entry.is_new)
    if calls:
        message = {"role": "user", "content": [_interrupted(ref) for ref in calls]}
        closed.append(Entry(closed[-1].origin, message, is_new=True))
        for ref in calls:
            notes.add(closed[-1], "interrupted_result", ref)
    _unspace(closed, notes)
    begins_well = not closed or closed[0].message["role"] != "assistant"
    if begins_well or [block["type"] for block in _blocks(closed[0])[:1]] == ["compaction"]:
        return closed
    return [notes.added(-1, {"role": "user", "content": BEGINNING}, "first_role"), *closed]


def _blocks(entry: Entry) -> list[dict[str, Any]]:
    """The content as a list of its own, whichever way it is written."""
    content = entry.message["content"]
    return [_text(content)] if isinstance(content, str) else list(content)


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


def _drop_halves(turn: list[Entry], notes: Notes) -> None:
    """Drops the server's own calls without a result in their turn, and such results without their call."""
    blocks = [block for entry in turn for block in _blocks(entry)]
    made = {name(block, "id") for block in blocks if block["type"] in _SERVER_CALLS}
    answered = {name(block, "tool_use_id") for block in blocks if block["type"].endswith("_tool_result")}
    if any(block["type"] == "tool_use" for block in blocks):
        answered |= made  # the server goes on with them once it has the client's results
    for entry in turn:
        kept = []
        for block in _blocks(entry):
            is_open = block["type"] in _SERVER_CALLS and name(block, "id") not in answered
            if is_open or (block["type"].endswith("_tool_result") and name(block, "tool_use_id") not in made):
                notes.add(entry, "server_half", name(block, "id") or name(block, "tool_use_id"))
            else:
                kept.append(block)
        if len(kept) < len(_blocks(entry)):
            entry.set(content=kept)


def _drop_bare_thinking(turn: list[Entry], notes: Notes) -> None:
    """Drops the thinking that an interruption left as the end of a turn: what it was to lead to never came."""
    for entry in reversed(turn):
        kept = _blocks(entry)
        while kept and kept[-1]["type"] in _THINKING:
            kept.pop()
        if len(kept) < len(_blocks(entry)):
            notes.add(entry, "bare_thinking")
            entry.set(content=kept)
        if kept:
            return


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
    if not entries or entries[-1].message["role"] != "assistant":
        return
    content = entries[-1].message["content"]
    last = _blocks(entries[-1])[-1] if content else {"type": ""}
    text = last["text"] if last["type"] == "text" else ""
    if text[-1:].isspace():
        notes.add(entries[-1], "trailing_space")
        cut = {**last, "text": text.rstrip()}
        entries[-1].set(content=text.rstrip() if isinstance(content, str) else [*content[:-1], cut])
