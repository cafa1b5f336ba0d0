"""Pieces of HTML, and of panels: their frame, legends, bars, and words on blocks and messages.

Every text is escaped; control characters, and those that turn the reading direction, are shown.
"""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any

from .._repr import printable
from ..ledger.contents import ARGUMENT, WORDS
from . import charts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .figures import Report

    Cell = str | int | float | None

LONG = 24
"""Characters of a cell from which its text is wrapped."""

_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class Markup(str):
    """HTML that is already escaped."""

    __slots__ = ()


def esc(text: object) -> Markup:
    """Return a text as HTML; markup as it is."""
    return text if isinstance(text, Markup) else Markup(html.escape(printable(str(text))))


def tag(name: str, *inside: object, **attributes: str) -> Markup:
    """Return an element; ``class_`` is the attribute ``class``, and underscores in names become hyphens."""
    named = "".join(f' {key.rstrip("_").replace("_", "-")}="{esc(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{named}>{''.join(map(esc, inside))}</{name}>")


def table(heads: Sequence[str], rows: Iterable[Sequence[Cell]], label: str) -> Markup:
    """Return a table; numbers and shares stand to the right, None is an empty cell."""
    listed = [[*row] for row in rows]
    right = [
        all(_is_number(row[at]) for row in listed if row[at] is not None) and any(row[at] is not None for row in listed)
        for at in range(len(heads))
    ]
    head = (
        tag("th", name, scope="col", **_number(is_right)) if name else tag("td")
        for name, is_right in zip(heads, right, strict=True)
    )
    body = (tag("tr", *(_cell(cell) for cell in row)) for row in listed)
    made = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body), aria_label=label)
    return tag("div", made, class_="scroll", tabindex="0", role="region", aria_label=label)


def _is_number(cell: Cell) -> bool:
    """Return whether a cell is a number, a share or a sum of money."""
    return isinstance(cell, int | float) or (isinstance(cell, str) and (cell.endswith(" %") or cell.startswith("$")))


def _cell(cell: Cell) -> Markup:
    if isinstance(cell, int | float):
        cell = f"{cell:,}"
        return tag("td", cell, class_="number")
    if _is_number(cell):
        return tag("td", cell, class_="number")
    is_bar = isinstance(cell, Markup) and cell.startswith("<svg")
    name = "bar" if is_bar else "text" if len(cell or "") > LONG and not isinstance(cell, Markup) else ""
    return tag("td", "" if cell is None else cell, **({"class_": name} if name else {}))


def _number(is_right: object) -> dict[str, str]:
    return {"class_": "number"} if is_right else {}


def folded(summary: str, *inside: object) -> Markup:
    """Return a part that opens on a click or by the keyboard."""
    return tag("details", tag("summary", summary), *inside)


def data(value: Any) -> Markup:
    """Return a value as JSON in a script element that no browser runs; nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_UNSAFE)
    return Markup(f'<script type="application/json">{text}</script>')


def panel(question: str, *inside: object) -> Markup:
    """Return a panel with its question as the heading."""
    return tag("section", tag("h2", question), *inside)


def sentence(text: str) -> str:
    """Return a remark of the command line as a sentence."""
    line = text.strip()
    return f"{line[:1].upper()}{line[1:]}{'' if line.endswith('.') else '.'}"


def about(report: Report, argument: str, words: str) -> str:
    """Return an argument and first words, each cut to 80 characters."""
    return " · ".join(filter(None, said(report, argument, words, WORDS)))


def said(report: Report, argument: str, words: str, most: int) -> tuple[str, str]:
    """Return an argument, of a path its end, and first words, each cut to so many characters."""
    words = "" if words == argument else words
    if report.hides:
        return report.text(argument, ARGUMENT), report.text(words, WORDS)
    if "/" in argument[-most:] and " " not in argument and len(argument) > most:
        argument = f"…{argument[1 - most :]}"
    return _begun(argument, most), _begun(words, most) + "…" * (len(words) == WORDS == most)


def _begun(text: str, most: int) -> str:
    """Return the beginning of a text."""
    return text.strip() if len(text) <= most else f"{text[:most].strip()}…"


def span(first: int, last: int, earlier: int = 0) -> str:
    """Return the numbers of messages in a row; ``earlier`` ones have a distance from message 0 in their place."""
    names = [
        f"#{place - earlier:,}" if place >= earlier else f"{earlier - place:,} before #0" for place in (first, last)
    ]
    return names[0] if first == last else " to ".join(names)


def bar(share: float, name: str = "p0") -> Markup:
    """Return a share as a bar, with the class of its colour."""
    return Markup(charts.share_bar([(name, min(max(share, 0), 1))]))


def scroll(label: str) -> dict[str, str]:
    """Return the attributes of a chart's frame, which scrolls where the page is narrow, by the keyboard too."""
    return {"class_": "scroll", "role": "region", "tabindex": "0", "aria_label": label}


def legend(parts: Iterable[tuple[str, str]]) -> Markup:
    """Return what each colour or line of a chart means."""
    items = (tag("li", swatch(name), text) for name, text in parts)
    return tag("ul", *items, class_="legend")


def swatch(name: str) -> Markup:
    """Return a sample of a colour or a line, by its class."""
    is_line = name in {"edge", "trigger", "window", "cut", "split"}
    drawn = '<path class="{0}" d="M0 6H16"/>' if is_line else '<rect class="{0}" width="16" height="12"/>'
    drawn = '<path class="dots" d="M8 6h0"/>' if name == "dots" else drawn
    drawn = '<path class="gap small" d="M0 6H16"/>' if name == "gap" else drawn
    drawn = '<rect class="{0}" y="6" width="16" height="6"/>' if name == "changes" else drawn
    return Markup(f'<svg class="swatch" viewBox="0 0 16 12" aria-hidden="true">{drawn.format(name)}</svg>')
