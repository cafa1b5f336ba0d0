"""Blocks one by one: whole or made so, in messages of their role; neighbours merged, markers kept to four."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .entries import Notes, name, sayable

if TYPE_CHECKING:
    from .entries import Entry

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_MEDIA = ("image", "document")
MARKERS = 4


def whole(entries: list[Entry], notes: Notes) -> list[Entry]:
    """The entries with a role that there is, and blocks that have their fields and stand where they may."""
    for entry in entries:
        if entry.message.get("role") not in ("user", "assistant"):
            entry.set(role="user")
            notes.add(entry, "unknown_role")
        content = entry.message.get("content")
        if content is None:
            entry.set(content=[])
            notes.add(entry, "empty_field")
        elif isinstance(content, list):
            role = entry.message["role"]
            made = [_made(block, role) for block in content]
            if any(code for _, code in made):
                entry.set(content=[block for blocks, _ in made for block in blocks])
                for code in dict.fromkeys(code for _, code in made if code):
                    notes.add(entry, code)
    return entries


def _made(block: dict[str, Any], role: str) -> tuple[list[dict[str, Any]], str]:
    """What becomes of a block, and the name of the change; empty if there is none."""
    kind = block["type"]
    if kind in _CALLS:
        return _call(block, role)
    if kind in ("thinking", "redacted_thinking"):
        return _thinking(block, role)
    if kind == "tool_result" and role == "assistant":
        return _said(block.get("content")), "misplaced"
    if kind.endswith("tool_result") and isinstance(given := block.get("content"), list) and sayable(given) != given:
        return [{**block, "content": sayable(given)}], "incomplete"
    if kind == "tool_result" and not isinstance(block.get("content"), str | list | None):
        return [{**block, "content": json.dumps(block["content"], default=str)}], "incomplete"
    if role == "user" and kind.endswith("_tool_result"):
        return [], "misplaced"
    if role == "user" and kind == "compaction":
        return _said(block.get("content")), "misplaced"
    bare = kind == "text" and not isinstance(block.get("text"), str)
    if bare or (kind in _MEDIA and not isinstance(block.get("source"), dict)):
        return [], "incomplete"
    return [block], ""


def _call(block: dict[str, Any], role: str) -> tuple[list[dict[str, Any]], str]:
    told = {"type": "text", "text": f"[call of {block.get('name')}: {block.get('input')}]"}
    if role == "user" or not name(block, "id") or not isinstance(block.get("name"), str):
        return [told], "misplaced" if role == "user" else "incomplete"
    if not isinstance(block.get("input"), dict):
        given = block.get("input")
        return [{**block, "input": {} if given is None else {"input": given}}], "incomplete"
    return [block], ""


def _thinking(block: dict[str, Any], role: str) -> tuple[list[dict[str, Any]], str]:
    if role == "user":
        return [], "misplaced"
    if block["type"] == "thinking" and not (name(block, "signature") and isinstance(block.get("thinking"), str)):
        return [], "unsigned_thinking"
    if block["type"] == "redacted_thinking" and not isinstance(block.get("data"), str):
        return [], "unsigned_thinking"
    if block.get("cache_control") is not None:
        return [{key: value for key, value in block.items() if key != "cache_control"}], "cache_marker"
    return [block], ""


def _said(content: Any) -> list[dict[str, Any]]:
    """What a result in the wrong place says."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content.strip() else []
    return [block for block in content or () if block.get("type") in ("text", *_MEDIA)]


def merged(entries: list[Entry], notes: Notes) -> list[Entry]:
    """Neighbours of one role as one message: what the second says stands behind what the first said."""
    kept: list[Entry] = []
    for entry in entries:
        if not kept or kept[-1].message["role"] != entry.message["role"]:
            kept.append(entry)
            continue
        kept[-1].set(content=[*_list(kept[-1]), *_list(entry)])
        notes.add(entry, "merged")
    return kept


def _list(entry: Entry) -> list[dict[str, Any]]:
    content = entry.message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def unmark(entries: list[Entry], notes: Notes, others: int) -> None:
    """Takes the oldest cache markers away, where there are more than a request may have."""
    excess = sum(_markers(block) for entry in entries for block in _list(entry)) + others - MARKERS
    for entry in entries:
        content = entry.message["content"]
        if excess <= 0 or isinstance(content, str) or not any(_markers(block) for block in content):
            continue
        blocks: list[dict[str, Any]] = []
        for block in content:
            taken = min(_markers(block), max(excess, 0))
            excess -= taken
            blocks += [block] if not taken else _unmarked(block, taken)
        entry.set(content=blocks)
        notes.add(entry, "cache_marker")


def _markers(block: dict[str, Any]) -> int:
    raw = getattr(block, "raw", block)
    inside = block.get("content") if block.get("type") == "tool_result" else None
    nested = sum(_markers(part) for part in inside if isinstance(part, dict)) if isinstance(inside, list) else 0
    return nested + (raw.get("cache_control") is not None or "cachePoint" in raw)


def _unmarked(block: dict[str, Any], most: int) -> list[dict[str, Any]]:
    """The block without its first markers; a cache point goes."""
    if "cachePoint" in getattr(block, "raw", block):
        return []
    block = dict(block)
    if isinstance(inside := block.get("content"), list):
        parts = []
        for part in inside:
            taken = most > 0 and part.get("cache_control") is not None
            most -= taken
            parts.append({key: value for key, value in part.items() if key != "cache_control"} if taken else part)
        block["content"] = parts
    if most > 0:
        block.pop("cache_control", None)
    return [block]
