"""A short repr for values that may hold a whole transcript."""

from __future__ import annotations

from reprlib import Repr

LIMIT = 200
"""Most characters of a repr."""

_PARTS = Repr()
_PARTS.maxlevel, _PARTS.maxstring, _PARTS.maxother = 1, 40, 60
_PARTS.maxlist = _PARTS.maxtuple = _PARTS.maxdict = 2


def short(value: object) -> str:
    """The repr of a dataclass: fields that differ from their default, abbreviated, 200 characters at most."""
    parts = []
    for name, field in getattr(type(value), "__dataclass_fields__", {}).items():
        part = getattr(value, name, None)
        if field.repr and part is not field.default:
            parts.append(f"{name}={_PARTS.repr(part)}")
    text = f"{type(value).__name__}({', '.join(parts)})"
    return text if len(text) <= LIMIT else f"{text[: LIMIT - 4]}...)"
