"""Repairs of single blocks of the Messages shape: required fields, roles that may hold them, cache markers."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from ...messages.shapes import text_block
from .entries import Edit, is_whole, string, whole_parts

if TYPE_CHECKING:
    from .entries import Block, Entry, Repairs

CLIENT_CALL = "tool_use"
SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
THINKING = ("thinking", "redacted_thinking")
UNSEEN = ("compaction", "fallback", "mcp_tool_listing")
"""Blocks that may stand in front of the thinking of their turn: the provider does not show them to the model."""
MAX_MARKERS = 4
"""Cache markers that a request may have (Anthropic documentation, "Prompt caching")."""


def complete(entries: list[Entry], changes: Repairs) -> None:
    """Give each message a known role, and each block its required fields or another form."""
    for entry in entries:
        if entry.message.get("role") not in ("user", "assistant", "system"):
            entry.set(role="user")
            changes.add(entry, "unknown_role")
        if entry.message.get("content") is None:
            entry.set(content=[])
            changes.add(entry, "empty_field")
        if isinstance(entry.message["content"], list):
            leads = entry.blocks[0] if entry is entries[0] and entry.blocks else None
            entry.edit(partial(_complete, is_user=entry.role != "assistant", leads=leads), changes)


def _complete(block: Block, *, is_user: bool, leads: Block | None = None) -> Edit:
    kind, content = block["type"], block.get("content")
    if kind in (CLIENT_CALL, *SERVER_CALLS):
        return _complete_call(block, is_user=is_user)
    if kind in THINKING:
        return _complete_thinking(block, is_user=is_user)
    if (kind == "tool_result" and not is_user) or (kind == "compaction" and is_user and block is not leads):
        return Edit(_readable(content), "misplaced")
    if kind == "compaction" and content is not None and not string(block, "content").strip():
        return Edit([], "incomplete")
    if kind.endswith("_tool_result") and is_user:
        return Edit([], "misplaced")
    if kind.endswith("tool_result") and isinstance(content, list) and whole_parts(content) != content:
        return Edit([{**block, "content": whole_parts(content)}], "incomplete")
    if kind == "tool_result" and not isinstance(content, str | list | None):
        return Edit([{**block, "content": json.dumps(content, default=str)}], "incomplete")
    if (kind == "document" or kind.endswith("tool_result")) and (unmarked := _unmarked(block)) != block:
        return Edit([unmarked], "cache_marker")
    return Edit([block]) if is_whole(block) else Edit([], "incomplete")


def _complete_call(block: Block, *, is_user: bool) -> Edit:
    given = block.get("input")
    if is_user or not string(block, "id") or not isinstance(block.get("name"), str):
        return Edit([call_as_text(block)], "misplaced" if is_user else "incomplete")
    if not isinstance(given, dict):
        return Edit([{**block, "input": {} if given is None else {"input": given}}], "incomplete")
    return Edit([block])


def _complete_thinking(block: Block, *, is_user: bool) -> Edit:
    if is_user:
        return Edit([], "misplaced")
    signed = string(block, "signature") and isinstance(block.get("thinking"), str)
    if not (signed if block["type"] == "thinking" else string(block, "data")):
        return Edit([], "unsigned_thinking")
    if block.get("cache_control") is not None:
        return Edit([_without_marker(block)], "cache_marker")
    return Edit([block])


def call_as_text(block: Block) -> Block:
    """Return a call as text."""
    return text_block(f"[call of {block.get('name')}: {block.get('input')}]")


def _readable(content: Any) -> list[Block]:
    """Return the text and media of a result or a compaction in the wrong role."""
    if isinstance(content, str):
        return [text_block(content)] if content.strip() else []
    if not isinstance(content, list | tuple):
        return [] if content is None else [text_block(json.dumps(content, default=str))]
    return [block for block in whole_parts(list(content)) if block.get("type") in ("text", "image", "document")]


def drop_markers(entries: list[Entry], changes: Repairs, others: int) -> None:
    """Drop the oldest cache markers of a request that has too many; ``others`` stand beside the messages."""
    excess = sum(_markers(block) for entry in entries for block in entry.blocks) + others - MAX_MARKERS

    def drop(block: Block) -> Edit:
        nonlocal excess
        dropped = min(_markers(block), max(excess, 0))
        excess -= dropped
        return Edit(_without_markers(block, dropped), "cache_marker") if dropped else Edit([block])

    for entry in entries if excess > 0 else ():
        entry.edit(drop, changes)


def _is_point(block: Block) -> bool:
    """Return whether a block is Bedrock's cache point: a marker and nothing else."""
    return "cachePoint" in getattr(block, "raw", block)


def _parts(block: Block) -> list[Any]:
    """Return the parts of a result of any tool, or of a document that has parts in place of a file."""
    source = block.get("source")
    holder: Any = source if block.get("type") == "document" else block
    is_holder = block.get("type") == "document" or str(block.get("type")).endswith("tool_result")
    parts = holder.get("content") if is_holder and isinstance(holder, dict) else None
    return parts if isinstance(parts, list) else []


def _with_parts(block: Block, parts: list[Any]) -> Block:
    if block["type"] == "document":
        return {**block, "source": {**block["source"], "content": parts}}
    return {**block, "content": parts}


def _markers(block: Block) -> int:
    nested = sum(_markers(part) for part in _parts(block) if isinstance(part, dict))
    return nested + (getattr(block, "raw", block).get("cache_control") is not None or _is_point(block))


def _without_markers(block: Block, count: int) -> list[Block]:
    """Return the block without its first markers, those of its parts before its own; a cache point goes."""
    if _is_point(block):
        return []
    parts = _parts(block)
    if parts:
        made: list[Any] = []
        for part in parts:
            dropped = min(_markers(part), count) if isinstance(part, dict) else 0
            count -= dropped
            made += _without_markers(part, dropped) if dropped else [part]
        block = _with_parts(block, made)
    return [_without_marker(block) if count else dict(block)]


def is_code(caller: Any) -> bool:
    """Return whether a call's ``caller`` is a code execution."""
    return isinstance(caller, dict) and string(caller, "type").startswith("code_execution")


def _unmarked(value: Any) -> Any:
    """Return a result or a document without the cache markers of its empty texts."""
    if isinstance(value, list):
        return [_unmarked(part) for part in value]
    if not isinstance(value, dict):
        return value
    if value.get("text") == "" and "cache_control" in value:
        return _without_marker(value)
    inside = {key: _unmarked(value[key]) for key in ("source", "content") if isinstance(value.get(key), dict | list)}
    return {**value, **inside}


def _without_marker(block: Block) -> Block:
    return {key: value for key, value in block.items() if key != "cache_control"}
