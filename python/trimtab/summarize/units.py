"""A summary as units: headings, bullets, sentences and blocks of code, which together are its text again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["heading", "bullet", "sentence", "code", "blank"]

_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_HEADING = re.compile(r"#{1,6}\s|\*\*[^*]+\*\*:?\s*$|={3,}|-{3,}")
_END = re.compile(r"(?<=[.!?])[\"”»')\]]*\s+(?=[^\s\da-z])|(?<=[\u3002\uff01\uff1f])[」』”]*")
_FENCE = re.compile(r"\s*(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a summary.

    Attributes:
        kind: its kind.
        text: its text, with the line break or the space behind it.
        indent: characters in front of a bullet.
    """

    kind: Kind
    text: str
    indent: int = 0


def units(text: str) -> list[Unit]:
    """Return the units of a text; their texts joined are the text."""
    found: list[Unit] = []
    fence: list[str] = []
    for line in text.splitlines(keepends=True):
        if fence or _FENCE.match(line):
            fence.append(line)
            if len(fence) > 1 and _FENCE.match(line):
                found.append(Unit("code", "".join(fence)))
                fence = []
        elif not line.strip():
            found.append(Unit("blank", line))
        elif _HEADING.match(line):
            found.append(Unit("heading", line))
        elif _BULLET.match(line):
            found.append(Unit("bullet", line, _indent(line)))
        elif found and found[-1].kind == "bullet" and _indent(line) > found[-1].indent:
            found[-1] = Unit("bullet", found[-1].text + line, found[-1].indent)
        else:
            found += [Unit("sentence", one) for one in _sentences(line)]
    return [*found, Unit("code", "".join(fence))] if fence else found


def joined(kept: list[Unit]) -> str:
    """Return the text of units, without headings that nothing follows and without blank lines side by side."""
    out: list[Unit] = []
    for unit in reversed(kept):
        follows = next((one.kind for one in reversed(out) if one.kind != "blank"), "heading")
        level = _level(unit)
        behind = next((_level(one) for one in reversed(out) if one.kind != "blank"), 0)
        if unit.kind == "heading" and follows == "heading" and behind <= level:
            continue
        if unit.kind == "blank" and (not out or out[-1].kind == "blank"):
            continue
        out.append(unit)
    return "".join(unit.text for unit in reversed(out)).strip()


def _level(unit: Unit) -> int:
    """Return the level of a heading, 0 of anything else and of the text's end."""
    marks = len(unit.text) - len(unit.text.lstrip("#"))
    return (marks or 6) if unit.kind == "heading" else 0


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _sentences(line: str) -> Iterator[str]:
    """Yield the sentences of a line; what stands in quotation marks or backticks is not torn apart."""
    start = 0
    for end in _END.finditer(line):
        one = line[start : end.end()]
        pairs = (
            one.count('"') % 2,
            one.count("`") % 2,
            one.count("“") - one.count("”"),
            one.count("«") - one.count("»"),
        )
        if end.end() < len(line) and not any(pairs):
            yield one
            start = end.end()
    yield line[start:]
