"""What only the rules can tell: thinking that is bound to another list, pictures that are too many or too large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..validate import Problem, Rules
    from .entries import Entry, Notes

_THINKING = ("thinking_prefix_mismatch", "thinking_modified")
_PICTURES = ("image_too_large", "image_too_large_many", "image_too_heavy")
LEFT_OUT = "[a picture was left out here: the request may not hold it]"


def out(entries: list[Entry], problems: Sequence[Problem], notes: Notes, rules: Rules) -> list[Entry]:
    """The entries without what these problems name; the others are not for a repair of blocks."""
    excess = 0
    for problem in problems:
        entry = entries[problem.index]
        if problem.code in _THINKING:
            _mark(entry, problem.block, None)
            notes.add(entry, "bound_thinking")
        elif problem.code in _PICTURES:
            _mark(entry, problem.block, _without_pictures)
            notes.add(entry, "picture")
        elif problem.code == "too_many_images":
            excess = sum(_pictures(entry) for entry in entries) - rules.pictures
        elif problem.code == "function_call_without_reasoning":
            entry.message = {key: value for key, value in entry.message.items() if key != "id"}
            notes.add(entry, "stored_id")
    for entry in entries:
        if entry.marked:
            _settle(entry)
    return _fewer(entries, excess, notes)


def _mark(entry: Entry, block: int | None, change: Callable[[Any], Any] | None) -> None:
    entry.marked[block or 0] = change


def _settle(entry: Entry) -> None:
    """Changes the marked blocks, all at once: their positions are those that the rules named."""
    content = entry.message["content"]
    kept = []
    for place, block in enumerate(content if isinstance(content, list) else ()):
        change = entry.marked.get(place, _same)
        if change is not None:
            kept.append(change(block))
    entry.marked.clear()
    entry.set(content=kept)


def _same(block: Any) -> Any:
    return block


def _without_pictures(block: Any) -> Any:
    if block["type"] == "image":
        return {"type": "text", "text": LEFT_OUT}
    parts = [_without_pictures(part) if part.get("type") == "image" else part for part in block["content"]]
    return {**block, "content": parts}


def _pictures(entry: Entry) -> int:
    content = entry.message.get("content")
    return sum(_held(block) for block in content) if isinstance(content, list) else 0


def _held(block: Any) -> int:
    if block.get("type") == "image":
        return 1
    inside = block.get("content") if block.get("type") == "tool_result" else None
    return sum(part.get("type") == "image" for part in inside) if isinstance(inside, list) else 0


def _fewer(entries: list[Entry], excess: int, notes: Notes) -> list[Entry]:
    """Without the oldest pictures, as many as are too many."""
    for entry in entries:
        if excess <= 0:
            break
        for place, block in enumerate(entry.message["content"] if _pictures(entry) else ()):
            if excess > 0 and (held := _held(block)):
                entry.marked[place] = _without_pictures
                excess -= held
        if entry.marked:
            _settle(entry)
            notes.add(entry, "picture")
    return entries
