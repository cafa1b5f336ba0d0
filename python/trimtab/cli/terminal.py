"""Text for a terminal: harmless, wrapped by words to its width, coloured where it can be; columns, bars, shares."""

from __future__ import annotations

import os
import re
import sys

from .._repr import one_line, printable

TYPE_CHECKING = False  # `typing` takes long to import

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self, TextIO

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
"""Styles by name, as parameters of the escape sequence that selects them."""

MIN_COLUMN = 8
"""Cells that a column of a table keeps where the terminal is too narrow for all of its text."""

_LABEL = r" *(?:\S+(?: \S+)* {2,})?"
_WORD = r" *(?:(?:trimtab|claude|pip) (?:--)?[a-z]+(?![\w-]).*|(?:cd|cp|mkdir) .*|[^ ]+)"
"""A word to wrap at; a command with its arguments is one, so that it can be copied. Compiled at need."""


class Styled(str):
    """A line with a style.

    Attributes:
        style: one of `STYLES`.
    """

    __slots__ = ("style",)
    style: str

    def __new__(cls, text: str, style: str) -> Self:
        """Return the text with its style."""
        made = super().__new__(cls, text)
        made.style = style
        return made


def width_of(stream: TextIO) -> int | None:
    """Return the columns of a stream: ``COLUMNS``, else those of its terminal; None if it is none."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or None if stream.isatty() else None
    except (OSError, ValueError):
        return None


def has_colour(stream: TextIO) -> bool:
    """Return whether to colour a stream: a terminal's, unless ``NO_COLOR`` forbids or ``FORCE_COLOR`` demands it."""
    if os.environ.get("NO_COLOR"):
        return False
    if forced := os.environ.get("FORCE_COLOR"):
        return forced != "0"
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, style: str) -> str:
    """Return the text with the escape sequences of a style around it."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m"


def shown(text: str, stream: TextIO) -> str:
    """Return a text as it is written to a stream: harmless, wrapped, and coloured if it is ``Styled``."""
    width, style = width_of(stream), getattr(text, "style", "")
    lines = [part for line in printable(text).split("\n") for part in wrap(line, width)]
    if style and has_colour(stream):
        lines = [paint(line, style) if line else line for line in lines]
    return "\n".join(lines)


def wrap(line: str, width: int | None, hang: int | None = None) -> list[str]:
    """Break a line between words; what follows stands under the text behind its label.

    A word of ASCII that is longer than the line, and a command, stay whole: they can be copied. A script that parts no
    words breaks anywhere.

    Args:
        line: printable text.
        width: columns of the terminal; None breaks nothing.
        hang: columns before each further line; None gives the place behind the label.
    """
    if width is None or cells(line) <= width:
        return [line]
    if hang is None:
        label, indent = re.match(_LABEL, line), len(line) - len(line.lstrip())
        hang = cells(label[0]) if label else 0
        hang = indent + 2 if hang == indent or hang > width // 2 else hang
    lines: list[str] = []
    now = ""
    for word in re.findall(_WORD, line):
        if cells(now) > hang and cells(now) + cells(word) > width:
            lines.append(now)
            now = " " * hang + word.lstrip()
        else:
            now += word
        while not word.isascii() and cells(now) > width > hang + 1:
            most = next(n for n in range(len(now), 0, -1) if cells(now[:n]) <= width)
            lines.append(now[:most])
            now = " " * hang + now[most:]
    return [*lines, now]


def cells(text: str) -> int:
    """Return the columns that a printable text takes."""
    if text.isascii():
        return len(text)
    from itertools import filterfalse
    from unicodedata import combining, east_asian_width

    kept = "".join(filterfalse(combining, text))
    widths = "".join(map(east_asian_width, kept))  # wide and full ones have a letter of their own
    return len(kept) + widths.count("W") + widths.count("F")


def crop(text: str, width: int) -> str:
    """Return the part of a printable text that fits, with an ellipsis: the end of a path, else the beginning."""
    if cells(text) <= width:
        return text
    if "/" in text and " " not in text and text.isascii() and width > 1:
        return f"…{text[1 - width :]}"
    kept = text[: max(width - 1, 0)]
    while cells(kept) > width - 1 and kept:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def table(heads: Sequence[str], rows: Sequence[Sequence[str | int]], stream: TextIO) -> list[str]:
    """Return a table's lines: numbers to the right, and the widest texts cropped to the width of the stream.

    Args:
        heads: names of the columns.
        rows: texts and numbers; an empty text is unknown.
        stream: where the table is printed; its full width is taken if it is no terminal.
    """
    texts = [[f"{cell:,}" if isinstance(cell, int) else one_line(cell) for cell in row] for row in rows]
    widths = [max(map(cells, column)) for column in zip(heads, *texts, strict=True)]
    width = width_of(stream)
    while width is not None and sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > MIN_COLUMN:
        widths[widths.index(max(widths))] -= 1
    right = [all(isinstance(cell, int) or not cell for cell in column) for column in zip(*rows, strict=True)]

    def line(row: Sequence[str]) -> str:
        texts = map(crop, row, widths)
        return "  ".join(map(_aligned, texts, widths, right)).rstrip()

    return [Styled(line(heads), "dim"), *map(line, texts)]


def _aligned(text: str, width: int, to_right: object) -> str:
    blank = " " * (width - cells(text))
    return blank + text if to_right else text + blank


NARROW, USUAL, WIDE = 60, 80, 200
"""Cells of a line at least, where there is no terminal, and at most."""

EIGHTHS = " ▏▎▍▌▋▊▉█"
"""Eighths of a cell, for bars."""


def width() -> int:
    """Return the cells of a line on stdout."""
    return min(max(width_of(sys.stdout) or USUAL, NARROW), WIDE)


def clip(text: str, most: int) -> str:
    """Return a text in one line of at most ``most`` cells: the end of a path, the beginning of anything else.

    A path may stand behind one word, such as a tool.
    """
    line = printable(" ".join(text.split()))
    if cells(line) <= most:
        return line
    first, _, path = line.rpartition(" ")
    left = most - len(first) - 1 - bool(first)
    if line.isascii() and "/" in path and " " not in first and left >= 12:
        return f"{first} …{path[-left:]}".lstrip()
    return crop(line, most)


def padded(text: str, most: int) -> str:
    """Return a text that is clipped or filled to ``most`` cells."""
    line = clip(text, most)
    return line + " " * (most - cells(line))


def about(tool: str, argument: str, words: str, most: int) -> str:
    """Return tool, argument and first words in at most ``most`` cells; two fifths are for the words."""
    left = most - len(tool) - 1
    argument = clip(argument, max(left * 3 // 5, left - len(words) - 3) if words else left)
    return clip(" · ".join(filter(None, (f"{tool} {argument}".strip(), words))), most)


def bar(share: float, most: int) -> str:
    """Return a bar in ``most`` cells; a share above 0 has an eighth at least."""
    eighths = max(round(share * most * 8), 1) if share > 0 else 0
    whole, part = divmod(min(eighths, most * 8), 8)
    try:
        EIGHTHS.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return ("#" * (whole or part > 0)).ljust(most)
    return (EIGHTHS[8] * whole + EIGHTHS[part] * (part > 0)).ljust(most)


def percents(parts: Sequence[int]) -> list[float]:
    """Return the share of each part in tenths of a percent, which add up to 100.0; none for a sum of 0."""
    total = sum(parts)
    if not total:
        return [0.0] * len(parts)
    tenths = [1000 * part // total for part in parts]
    largest_rests = sorted(range(len(parts)), key=lambda place: -(1000 * parts[place] % total))
    for place in largest_rests[: 1000 - sum(tenths)]:
        tenths[place] += 1
    return [tenth / 10 for tenth in tenths]
