"""Repairs of system messages between Anthropic's others, and of the signatures of Gemini's calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...messages.shapes import text_block
from .blocks import CLIENT_CALL, SERVER_CALLS
from .entries import INSTRUCTION, Edit, string

if TYPE_CHECKING:
    from .entries import Block, Entry, Repairs

SKIPPED = "skip_thought_signature_validator"
"""The signature that Gemini takes for a call of another model (Gemini documentation, "Thought signatures")."""


_BLOCKS = ("text", "tool_addition", "tool_removal")
"""Blocks that a system message may have."""


def _allowed(block: Block) -> Edit:
    if block["type"] == "text" and not string(block, "text").strip():
        return Edit([], "blank_text")
    return Edit([block]) if block["type"] in _BLOCKS else Edit([], "misplaced")


def set_apart(entries: list[Entry], changes: Repairs, *, takes: bool) -> tuple[list[Entry], list[Entry]]:
    """Return the other entries, and the system messages, which part no turn.

    Where the model takes no system messages they become the user's, behind a notice that they are not.
    """
    others: list[Entry] = []
    system: list[Entry] = []
    for entry in entries:
        if entry.role == "system" and takes:
            was_empty = not entry.message["content"]
            entry.edit(_allowed, changes)
            if entry.message["content"] or entry.message.get("output_config") is not None:
                system.append(entry)
            elif was_empty:
                changes.add(entry, "blank_text")
            continue
        if entry.role == "system":
            _as_user(entry, changes)
        others.append(entry)
    return others, system


def put_back(entries: list[Entry], system: list[Entry], changes: Repairs) -> list[Entry]:
    """Return the entries with the system messages at the first valid place at or behind their own.

    That is behind the user or a server call, and in front of the assistant or at the end. Neighbours become one. A
    message that has only settings stays where it is; one without a valid place becomes the user's.
    """
    kept: list[Entry] = []
    waiting: list[Entry] = []
    pending = iter(system)
    following = next(pending, None)
    for entry in entries:
        while following is not None and following.origin < max(entry.origin, 0):
            _take(following, kept, waiting)
            following = next(pending, None)
        if entry.role == "assistant":
            _place(kept, waiting, changes)
        kept.append(entry)
    while following is not None:
        _take(following, kept, waiting)
        following = next(pending, None)
    _place(kept, waiting, changes)
    for entry in waiting:
        _as_user(entry, changes)
        _append(kept, entry)
    return kept


def _take(entry: Entry, kept: list[Entry], waiting: list[Entry]) -> None:
    if entry.message["content"]:
        waiting.append(entry)
    else:
        _append(kept, entry)


def _append(kept: list[Entry], entry: Entry) -> None:
    entry.origin = max(entry.origin, kept[-1].origin if kept else 0)
    kept.append(entry)


def _place(kept: list[Entry], waiting: list[Entry], changes: Repairs) -> None:
    """Append the waiting messages as one, if one may follow the last entry that has text."""
    last = next((entry for entry in reversed(kept) if entry.role != "system"), None)
    if not waiting or last is None or not (last.role == "user" or _ends_in_server_tool(last)):
        return
    first, *others = waiting
    if others:
        fields = {key: value for entry in waiting for key, value in entry.message.items()}
        first.set(**fields | {"content": [block for entry in waiting for block in entry.blocks]})
    if kept[-1].origin > first.origin:
        changes.add(first, "system_position")
    for entry in others:
        changes.add(entry, "merged")
    _append(kept, first)
    waiting.clear()


def _ends_in_server_tool(entry: Entry) -> bool:
    kind = entry.blocks[-1]["type"] if entry.message["content"] else ""
    return kind in SERVER_CALLS or (kind.endswith("_tool_result") and entry.role == "assistant")


def _as_user(entry: Entry, changes: Repairs) -> None:
    fields = {key: value for key, value in entry.message.items() if key not in ("clear_at", "output_config")}
    texts = [block for block in entry.blocks if block["type"] == "text"]
    entry.message = {**fields, "role": "user", "content": [text_block(INSTRUCTION), *texts] if texts else []}
    changes.add(entry, "system_role")


def sign_calls(entries: list[Entry], changes: Repairs) -> None:
    """Give the first call of each step of the current turn a signature, where its own is missing."""
    start = next((n for n in range(len(entries) - 1, -1, -1) if _says(entries[n])), 0)
    for entry in entries[start:]:
        if entry.role == "assistant":
            _sign(entry, changes)


def _says(entry: Entry) -> bool:
    return entry.role == "user" and any(block["type"] != "tool_result" for block in entry.blocks)


def _sign(entry: Entry, changes: Repairs) -> None:
    is_first = True

    def sign(block: Block) -> Edit:
        nonlocal is_first
        if block["type"] != CLIENT_CALL or not is_first:
            return Edit([block])
        is_first = False
        raw = getattr(block, "raw", None) or {"functionCall": {"name": block["name"], "args": block["input"]}}
        if raw.get("thoughtSignature") or raw.get("thought_signature"):
            return Edit([block])
        key = "thought_signature" if "function_call" in raw else "thoughtSignature"
        signed = type(block)(block)
        signed.raw = {**raw, key: SKIPPED}  # type: ignore[attr-defined]
        return Edit([signed], "skipped_signature", string(block, "id"))

    entry.edit(sign, changes)
