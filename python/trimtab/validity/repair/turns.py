"""Repairs of the Messages shape, and of the shapes that are read through it.

The server joins neighbours of one role into one turn: calls of an assistant's turn have their results in the next turn.
"""

from __future__ import annotations

from itertools import count, groupby
from typing import TYPE_CHECKING, Any

from ...messages.envelope import unwrap
from ...messages.shapes import as_blocks, only_text, text_block
from .blocks import CLIENT_CALL, SERVER_CALLS, THINKING, UNSEEN, call_as_text, complete, drop_markers, is_code
from .entries import BEGINNING, CONTINUE, INTERRUPTED, ORPHAN, Edit, Entry, merge, string
from .system import put_back, set_apart, sign_calls

if TYPE_CHECKING:
    from ..validate import Rules
    from .entries import Block, Repairs

_USER_BLOCKS = ("text", "image", "document", "search_result")
_STRICT = ("bedrock", "gemini")
"""Shapes that refuse neighbours of one role, or in which such a neighbour cannot hold a call."""


def repair_turns(entries: list[Entry], changes: Repairs, rules: Rules, provider: str) -> list[Entry]:
    """Repair messages turn by turn.

    Client calls come first, because results decide which of the server's own calls may stay open; thinking comes last,
    because each removal can leave thinking at the end of its turn.
    """
    complete(entries, changes)
    takes_system = provider == "anthropic" and rules.system_role is not False
    entries, instructions = set_apart(entries, changes, takes=takes_system)
    entries = _drop_blank(entries, changes, provider)
    open_calls = _pair(entries, changes, in_flight=rules.in_flight)
    entries = _without_emptied(entries)
    if not rules.container:
        _end_code(entries, changes)
    _drop_server_halves(entries, changes, in_flight=rules.in_flight)
    entries = _without_emptied(entries)
    turns = _turns(entries)
    for n, (role, turn) in enumerate(turns):
        if role == "assistant":
            _drop_bare_thinking(turn, changes, every=rules.thinking is False and n == len(turns) - 1)
    entries = _without_emptied(entries)
    if open_calls:
        if not entries[-1].message["content"]:
            changes.add(entries.pop(), "blank_text")
        results = Entry(entries[-1].origin, {"role": "user", "content": [*map(_interrupted, open_calls)]})
        _record(results, changes, "interrupted_result", open_calls)
        entries.append(results)
    if provider in _STRICT or rules.alternation:
        entries = merge(entries, changes, _join)
    entries = _close(_begin(entries, changes, provider), changes, rules, provider)
    entries = put_back(entries, instructions, changes)
    if provider == "gemini" and rules.signatures:
        sign_calls(entries, changes)
    drop_markers(entries, changes, rules.markers)
    return entries


def _turns(entries: list[Entry]) -> list[tuple[str, list[Entry]]]:
    return [(role, list(turn)) for role, turn in groupby(entries, key=lambda entry: entry.role)]


def _kinds(turn: list[Entry]) -> list[str]:
    return [block["type"] for entry in turn for block in entry.blocks]


def _join(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"content": [block for message in messages for block in as_blocks(message["content"])]}


def _record(entry: Entry, changes: Repairs, code: str, refs: list[str]) -> None:
    for ref in refs:
        changes.add(entry, code, ref)


def _without_emptied(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.message["content"] or entry.message is entry.given]


def _is_blank(block: Block) -> bool:
    return block["type"] == "text" and not str(block.get("text") or "").strip()


def _drop_blank(entries: list[Entry], changes: Repairs, provider: str) -> list[Entry]:
    """Drop blank text, and messages of nothing else: agents save what streamed in before a call."""
    kept = []
    for entry in entries:
        if not entry.message["content"]:
            if provider == "anthropic" and entry is entries[-1] and entry.role == "assistant":
                kept.append(entry)  # the only place where an empty message is allowed
            else:
                changes.add(entry, "blank_text")
            continue
        entry.edit(lambda block: Edit([], "blank_text") if _is_blank(block) else Edit([block]), changes)
        if entry.message["content"]:
            kept.append(entry)
    return kept


def _pair(entries: list[Entry], changes: Repairs, *, in_flight: bool) -> list[str]:
    """Match calls with the results of the next turn; return the calls without a result at the end of the list."""
    seen: set[str] = set()
    calls: list[str] = []
    turns = _turns(entries)
    for n, (role, turn) in enumerate(turns):
        if role == "assistant":
            calls += _drop_second_calls(turn, seen, changes)
        else:
            _match_results(turn, calls, changes, running=in_flight and n == len(turns) - 1)
            calls = []
    return [] if in_flight else calls


def _drop_second_calls(turn: list[Entry], seen: set[str], changes: Repairs) -> list[str]:
    """Return a turn's calls; a second call with an id becomes text, an exact copy in the same turn goes."""
    made: dict[str, Block] = {}

    def keep_first(block: Block) -> Edit:
        ref = string(block, "id") if block["type"] == CLIENT_CALL else ""
        if ref in seen:
            return Edit([] if made.get(ref) == block else [call_as_text(block)], "duplicate_call", ref)
        if ref:
            made[ref] = block
            seen.add(ref)
        return Edit([block])

    for entry in turn:
        entry.edit(keep_first, changes)
    return list(made)


def _match_results(turn: list[Entry], calls: list[str], changes: Repairs, *, running: bool) -> None:
    """Match a user turn's results with the calls before it, put them first, and add missing ones.

    While calls are running, no result is missing from a turn of nothing but results.
    """
    results: dict[str, Block] = {}
    asked = set(calls)
    contents = [_matched(entry, asked, results, changes) for entry in turn]
    _move_strays(turn, contents)
    others = [[block for block in blocks if block["type"] != "tool_result"] for blocks in contents]
    is_other = [block["type"] != "tool_result" for blocks in contents for block in blocks]
    if is_other != sorted(is_other):
        changes.add(turn[0], "result_order")
        contents = [[*results.values(), *others[0]], *others[1:]]
    if not (running and not any(is_other)):
        missing = [ref for ref in calls if ref not in results]
        _record(turn[0], changes, "interrupted_result", missing)
        end = len(contents[0]) - len(others[0])
        contents[0][end:end] = map(_interrupted, missing)
    for entry, blocks in zip(turn, contents, strict=True):
        if blocks != entry.blocks:
            entry.set(content=blocks)


def _matched(entry: Entry, asked: set[str], results: dict[str, Block], changes: Repairs) -> list[Block]:
    """Return a user message's blocks: a result without a call is text, a copy of a result is left out."""
    blocks = []
    for block in entry.blocks:
        ref = string(block, "tool_use_id")
        if block["type"] == "tool_result" and (ref in results or ref not in asked):
            changes.add(entry, "duplicate_result" if ref in results else "orphan_result", ref)
            blocks += [] if results.get(ref) == block else _result_as_text(block)
        else:
            blocks.append(block)
            results |= {ref: block} if block["type"] == "tool_result" else {}
    return blocks


def _result_as_text(result: Block) -> list[Block]:
    """Return a result's content as content of a user message."""
    content = result.get("content")
    blocks = as_blocks(content) if isinstance(content, str | list) else []
    blocks = [block for block in blocks if block.get("type") in _USER_BLOCKS and not _is_blank(block)]
    return [text_block(ORPHAN), *blocks] if blocks else []


def _move_strays(turn: list[Entry], contents: list[list[Block]]) -> None:
    """Move what is left of a message of unmatched results into the message before it.

    A message that is a summary of ours is recognised by having one text, so it takes nothing in.
    """
    target = 0
    for n in range(1, len(turn)):
        had_only_results = all(block["type"] == "tool_result" for block in turn[n].blocks)
        alone = only_text(turn[n - 1].message)
        has_results = any(block["type"] == "tool_result" for block in contents[n])
        if not had_only_results or has_results or (alone and unwrap(alone)):
            target = n
        else:
            contents[target] += contents[n]
            contents[n] = []


def _interrupted(ref: str) -> Block:
    return {"type": "tool_result", "tool_use_id": ref, "content": INTERRUPTED, "is_error": True}


def _end_code(entries: list[Entry], changes: Repairs) -> None:
    """End code executions that wait for calls that they made: without their container the calls are the model's own."""
    blocks = [block for entry in entries for block in entry.blocks]
    answered = {string(block, "tool_use_id") for block in blocks if block["type"].endswith("_tool_result")}
    running: dict[str, None] = {}
    ended: set[str] = set()

    def disown(block: Block) -> Edit:
        caller: Any = block.get("caller")
        ref = string(block, "id")
        if block["type"] in SERVER_CALLS and ref not in answered:
            running[ref] = None
        if block["type"] != CLIENT_CALL or not running or not is_code(caller):
            return Edit([block])
        ended.add(caller["tool_id"] if caller.get("tool_id") in running else next(reversed(running)))
        return Edit([{key: value for key, value in block.items() if key != "caller"}], "ended_code", ref)

    for entry in entries:
        entry.edit(disown, changes)
    numbers = {n for n, block in enumerate(blocks) if block["type"] in SERVER_CALLS and string(block, "id") in ended}
    _drop(entries, numbers, changes, "ended_code")


def _drop_server_halves(entries: list[Entry], changes: Repairs, *, in_flight: bool) -> None:
    """Drop server calls without a result in their turn, and server results without a call before them.

    Server calls may stay open in a turn that also calls the client: the server continues them when the next turn brings
    the client's results and nothing else. So may those at the list's end: a paused answer goes back as it is.
    """
    seen = {string(block, "id") for entry in entries for block in entry.blocks if block["type"] == CLIENT_CALL}
    opened: dict[str, int] = {}
    halves: set[int] = set()
    numbers, turns = count(), _turns(entries)
    number = -1
    for n, (role, turn) in enumerate(turns):
        since = number  # the last block that is none of the server's, or stands in front of the turn
        for block in (block for entry in turn for block in entry.blocks):
            number, ref, kind = next(numbers), string(block, "id"), block["type"]
            if role == "user":
                continue
            since = since if kind in SERVER_CALLS or kind.endswith("_tool_result") else number
            if kind in SERVER_CALLS and ref not in seen:
                seen.add(ref)
                opened[ref] = number
            elif kind in SERVER_CALLS or (
                kind.endswith("_tool_result") and opened.pop(string(block, "tool_use_id"), None) is None
            ):
                halves.add(number)
        following = {kind for _, after in turns[n + 1 : n + 2] for kind in _kinds(after)}
        waits = following == {"tool_result"} and CLIENT_CALL in _kinds(turn)
        ends = n == len(turns) - 1
        if role == "assistant" and not waits and not (in_flight and ends):
            is_paused = ends and bool(turn[-1].message["content"])
            halves |= {at for at in opened.values() if not is_paused or at <= since}
            opened = {}
    _drop(entries, halves, changes, "server_half")


def _drop_bare_thinking(turn: list[Entry], changes: Repairs, *, every: bool) -> None:
    """Drop thinking at the end of a turn, as an interruption leaves it, and in a turn that begins without; or all."""
    kinds = _kinds(turn)
    first = next((kind for kind in kinds if kind not in UNSEEN), "")
    last = max((n for n, kind in enumerate(kinds) if kind not in (*THINKING, "compaction")), default=0)
    kept = last if first in THINKING and not every else 0
    _drop(turn, {n for n, kind in enumerate(kinds) if kind in THINKING and n >= kept}, changes, "bare_thinking")


def _drop(entries: list[Entry], numbers: set[int], changes: Repairs, code: str) -> None:
    """Drop the blocks with these running numbers."""
    if not numbers:
        return
    running = count()

    def drop(block: Block) -> Edit:
        ref = string(block, "id") or string(block, "tool_use_id")
        return Edit([], code, ref) if next(running) in numbers else Edit([block])

    for entry in entries if numbers else ():
        entry.edit(drop, changes)


def _begin(entries: list[Entry], changes: Repairs, provider: str) -> list[Entry]:
    """Put a user message before a leading assistant; a compaction may lead, and Gemini's model without a call may."""
    if not entries or entries[0].role != "assistant":
        return entries
    kinds = _kinds(entries[:1])
    is_compacted = kinds[:1] == ["compaction"] and bool(entries[0].blocks[0].get("content"))
    if is_compacted or (provider == "gemini" and CLIENT_CALL not in kinds):
        return entries
    return [changes.added(-1, {"role": "user", "content": BEGINNING}, "first_role"), *entries]


def _close(entries: list[Entry], changes: Repairs, rules: Rules, provider: str) -> list[Entry]:
    """Drop white space at the end, and add a user's text where the model continues from nothing else."""
    if not entries:
        return entries
    if provider != "gemini":
        _drop_trailing_space(entries, changes)
    last = entries[-1]
    answered = {string(block, "tool_use_id") for block in last.blocks}
    waits = any(b["type"] in (CLIENT_CALL, *SERVER_CALLS) and string(b, "id") not in answered for b in last.blocks)
    is_paused = any(block["type"].endswith("_tool_result") for block in last.blocks[-1:])
    if last.role == "assistant" and not waits and not is_paused and not rules.prefill:
        return [*entries, changes.added(last.origin, {"role": "user", "content": CONTINUE}, "prefill")]
    if rules.thinking and not rules.binds and _loops_without_thinking(entries):
        last.set(content=[*last.blocks, text_block(CONTINUE)])
        changes.add(last, "loop_ended")
    return entries


def _drop_trailing_space(entries: list[Entry], changes: Repairs) -> None:
    """Drop white space at the end of the assistant's last text, which the server takes for the start of its answer."""
    last = next((entry for entry in reversed(entries) if entry.message["content"]), None)
    if last is None or last.role != "assistant":
        return
    *before, block = last.blocks
    text = string(block, "text") if block["type"] == "text" else ""
    if text[-1:].isspace():
        changes.add(last, "trailing_space")
        is_string = isinstance(last.message["content"], str)
        last.set(content=text.rstrip() if is_string else [*before, {**block, "text": text.rstrip()}])


def _loops_without_thinking(entries: list[Entry]) -> bool:
    """Return whether the list ends with the results of a tool loop that began without thinking."""
    opening: list[str] = []
    turns = _turns(entries)
    for role, turn in turns:
        kinds = [kind for kind in _kinds(turn) if kind not in UNSEEN]
        loops = role == "assistant" or set(kinds) == {"tool_result"}
        opening = (opening or (kinds if role == "assistant" else [])) if loops else []
    return turns[-1][0] == "user" and bool(opening) and opening[0] not in THINKING
