"""Which candidates fit a limit, and the text they make."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from .earlier import DEEP, INSIDE
from .language import SECTIONS, TITLES
from .open import LAST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .text import Section

_SHARES: dict[Section, float] = {
    "Project rules": 0.3,
    "Earlier": 0.25,
    "Decisions": 0.2,
    "Files": 0.3,
    "Commands": 0.1,
    "Errors": 0.12,
    "Identifiers": 0.5,
    "Open items": 0.12,
}
"""The part of a limit at which the rank of what a section has left is halved; the user's words have none."""
_LEAST_SHARE = 40
"""Tokens that a section has before that, in a small limit."""

USERS = {"Rules", "Requests"}
"""Sections of the user's words."""
GROUPS = ("root", "created", "edited", "deleted", "read", "mentioned", "names", "ids", "urls", "versions")
"""The lists, in the order they stand in; the root is first, as the paths behind it are relative to it."""

BRIEF = 250
"""Most tokens of a summary whose first lines, the user's, have no heading: one is a tenth of its words."""
LABELLED = re.compile(r"([A-Z][^\W\d_]*(?: [^\W\d_]+){0,2}:) (?=\S)")
"""A label in front of a line: of one to three words."""
BARE = {"mentioned", "names", "ids", "urls", "versions"}
"""The lists of names of which nothing is said."""
MOST_BARE = 0.08
"""Most of a summary that they are."""
FEW_BARE = 40
"""Tokens that they may have anyway, where the lines leave them."""
ROOMY = 600
"""Budget from which they have room before the last of the lines."""
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
        part: whether it is a sentence of a paragraph that is a candidate too.
        cost: its tokens.
    """

    section: Section
    group: str
    text: str
    rank: float
    at: tuple[int, int]
    names: frozenset[str] = frozenset()
    part: bool = False
    cost: int = 0


def fitted(candidates: list[Candidate], limit: int, count: Callable[[str], int], language: str = "en") -> str:
    """The text of the best candidates that a limit holds; empty if it holds none."""
    counted = _counted(_shared(candidates, limit), limit, count)
    root = [one for one in counted if one.group == "root"]
    ranked = [one for one in counted if one.group != "root"]
    brief = limit <= BRIEF
    overhead = {str(name): count(heading(name, language, brief=brief)) for name in SECTIONS}
    overhead |= {one.group: count(f"- {one.group}:\n") for one in ranked if one.group}
    overhead["Files"] += sum(one.cost + count("- root:\n") for one in root)
    best, most, budget, said = "", 0, float(limit), frozenset[str]()
    for _ in range(_ROUNDS):
        picked = _chosen(ranked, budget, overhead, said)
        chosen = _uncovered(picked)
        files = any(one.section == "Files" for one in chosen)
        text = render([*chosen, *root] if files else chosen, language, brief=brief)
        total = count(text)
        if most < total <= limit:
            best, most = text, total
        if (_FULL * limit <= total <= limit) or (total <= limit and len(picked) == len(ranked)):
            break
        said = frozenset().union(*(one.names for one in chosen if not one.group))
        budget = budget + 0.9 * (limit - total) if total <= limit else budget * 0.98 * limit / total
    return best or _shaved(ranked, limit, count, language)


def _shared(candidates: Iterable[Candidate], limit: int) -> list[Candidate]:
    """The candidates, best first, after each section's rank has fallen with what stands before in it."""
    used = dict.fromkeys(SECTIONS, 0.0)
    for one in sorted(candidates, key=_order):
        share = max(_SHARES[one.section] * limit, _LEAST_SHARE) if one.section in _SHARES else inf
        part = used[one.section] / share
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
    whole: set[tuple[int, int]] = set()
    used = 0.0

    def add(*, wanted: bool, room: float) -> None:
        nonlocal used
        for one in ranked:
            if (one.group in BARE) != wanted or (one.part and one.at in whole):
                continue
            key = one.text if one.group else _words(one)
            if key in seen or (one.section == "Identifiers" and one.text in said):
                continue
            extra = {one.section, one.group} - opened - {""}
            cost = one.cost + sum(overhead[name] for name in extra)
            if used + cost <= min(budget, room):
                used += cost
                opened.update(extra)
                seen.add(key)
                if not one.part and one.section in USERS:
                    whole.add(one.at)
                chosen.append(one)

    add(wanted=False, room=budget * (1 - MOST_BARE) if budget >= ROOMY else budget)
    add(wanted=True, room=max(used / (1 - MOST_BARE), used + FEW_BARE))
    add(wanted=False, room=budget)
    return chosen


def _words(one: Candidate) -> str:
    return " ".join(_WORD.findall(one.text.removeprefix(LAST).lower()))


def _uncovered(chosen: Sequence[Candidate]) -> list[Candidate]:
    """Leaves out lines whose words another line of the section has, of the same message or a later one.

    An older line may say the opposite around them. Rules are not compared, as each stands as it was said, nor are
    commands: of two, the longer one may have ended otherwise. A line that others stand below stays.
    """
    kept = {"Commands", "Rules", "Project rules"}
    lines = [(one, f" {_words(one)} ") for one in chosen if not one.group and one.section not in kept]
    places = {(one.section, *one.at) for one in chosen}
    above = {(one.section, one.at[0]) for one in chosen if one.at[1]}
    covered = set()
    for one, words in lines:
        followed = (one.section, one.at[0], one.at[1] + 1) in places
        ends = one.text.endswith((".", "!", "?", "\u3002", "\uff01", "\uff1f"))
        title = one.section in USERS and not ends and len(words.split()) < _HEADING
        first = one.section == "Requests" and not one.at[1] and (one.section, one.at[0]) in above
        if first or (followed and (title or one.text.endswith((":", "\uff1a")))):
            continue
        for more, longer in lines:
            if more.section == one.section and more.at[0] >= one.at[0] and len(longer) > len(words) and words in longer:
                covered.add(id(one))
    return [one for one in chosen if id(one) not in covered]


_HEADING = 5
"""Words of a line without the end of a sentence from which it is no heading."""


def heading(section: str, language: str, *, brief: bool) -> str:
    """The heading of a section; a brief summary begins with the user's words, without one."""
    return (
        ""
        if brief and section in {"Rules", "Requests"}
        else f"## {TITLES[language].split('|')[SECTIONS.index(section)]}\n\n"
    )


def render(chosen: Sequence[Candidate], language: str, *, brief: bool = False) -> str:
    """The text: a heading a section, its lines in order, its lists of words by rank."""
    out: list[str] = []
    for section in SECTIONS:
        if brief and section == "Rules":
            continue  # they are in front of the requests, without a heading between
        inside = [
            one
            for one in chosen
            if one.section == section or (brief and section == "Requests" and one.section == "Rules")
        ]
        order = sorted(inside, key=lambda one: (one.section != "Rules", one.at))
        body = listed([one for one in order if not one.group])
        for group in GROUPS:
            words = [one.text for one in inside if one.group == group]
            body += [f"- {group}: {' '.join(words)}"] if words else []
        if body:
            told = "\n".join(body)
            title = heading(section, language, brief=brief)
            between = "\n" if out and not title else "\n\n" if out else ""
            out.append(f"{between}{title[:-1]}{told}")
    return "".join(out)


def listed(lines: Sequence[Candidate]) -> list[str]:
    """The lines as a list.

    Those with the same label stand below it, and the later paragraphs of a message below the first that is there.
    """
    inside_of = None
    first = {one.at[0] for one in lines if _is_first(one)}
    below: dict[str, list[str]] = {}
    for one in lines:
        if (label := _label(one)) is not None:
            below.setdefault(label, []).append(one.text[len(label) + 1 :])
    out = []
    for one in lines:
        label = _label(one)
        if one.section == "Requests" and one.at[1] and (one.at[0] in first or one.at[0] == inside_of):
            out.append(f"  - {one.text}")
        elif one.section in USERS and one.at[1] >= (DEEP if one.section == "Rules" else 1):
            inside_of = one.at[0] if one.section == "Requests" else None
            out.append(f"- {INSIDE}{one.text}")
        elif label is None or len(below.get(label, ())) == 1:
            out.append(f"- {one.text}")
        elif inside := below.pop(label, ()):
            out += [f"- {label}", *(f"  - {each}" for each in inside)]
    return out


def _is_first(one: Candidate) -> bool:
    """Whether paragraphs of its message may stand below it: not below a label, with words behind it or alone."""
    with_words = f"{one.text} ."
    return one.section == "Requests" and not one.at[1] and not LABELLED.match(with_words)


def _label(one: Candidate) -> str | None:
    label = LABELLED.match(one.text)
    return label[1] if label and one.section in USERS and not one.at[1] else None


def _shaved(ranked: Sequence[Candidate], limit: int, count: Callable[[str], int], language: str) -> str:
    """Return some candidates, or a few words, for a limit too small or a counter too odd for the ordinary way."""
    best, low, high = "", 0, len(ranked)
    while low < high:
        middle = (low + high + 1) // 2
        text = render(ranked[:middle], language, brief=True)
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
