"""Columns of text in the width of the terminal: texts that are cut to fit, bars, and shares that add up to 100."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .._repr import printable
from .terminal import cells, crop, width_of

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
