"""Which candidates fit a limit, and the text they make."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .earlier import SECTIONS
from .open import LAST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .text import Section

_SHARES: dict[Section, float] = {
    "Requests": 0.5,
    "Earlier": 0.25,
    "Decisions": 0.2,
    "Files": 0.3,
    "Commands": 0.1,
    "Errors": 0.12,
    "Identifiers": 0.5,
    "Open items": 0.12,
}
"""The part of a limit at which the rank of what a section has left is halved."""

GROUPS = ("root", "created", "edited", "deleted", "read", "mentioned", "names", "ids", "urls", "versions")
"""The lists, in the order they stand in; the root is first, as the paths behind it are relative to it."""

_ROUNDS = 6
_FULL = 0.97
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class Candidate:
    """Something that a summary may hold.

    Attributes:
        section: the heading it stands under.
        group: the list it is a word of; empty if it is a line.
        text: a clean line or a word.
        rank: worth of a token of it.
        at: order among the lines of its section: message, number.
        names: the names in it.
        cost: its tokens.
    """

    section: Section
    group: str
    text: str
    rank: float
    at: tuple[int, int]
    names: frozenset[str] = frozenset()
    cost: int = 0


def fitted(candidates: list[Candidate], limit: int, count: Callable[[str], int]) -> str:
    """The text of the best candidates that a limit holds; empty if it holds none."""
    ranked = _counted(_shared(candidates, limit), limit, count)
    overhead = {str(name): count(f"## {name}\n\n") for name in SECTIONS}
    overhead |= {one.group: count(f"- {one.group}:\n") for one in ranked if one.group}
    best, most, budget, said = "", 0, float(limit), frozenset[str]()
    for _ in range(_ROUNDS):
        chosen = _chosen(ranked, budget, overhead, said)
        text = render(chosen)
        total = count(text)
        if most < total <= limit:
            best, most = text, total
        if (_FULL * limit <= total <= limit) or (total <= limit and len(chosen) == len(ranked)):
            break
        said = frozenset().union(*(one.names for one in chosen if not one.group))
        budget = budget + 0.9 * (limit - total) if total <= limit else budget * 0.98 * limit / total
    return best or _shaved(ranked, limit, count)


def _shared(candidates: Iterable[Candidate], limit: int) -> list[Candidate]:
    """The candidates, best first, after each section's rank has fallen with what stands before in it."""
    used = dict.fromkeys(SECTIONS, 0.0)
    for one in sorted(candidates, key=_order):
        part = used[one.section] / (_SHARES[one.section] * limit)
        used[one.section] += _guess(one)
        one.rank /= 1 + part * part
    return sorted(candidates, key=_order)


def _order(one: Candidate) -> tuple[float, int, int, str, str]:
    return (-one.rank, -one.at[0], one.at[1], one.section, one.text)


def _guess(one: Candidate) -> float:
    return 1 + len(one.text) / 4


def _counted(ranked: Sequence[Candidate], limit: int, count: Callable[[str], int]) -> list[Candidate]:
    """The first of the candidates, some times as many as fit, with their costs."""
    kept, guessed = [], 0.0
    for one in ranked:
        guessed += _guess(one)
        if guessed > 3 * limit + 400:
            break
        one.cost = count(f" {one.text}" if one.group else f"- {one.text}\n")
        kept.append(one)
    return kept


def _chosen(
    ranked: Sequence[Candidate], budget: float, overhead: dict[str, int], said: frozenset[str]
) -> list[Candidate]:
    """The candidates that fit a budget, best first; names in the lines said need not be listed."""
    chosen: list[Candidate] = []
    opened: set[str] = set()
    seen: set[str] = set()
    for one in ranked:
        key = one.text if one.group else " ".join(_WORD.findall(one.text.removeprefix(LAST).lower()))
        if key in seen or (one.section == "Identifiers" and one.text in said):
            continue
        extra = {one.section, one.group} - opened - {""}
        cost = one.cost + sum(overhead[name] for name in extra)
        if cost <= budget:
            budget -= cost
            opened |= extra
            seen.add(key)
            chosen.append(one)
    return chosen


def render(chosen: Sequence[Candidate]) -> str:
    """The text: a heading a section, its lines in order, its lists of words by rank."""
    out: list[str] = []
    for section in SECTIONS:
        inside = [one for one in chosen if one.section == section]
        body = [f"- {one.text}" for one in sorted(inside, key=lambda one: one.at) if not one.group]
        for group in GROUPS:
            words = [one.text for one in inside if one.group == group]
            body += [f"- {group}: {' '.join(words)}"] if words else []
        if body:
            out.append("\n".join([f"## {section}", *body]))
    return "\n\n".join(out)


def _shaved(ranked: Sequence[Candidate], limit: int, count: Callable[[str], int]) -> str:
    """Return some candidates, or a few words, for a limit too small or a counter too odd for the ordinary way."""
    best, low, high = "", 0, len(ranked)
    while low < high:
        middle = (low + high + 1) // 2
        text = render(ranked[:middle])
        if count(text) <= limit:
            best, low = text, middle
        else:
            high = middle - 1
    if best or not ranked:
        return best
    for one in ranked[:200]:
        if count(f"- {one.text}") <= limit:
            return f"- {one.text}"
    words = ranked[0].text.split(" ")
    while words:
        text = " ".join(["-", *words])
        if count(text) <= limit:
            return text
        words = words[: len(words) * 3 // 4]
    return ""
