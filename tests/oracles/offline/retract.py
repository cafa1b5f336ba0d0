"""Retractions: statements that fall in rank, and names that were given up.

A guess from the words alone. A statement falls where a later one shares most of its words and has a word of correction,
or says the contrary (the same words with and without a "not"); where the user answers it with "no"; or where it holds a
name that was renamed later. It falls and is not removed, because the guess may be wrong.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from .announced import settle
from .runs import command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from oracles.offline.parts import Part

    from .text import Line

_CUE = re.compile(
    r"\b(?:actually|wrong(?:ly)?|incorrect|no longer|instead|rather than|correct(?:ed|ion)|renamed?|revert(?:ed|ing|s)?"
    r"|mistake[ns]?|misread|misunderstood|in fact|not true|turned out|contrary|undone?|never ?mind|scratch that"
    r"|outdated|obsolete|superseded|had (?:believed|thought|assumed|expected)|not\b.{1,60}\bbut)\b",
    re.IGNORECASE,
)
_ADMITS = re.compile(r"\b(?:wrong|incorrect|mistaken?|misread|misunderstood|not true|scratch that)\b", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|never|no|none|nothing|cannot|without|\w+n['\u2019]t)\b", re.IGNORECASE)
_REFUSES = re.compile(
    r"\s*(?:no(?:pe)?(?:[,.!;:]|\s*$|\s+(?:that|this|it|i|you)\b)|wrong\b|incorrect\b|stop\b|that(?:'s| is| was) (?:not"
    r"|wrong)\b|not (?:what|like that|quite)\b|revert\b|undo\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{3,}|\d+")
_COMMON = (
    "the and for that this with from are was were has have had its but not you your can will would should could now"
    " then than them they there here what when where which who why how all any also just into only still very already"
    " again one two been being does did done get got let see use used always never about because instead actually"
    " wrong"
)
_COMMON_WORDS = frozenset(_COMMON.split())
_USERS = {"Rules", "Requests"}
"""Sections of the user's words."""
_RECENT = 6
"""Statements a word that are compared, so that a transcript which repeats itself is read in linear time."""
_MOST = 5_000
"""Statements that are compared at all, the last ones; 3 MB of recorded sessions have 2,100."""


@dataclass(slots=True)
class Renamed:
    """Names that were given up: what they became, and the position where."""

    names: dict[str, tuple[str, int]] = field(default_factory=dict)

    def add(self, old: str, new: str, at: int) -> None:
        """Notes that a name became another one."""
        if old != new:
            self.names.pop(new, None)
            self.names[old] = (new, at)

    def gone(self, name: str, last: int) -> bool:
        """Whether a name, seen last at a position, is not in use any more."""
        return any(one in self.names and self.names[one][1] >= last for one in name.split("."))


def reconcile(lines: list[Line], later: Sequence[Line], spoken: Sequence[Part]) -> None:
    """Lowers what was taken back in the zone or behind it, raises what corrects it, takes out what only announces."""
    settle(lines, later, spoken)
    said = [line for line in lines if line.section in {"Rules", "Requests", "Decisions", "Open items", "Earlier"}]
    _refused(said, spoken)
    ordered = sorted([*said, *later], key=lambda line: (line.at, line.number))[-_MOST:]
    words = [_words(line.text) for line in ordered]
    index: tuple[dict[str, deque[int]], ...] = ({}, {})
    for place, line in enumerate(ordered):
        denies, cue = bool(_NOT.search(line.text)), bool(_CUE.search(line.text))
        about, share = words[place], 0.6 if cue else 0.8
        if cue and line.number < 2 and line.section not in _USERS and _ADMITS.search(line.text):
            ahead = range(place + 1, min(place + 4, len(ordered)))
            about, share = about.union(*(words[at] for at in ahead if ordered[at].at == line.at)), 0.5
        found: Counter[int] = Counter()
        for known in index if cue else index[not denies : 2 - denies]:
            found.update(chain.from_iterable(known[word] for word in about if word in known))
        least = 3 if cue else max(3, 0.6 * len(about))
        old = [ordered[at] for at, shared in found.items() if shared >= least and shared >= share * len(words[at])]
        _lower(line, old)
        for word in words[place]:
            index[denies].setdefault(word, deque(maxlen=_RECENT)).append(place)


def _words(text: str) -> frozenset[str]:
    found = [word for word in _WORD.findall(text.lower()) if word not in _COMMON_WORDS]
    return frozenset(word[:-1] if word[-1] == "s" and len(word) > 3 else word for word in found[:40])


def _lower(now: Line, found: Iterable[Line]) -> None:
    """Lowers what a line takes back: of other messages, and what the user said only if he says so himself."""
    old = [one for one in found if one.at != now.at and (one.section not in _USERS or now.section in _USERS)]
    for one in old:
        one.trust *= 0.05
    now.rank += 0.3 * bool(old)


def _refused(lines: Iterable[Line], spoken: Sequence[Part]) -> None:
    """Lowers what the assistant said between two messages of the user of which the second refuses it.

    Most of all what has a word of the refusal.
    """
    refused: dict[int, frozenset[str]] = {}
    answers: set[int] = set()
    before = -1
    for part in spoken:
        if part.kind == "user":
            if _REFUSES.match(part.text):
                refused |= dict.fromkeys(range(before + 1, part.at), _words(part.text[:2_000]))
                answers.add(part.at)
            before = part.at
    for line in lines:
        if line.section not in _USERS and line.at in refused:
            line.trust *= 0.2 if refused[line.at].isdisjoint(_words(line.text)) else 0.05
        elif line.section in _USERS and line.at in answers:
            line.rank += 0.2


_NAME = r"[`\"']?(?P<{0}>(?<=[`\"'])\w{{2,60}}(?=[`\"'])|\w{{0,60}}[A-Z_]\w{{0,60}})[`\"']?"
_OLD, _NEW = _NAME.format("old"), _NAME.format("new")
_RENAMES = (
    re.compile(rf"\b[Rr]enam(?:e|ed|es|ing)\b[^.\n]{{0,30}}?(?<!\w){_OLD}\s+(?:to|into|as|->|→|=>)\s+(?<!\w){_NEW}"),
    re.compile(rf"(?<!\w){_NEW},? (?:instead of|rather than|and not) (?<!\w){_OLD}"),
    re.compile(
        r"[`\"'](?P<old>\w{2,60})[`\"'][^`\n]{1,200}?\b[Cc]all (?:it|them|this|the \w+) [`\"'](?P<new>\w{2,60})[`\"']"
    ),
)
SUBSTITUTION = re.compile(r"(?<!\w)s([/|#,])((?:\\.|(?!\1)[^\\\n]){1,80})\1((?:\\.|(?!\1)[^\\\n]){0,80})\1[gipI]*")
"""Search text and replacement in commands of sed and perl."""
ANCHOR = re.compile(r"\\[bB<>]")
_PLAIN = re.compile(r"(?=\w{2,60}$)\w*[A-Z_]\w*")


def renamed(parts: Iterable[Part]) -> Renamed:
    """The names that were given up, as it was said, asked for or done by a call."""
    found = Renamed()
    for part in parts:
        if part.kind in {"user", "assistant"}:
            for old, new in _told(part.text):
                found.add(old, new, part.at)
        elif part.kind == "call":
            for old, new in _replaced(part):
                found.add(old, new, part.at)
    return found


def _told(text: str) -> Iterator[tuple[str, str]]:
    for pattern in _RENAMES:
        yield from ((match["old"], match["new"]) for match in pattern.finditer(text[:20_000]))


def _replaced(part: Part) -> Iterator[tuple[str, str]]:
    told = [(ANCHOR.sub("", old), ANCHOR.sub("", new)) for _, old, new in SUBSTITUTION.findall(command(part)[:4_000])]
    if part.args.get("replace_all") is True:
        told.append((str(part.args.get("old_string")), str(part.args.get("new_string"))))
    yield from ((old, new) for old, new in told if _PLAIN.fullmatch(old) and _PLAIN.fullmatch(new))


def outdate(lines: Iterable[Line], names: Renamed) -> None:
    """Lowers the lines that speak of a name before it was given up, and do not say what it became."""
    if not names.names:
        return
    old = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(names.names)[:400]))})(?!\w)")
    for line in lines:
        if line.section in _USERS:
            continue
        for match in old.finditer(line.text):
            new, at = names.names[match[0]]
            if line.at <= at and new not in line.text:
                line.trust *= 0.1
                break
