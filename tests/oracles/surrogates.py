"""Lone surrogates, the slow way: by what Python's own codec refuses and replaces."""

from __future__ import annotations

from typing import Any


def has_surrogate(value: Any) -> bool:
    """Whether a text or a key in a value of dicts and lists cannot be encoded."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode() != value
    parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return any(map(has_surrogate, parts))


def without(value: Any) -> Any:
    """The value with each pair of surrogates as its character, and U+FFFD for the others."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {without(key): without(part) for key, part in value.items()}
    return [without(part) for part in value] if isinstance(value, list) else value
