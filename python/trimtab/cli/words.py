"""A message in one line: who said it, and its first words."""

from __future__ import annotations

from typing import Any

from .._repr import one_line
from ..archive.sql.words import texts_in

TEXTS = ("name", "content", "parts", "arguments", "input", "output", "summary", "tool_calls", "function", "action")
"""Fields of a message that hold what was said; all others are ids and settings."""

ITEMS = {"function_call": "call", "function_call_output": "result", "tool": "result", "function": "result"}
"""Roles and types of messages by what they are."""

RESULTS = ("tool_result", "toolResult", "functionResponse", "function_response")

READ = 4_000
"""Characters of a message from which its first words are made."""


def who(message: dict[str, Any]) -> str:
    """Return who said a message: its role, or what kind of item it is."""
    name = str(message.get("role") or message.get("type") or "")
    blocks = message.get("content") or message.get("parts")
    first = blocks[0] if isinstance(blocks, list) and blocks and isinstance(blocks[0], dict) else {}
    is_result = first.get("type") in RESULTS or any(key in first for key in RESULTS)
    return one_line("result" if is_result else ITEMS.get(name, name))


def words(message: dict[str, Any]) -> str:
    """Return the first words of a message, on one line."""
    said = " ".join(texts_in({name: message[name] for name in TEXTS if name in message}))
    return one_line(" ".join(said[:READ].split()))
