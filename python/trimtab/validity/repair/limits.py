"""Repairs of what only the rules find: thinking that is bound to another list, pictures too many or too large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .entries import LEFT_OUT, text_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..validate import Problem, Rules
    from .entries import Block, Changes, Entry

_THINKING = ("thinking_prefix_mismatch", "thinking_modified")
_PICTURES = ("image_too_large", "image_too_large_many", "image_too_heavy")


def repair_findings(entries: list[Entry], problems: Sequence[Problem], changes: Changes, rules: Rules) -> None:
    """Remove the thinking, pictures and stored ids that problems name; problems of other codes stay."""
    marked: dict[tuple[Entry, int], str] = {}
    excess = 0
    for problem in problems:
        entry = entries[problem.index]
        if problem.code in (*_THINKING, *_PICTURES):
            marked[entry, problem.block or 0] = problem.code
            changes.add(entry, "bound_thinking" if problem.code in _THINKING else "picture")
        elif problem.code == "too_many_images":
            excess = sum(_pictures(block) for entry in entries for block in _listed(entry)) - rules.pictures
        elif problem.code == "function_call_without_reasoning":
            entry.message = {key: value for key, value in entry.message.items() if key != "id"}
            changes.add(entry, "stored_id")
    for entry in entries if marked or excess > 0 else ():
        content = _listed(entry)
        kept: list[Block] = []
        codes = [marked.get((entry, n), "") for n in range(len(content))]
        for n, block in enumerate(content):
            if not codes[n] and excess > 0 and _pictures(block):
                codes[n] = "too_many_images"  # the oldest go first
                excess -= _pictures(block)
            if codes[n] not in _THINKING:
                kept.append(_without_pictures(block) if codes[n] else block)
        if any(codes):
            entry.set(content=kept)
        if "too_many_images" in codes:
            changes.add(entry, "picture")


def _listed(entry: Entry) -> list[Block]:
    content = entry.message.get("content")
    return content if isinstance(content, list) else []


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
