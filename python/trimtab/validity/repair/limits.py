"""Repairs of what only the rules find: thinking that is bound to another list, pictures too many or too large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...messages.shapes import text_block
from .entries import LEFT_OUT, Edit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..validate import Problem, Rules
    from .entries import Block, Changes, Entry

_THINKING = ("thinking_prefix_mismatch", "thinking_modified")
_PICTURES = ("image_too_large", "image_too_large_many", "image_too_heavy")


def repair_findings(entries: list[Entry], problems: Sequence[Problem], changes: Changes, rules: Rules) -> None:
    """Remove the thinking, pictures and stored ids that problems name; problems of other codes stay."""
    contents: dict[Entry, list[Block | None]] = {}
    excess = 0
    for problem in problems:
        entry, place = entries[problem.index], problem.block or 0
        if problem.code in (*_THINKING, *_PICTURES):
            blocks = contents.setdefault(entry, [*entry.blocks])
            bound = problem.code in _THINKING
            block = blocks[place]
            blocks[place] = None if bound or block is None else _without_pictures(block)
            changes.add(entry, "bound_thinking" if bound else "picture")
        elif problem.code == "too_many_images":
            excess = sum(_pictures(block) for entry in entries for block in entry.blocks) - rules.pictures
        elif problem.code == "function_call_without_reasoning":
            entry.message = {key: value for key, value in entry.message.items() if key != "id"}
            changes.add(entry, "stored_id")
    for entry, blocks in contents.items():
        entry.set(content=[block for block in blocks if block is not None])

    def drop(block: Block) -> Edit:
        nonlocal excess
        pictures = _pictures(block) if excess > 0 else 0
        excess -= pictures
        return Edit([_without_pictures(block)], "picture") if pictures else Edit([block])

    for entry in entries if excess > 0 else ():  # the oldest go first
        entry.edit(drop, changes)


def _parts(block: Block) -> list[Block]:
    """Return the parts of a result."""
    parts = block.get("content") if block.get("type") == "tool_result" else None
    return parts if isinstance(parts, list) else []


def _pictures(block: Block) -> int:
    """Return the number of pictures in a block."""
    return (block.get("type") == "image") + sum(map(_pictures, _parts(block)))


def _without_pictures(block: Block) -> Block:
    if block.get("type") == "image":
        return text_block(LEFT_OUT)
    return {**block, "content": [_without_pictures(part) for part in _parts(block)]} if _pictures(block) else block
