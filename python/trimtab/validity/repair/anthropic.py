"""Repairs of Messages' shape, and of those that are read in its words.

Neighbours of one role are one turn to the server, and pairs are made by turns.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from ...messages.envelope import unwrap
from ...messages.shapes import only_text
from . import blocks as _blocks
from .entries import BEGINNING, INTERRUPTED, ON, ORPHAN, Entry, Notes, name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..validate import Rules

_THINKING = ("thinking", "redacted_thinking")
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_USER_BLOCKS = ("text", "image", "document", "search_result")


def mended(entries: list[Entry], notes: Notes, rules: Rules, provider: str) -> list[Entry]:
    """The entries, so that the server takes them: what it refuses is noted here and changed.

    Client calls come first, because what the server's own calls may leave open depends on their results; thinking
    comes last, because everything that went can have bared it.
    """
    entries = list(_spoken(_blocks.whole(entries, notes), notes, provider))
    open_calls = _paired(entries, notes, rules)
    entries = _filled(entries)
    _drop_halves(entries, notes, in_flight=rules.in_flight)
    entries = _filled(entries)
    for n, (role, turn) in enumerate(turns := _turns(entries)):
        if role == "assistant":
            _drop_bare_thinking(turn, notes, all_of_it=rules.thinking is False and n == len(turns) - 1)
    entries = _filled(entries)
    if open_calls:
        if not entries[-1].message["content"]:
            notes.add(entries.pop(), "blank_text")
        entries.append(_results(entries[-1].origin, open_calls, notes))
    if provider in _STRICT or rules.alternation:
        entries = _blocks.merged(entries, notes)
    entries = _ended(_begun(entries, notes, provider), notes, rules, provider)
    _blocks.unmark(entries, notes, rules.markers)
    return entries


_STRICT = ("bedrock", "gemini")
"""The shapes whose neighbours of one role are refused, or refuse a call."""


def _paired(entries: list[Entry], notes: Notes, rules: Rules) -> list[str]:
    """Matches calls with results, turn by turn; gives the calls that the list ends with and nobody answers."""
    seen: set[str] = set()
    calls: list[str] = []
    turns = _turns(entries)
    for n, (role, turn) in enumerate(turns):
        if role == "assistant":
            calls += _calls(turn, seen, notes)
        else:
            running = rules.in_flight and n == len(turns) - 1
            _answer(turn, calls, notes, running=running)
            calls = []
    return [] if rules.in_flight else calls


def _begun(entries: list[Entry], notes: Notes, provider: str) -> list[Entry]:
    """With a user in front of the assistant; a provider's own compaction may lead, and Gemini's words may."""
    if not entries or entries[0].message["role"] != "assistant":
        return entries
    kinds = [block["type"] for block in _as_blocks(entries[0])]
    if kinds[:1] == ["compaction"] or (provider == "gemini" and "tool_use" not in kinds):
        return entries
    return [notes.added(-1, {"role": "user", "content": BEGINNING}, "first_role"), *entries]


def _ended(entries: list[Entry], notes: Notes, rules: Rules, provider: str) -> list[Entry]:
    """Without white space at the end, and with a user's word where the model goes on from nothing else."""
    if not entries:
        return entries
    if provider != "gemini":
        _unspace(entries, notes)
    last = entries[-1]
    blocks = _as_blocks(last)
    answered = {name(block, "tool_use_id") for block in blocks}
    waits = any(b["type"] in ("tool_use", *_SERVER_CALLS) and name(b, "id") not in answered for b in blocks)
    if last.message["role"] == "assistant" and not waits and not rules.prefill:
        return [*entries, notes.added(last.origin, {"role": "user", "content": ON}, "prefill")]
    if rules.thinking and not rules.binds and _loops_without_thinking(entries):
        last.set(content=[*blocks, _text(ON)])
        notes.add(last, "loop_ended")
    return entries


def _loops_without_thinking(entries: list[Entry]) -> bool:
    """Whether the tool loop that is open at the end starts without thinking, where its results are all there."""
    opening: list[str] = []
    turns = _turns(entries)
    for role, turn in turns:
        kinds = [block["type"] for entry in turn for block in _as_blocks(entry) if block["type"] != "compaction"]
        loops = role == "assistant" or set(kinds) == {"tool_result"}
        opening = (opening or (kinds if role == "assistant" else [])) if loops else []
    return turns[-1][0] == "user" and bool(opening) and opening[0] not in _THINKING


def _turns(entries: list[Entry]) -> list[tuple[str, list[Entry]]]:
    return [(role, list(turn)) for role, turn in groupby(entries, key=lambda entry: entry.message["role"])]


def _filled(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.message["content"] or not entry.is_new]


def _as_blocks(entry: Entry) -> list[dict[str, Any]]:
    """The content as a list of its own, whichever way it is written."""
    content = entry.message["content"]
    return [_text(content)] if isinstance(content, str) and content else list(content)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _is_blank(block: dict[str, Any]) -> bool:
    return block["type"] == "text" and not str(block.get("text") or "").strip()


def _spoken(entries: list[Entry], notes: Notes, provider: str) -> Iterable[Entry]:
    """Without blank text, and without messages that have nothing else: agents save what streamed in before a call."""
    for entry in entries:
        ends = entry is entries[-1] and entry.message["role"] == "assistant"
        if not entry.message["content"] and ends and provider == "anthropic":
            yield entry  # the one empty message that is allowed
            continue
        blocks = _as_blocks(entry)
        said = [block for block in blocks if not _is_blank(block)]
        if len(said) < len(blocks) or not said:
            notes.add(entry, "blank_text")
            entry.set(content=said)
        if said:
            yield entry


def _drop_halves(entries: list[Entry], notes: Notes, *, in_flight: bool) -> None:
    """Drops the server's own calls without a result in their turn, and such results without a call before them.

    A turn that calls the client as well may leave the server's calls open: the server goes on with them when the next
    turn brings the client's results, and nothing else.
    """
    halves: set[tuple[Entry, int]] = set()
    opened: dict[str, tuple[Entry, int]] = {}
    seen = {name(block, "id") for entry in entries for block in _as_blocks(entry) if block["type"] == "tool_use"}
    turns = _turns(entries)
    for i, (role, turn) in enumerate(turns):
        blocks = [((entry, j), block) for entry in turn for j, block in enumerate(_as_blocks(entry))]
        for place, block in blocks if role == "assistant" else ():
            ref, is_call = name(block, "id"), block["type"] in _SERVER_CALLS
            is_answer = block["type"].endswith("_tool_result")
            if is_call and ref not in seen:
                seen.add(ref)
                opened[ref] = place
            elif is_call or (is_answer and not opened.pop(name(block, "tool_use_id"), None)):
                halves.add(place)
        behind = {block["type"] for _, after in turns[i + 1 : i + 2] for entry in after for block in _as_blocks(entry)}
        waits = behind == {"tool_result"} and any(block["type"] == "tool_use" for _, block in blocks)
        waits |= in_flight and i == len(turns) - 1
        if role == "assistant" and not waits:
            halves |= set(opened.values())
            opened = {}
    for entry in {entry: None for entry, _ in halves}:
        kept = []
        for j, block in enumerate(_as_blocks(entry)):
            if (entry, j) in halves:
                notes.add(entry, "server_half", name(block, "id") or name(block, "tool_use_id"))
            else:
                kept.append(block)
        entry.set(content=kept)


def _drop_bare_thinking(turn: list[Entry], notes: Notes, *, all_of_it: bool) -> None:
    """Drops thinking that ends a turn, as an interruption leaves it, and thinking in a turn that begins without.

    All of it in a last turn where thinking is off.
    """
    kinds = [block["type"] for entry in turn for block in _as_blocks(entry) if block["type"] != "compaction"]
    end = len(kinds)
    while end and kinds[end - 1] in _THINKING:
        end -= 1
    led = end if kinds[:1] and kinds[0] in _THINKING and not all_of_it else 0  # thinking before this place is in order
    place = 0
    for entry in turn:
        kept = []
        for block in _as_blocks(entry):
            if block["type"] not in _THINKING or place < led:
                kept.append(block)
            place += block["type"] != "compaction"
        if len(kept) < len(_as_blocks(entry)):
            notes.add(entry, "bare_thinking")
            entry.set(content=kept)


def _calls(turn: list[Entry], seen: set[str], notes: Notes) -> list[str]:
    """The calls of a turn; one whose id was used before becomes text, a copy in the same turn goes."""
    made: dict[str, dict[str, Any]] = {}
    for entry in turn:
        kept = []
        for block in _as_blocks(entry):
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
        if kept != _as_blocks(entry):
            entry.set(content=kept)
    return list(made)


def _answer(turn: list[Entry], calls: list[str], notes: Notes, *, running: bool) -> None:
    """Matches a user turn's results with the calls before it, puts them first, and adds those that are missing.

    Where calls are running and nothing but results is there, none is missing.
    """
    given: dict[str, dict[str, Any]] = {}
    contents = [_matched(entry, calls, given, notes) for entry in turn]
    _gather(turn, contents)
    flat = [block["type"] != "tool_result" for blocks in contents for block in blocks]
    if flat != sorted(flat):
        notes.add(turn[0], "result_order")
        contents = [[block for block in blocks if block["type"] != "tool_result"] for blocks in contents]
        contents[0] = [*given.values(), *contents[0]]
    missing = [ref for ref in calls if ref not in given and not (running and not any(flat))]
    for ref in missing:
        notes.add(turn[0], "interrupted_result", ref)
    behind = sum(block["type"] == "tool_result" for block in contents[0])
    contents[0][behind:behind] = [_interrupted(ref) for ref in missing]
    for entry, blocks in zip(turn, contents, strict=True):
        if blocks != _as_blocks(entry):
            entry.set(content=blocks)


def _gather(turn: list[Entry], contents: list[list[dict[str, Any]]]) -> None:
    """Puts what is left of a message of results that answer nothing behind the one in front of it.

    Not behind a summary of ours, which is known by being alone in its message.
    """
    for n in range(len(turn) - 1, 0, -1):
        given = _as_blocks(turn[n])
        strays = all(block["type"] == "tool_result" for block in given)
        alone = only_text(turn[n - 1].message)
        if strays and not any(b["type"] == "tool_result" for b in contents[n]) and not (alone and unwrap(alone)):
            contents[n - 1] += contents[n]
            contents[n] = []


def _matched(entry: Entry, calls: list[str], given: dict[str, dict[str, Any]], notes: Notes) -> list[dict[str, Any]]:
    """A user message's blocks; results that answer nothing as text, and of the second copy of one nothing."""
    blocks = []
    for block in _as_blocks(entry):
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
    block = _as_blocks(last)[-1]
    text = name(block, "text") if block["type"] == "text" else ""
    if text[-1:].isspace():
        notes.add(last, "trailing_space")
        content = last.message["content"]
        cut = {**block, "text": text.rstrip()}
        last.set(content=text.rstrip() if isinstance(content, str) else [*content[:-1], cut])
