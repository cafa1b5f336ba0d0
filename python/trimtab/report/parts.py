"""Parts of panels: their frame, legends, bars, and words on blocks and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import charts
from .html import Markup, tag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .figures import Report


WORDS = 80
"""Characters of first words and of an argument on the page."""


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
        return report.text(argument), report.text(words)
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
