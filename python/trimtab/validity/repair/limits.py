"""Repairs of what only the rules find: thinking that is bound to another list, pictures too many or too large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...counting.counter import Counter, scan
from ...messages.shapes import text_block
from ...messages.types import is_medium
from .entries import LEFT_OUT, Edit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..validate import Problem, Rules
    from .entries import Block, Entry, Repairs

_THINKING = ("thinking_prefix_mismatch", "thinking_modified")
_PICTURES = ("image_too_large", "image_too_large_many", "image_too_heavy")


def repair_findings(entries: list[Entry], problems: Sequence[Problem], changes: Repairs, rules: Rules) -> None:
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
            excess = sum(_media(block) for entry in entries for block in entry.blocks) - rules.pictures
        elif problem.code == "function_call_without_reasoning":
            entry.message = {key: value for key, value in entry.message.items() if key != "id"}
            changes.add(entry, "stored_id")
    for entry, blocks in contents.items():
        entry.set(content=[block for block in blocks if block is not None])

    def drop(block: Block) -> Edit:
        nonlocal excess
        media = _media(block) if excess > 0 else 0
        excess -= media
        return Edit([_without_pictures(block)], "picture") if media else Edit([block])

    for entry in entries if excess > 0 else ():  # the oldest go first
        entry.edit(drop, changes)


def _parts(block: Block) -> list[Block]:
    """Return the parts of a result."""
    parts = block.get("content") if block.get("type") == "tool_result" else None
    return parts if isinstance(parts, list) else []


def _holds_media(block: Block) -> bool:
    """Return whether a block is or holds a picture, or a document that is no text."""
    return is_medium(block) or any(map(_holds_media, _parts(block)))


def _media(block: Block) -> int:
    """Return the number of pictures and pages in a block."""
    if not _holds_media(block):
        return 0
    ledger = scan([{"role": "user", "content": [block]}], Counter.chars(), "anthropic")
    return len(ledger.pictured) + len(ledger.paged)


def _without_pictures(block: Block) -> Block:
    if is_medium(block):
        return text_block(LEFT_OUT)
    return {**block, "content": [_without_pictures(part) for part in _parts(block)]} if _holds_media(block) else block
