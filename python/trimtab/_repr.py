"""Texts for people: short reprs of values that may hold a whole transcript, and texts that no terminal obeys."""

from __future__ import annotations

from importlib import import_module
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


def as_html(value: object) -> str:
    """The HTML of a value for a notebook; the report is loaded when a notebook asks for it."""
    html: str = import_module("trimtab.report.notebook").small(value)
    return html


def printable(text: str) -> str:
    """Escape control characters, bidi characters and lone surrogates, so that no text controls the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """Escape line ends too, so that a name cannot pretend to be a line of its own."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")
