"""Pieces of HTML: every text is escaped; control characters, and those that turn the reading direction, are shown."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any

from .._repr import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
