"""What the user's statements say of one another: words that come back, values and decisions that are replaced.

A guess from the words alone. A statement is replaced where a later one of another message shares most of its words and
differs in the values of one kind, or takes back what it chose.
"""

from __future__ import annotations

from collections import Counter, deque
from itertools import chain
from typing import TYPE_CHECKING

from .worth import Said, said, shared_worth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .text import Line

WAS = "was: "
"""Prefix of a decision that was taken back, where the new one does not name what it is about."""
KINDS = ("money", "date", "number", "code", "name")
_RECENT = 8
"""Statements with a word that are compared, the last ones."""
_MOST = 5_000
_LIKE = 0.5
"""Trust in a statement of which a later one says most: both may hold, and of few the later one stands."""
_FAR = 40
"""Statements back to the one that a correction without a word of it takes back."""
_SHORT = 240
"""Most characters of a statement that takes back, and that is taken back."""


def relate(lines: Sequence[Line], later: Sequence[Line]) -> None:
    """Raises the user's lines whose words come back, and lowers those that later ones replace.

    ``later`` are not kept."""
    users = [line for line in chain(lines, later) if line.section in {"Rules", "Requests"}]
    users = sorted(users, key=lambda line: (line.at, line.number))[-_MOST:]
    shown = {line.text for line in later}
    for line in users:
        line.trust *= line.text not in shown
    told = [said(line.text) for line in users]
    held = [one.stems.union(*one.values.values()) for one in told]
    told_once = {line.text: words for line, words in zip(users, held, strict=True)}
    times = Counter(chain.from_iterable(told_once.values()))
    rare = max(3, len(users) // 8)
    for line, words in zip(users, held, strict=True):
        line.rank += shared_worth(sum(2 <= times[word] <= rare for word in words))
    index: dict[str, deque[int]] = {}
    for place, (line, one) in enumerate(zip(users, told, strict=True)):
        shared = {at for word in held[place] for at in index.get(word, ())}
        short = len(line.text) <= _SHORT
        takes_back = one.back and short
        taken = False
        for at in sorted(shared):
            old = users[at]
            if old.at == line.at or line.at < 0 or old.trust < 0.5 or line.text == old.text:
                continue
            if _same_but_a_value(told[at], one):
                differ = len(told[at].stems - one.stems), len(one.stems - told[at].stems)
                old.trust = _LIKE if differ == (1, 1) and len(one.stems) > 3 else 0.0
            elif _is_like(told[at], one):
                old.trust = min(old.trust, _LIKE)
            elif takes_back and len(old.text) <= _SHORT and _is_taken_back(told[at], one, near=place - at <= _FAR):
                old.trust, taken = 0.0, True
        if takes_back and not taken and not one.question and (one.choice or one.plainly_back):
            _mark(users[max(place - _FAR, 0) : place], told[max(place - _FAR, 0) : place], line.at)
        for word in held[place]:
            index.setdefault(word, deque(maxlen=_RECENT)).append(place)


def _is_like(old: Said, new: Said) -> bool:
    """Whether two statements have the same values and most of their words."""
    other = bool(old.label and new.label and old.label != new.label)
    if other or old.question or new.question or old.values != new.values:
        return False
    shared, most = len(old.stems & new.stems), max(len(old.stems), len(new.stems))
    return shared >= 3 and shared >= 0.7 * most


def _is_taken_back(old: Said, new: Said, *, near: bool) -> bool:
    """Whether a correction speaks of an older statement: of most of it, or of a choice shortly before."""
    words = old.stems.union(*old.values.values())
    shared = len(words & new.stems.union(*new.values.values()))
    if old.question or not shared:
        return False
    return (old.choice and near) or (shared > 1 and 2 * shared >= len(words))


def _mark(before: Sequence[Line], told: Sequence[Said], at: int) -> None:
    """Marks the last choice before a correction that shares no word with it."""
    for old, one in zip(reversed(before), reversed(told), strict=True):
        if one.choice and not one.question and old.at != at and old.trust >= 0.5 and len(old.text) <= _SHORT:
            old.text = old.text if old.text.startswith(WAS) else WAS + old.text
            old.trust = 0.5
            return


def _same_but_a_value(old: Said, new: Said) -> bool:
    """Whether two statements share most of their words, and differ in the values of one kind alone."""
    if (old.label and new.label and old.label != new.label) or old.question or new.question:
        return False
    kinds = []
    for kind in KINDS:
        one, other = old.values.get(kind, frozenset()), new.values.get(kind, frozenset())
        if one != other and not (kind == "name" and (one <= other or other <= one)):
            kinds.append(kind)
            if not one or not other:
                return False
    both = old.stems.union(*old.values.values()) & new.stems.union(*new.values.values())
    shared = len(both)
    least, most = sorted((len(old.stems), len(new.stems)))
    if len(kinds) != 1 or shared < 2:
        return False
    if kinds[0] == "name":
        return shared >= 0.5 * most if old.label and new.label else shared >= 3 and shared >= 0.8 * most
    return shared >= (0.5 if old.label and new.label else 0.7) * least and shared >= 0.35 * most
