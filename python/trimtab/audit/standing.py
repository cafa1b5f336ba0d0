"""Whether an item stands in texts: word by word, or in one passage that has most of its words."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from .. import _core
from ..summarize.text import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..messages.types import Message
    from .items import Item

SHARES = {"rules": 0.6, "requests": 0.6, "tasks": 0.8, "decisions": 0.7, "errors": 0.7}
"""Share of an item's longer words that a passage has which tells of it, by kind."""

EXACT = ("rules", "tasks")
"""Kinds of which a passage has to have all numbers, too, and a word that says no where the item has one."""

NO = frozenset(("never", "not", "no", "don't", "doesn't", "without", "avoid", "nothing", "none", "unless", "instead"))
"""Words that say no."""

STEM = 5
"""Letters by which longer words of the same stem are known: ``reset`` and ``resetting``."""

LEAST = 4
"""Characters of a longer word; fewer than three of these do not tell what an item is about."""

SHORT = 4
"""Longer words of a request of which a passage has to have all: three of four do not tell what was asked."""

BEGINS = 10
"""Words of a statement that are enough to know it."""

PASSAGE = 40
"""Words of an item for each line of the passage that may tell of it."""


class Texts:
    """Texts in which items are looked for.

    Args:
        texts: the texts of messages, or of a summary.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.lines = [line for text in texts for line in text.splitlines() if line.strip()]

    @classmethod
    def of(cls, messages: Sequence[Message], *, users: bool = False) -> Texts:
        """Return the texts of messages, with calls and results; or only those of the user."""
        entries = _core.entries(messages)
        return cls(text for _, kind, name, text in entries if not users or (kind, name) == ("text", "user"))

    @cached_property
    def _flat(self) -> str:
        """All words, each between single spaces."""
        return f" {' '.join(word for line in self.lines for word in words(line))} "

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """The numbers of the lines that have a stem."""
        places: dict[str, list[int]] = {}
        for number, line in enumerate(self.lines):
            for word in _stems(line):
                places.setdefault(word, []).append(number)
        return places

    @cached_property
    def _raw(self) -> str:
        return "\n".join(self.lines)

    def has(self, item: Item) -> bool:
        """Return whether an item stands in the texts."""
        if item.kind == "files":
            return self.names(item.text)
        share, exact = SHARES[item.kind], item.kind in EXACT
        if item.kind == "requests":
            statements = item.text.split("\n")
            return any(map(self._begins, statements)) or self.tells(statements[0], share, whole=SHORT)
        flat = " ".join(words(item.text.removesuffix("…")))
        return f" {flat} " in self._flat or self.tells(item.text, share, exact=exact)

    def _begins(self, statement: str) -> bool:
        """Return whether a statement stands with its first words: summaries quote the beginning of a long one."""
        flat = " ".join(words(statement)[:BEGINS])
        return bool(flat) and f" {flat} " in self._flat

    def names(self, path: str) -> bool:
        """Return whether a file is named: by its name alone, or behind the last part of its folder."""
        folder, _, name = path.rpartition("/")
        named = re.finditer(rf"(?<![\w.-])(?:([\w.@+-]+)[/\\])?{re.escape(name)}(?![\w-])", self._raw)
        return any(found[1] in (None, folder.rpartition("/")[2]) for found in named)

    def tells(self, text: str, share: float, *, exact: bool = False, whole: int = 0) -> bool:
        """Return whether one passage has a share of the longer words of a text, by their stems.

        Args:
            text: the words of an item.
            share: of its longer words.
            exact: whether the passage has to have all of its numbers, and a word that says no where it has one.
            whole: most longer words of a text that has to have them all in the passage.
        """
        every = _stems(text)
        wanted = {word for word in every if len(word) >= LEAST or not word.isascii()}
        needed = 1.0 if len(wanted) <= whole else share
        wanted = wanted if len(wanted) > 2 else every
        numbers = {word for word in every if word.isdigit()} if exact else set()
        says_no = exact and bool(every & NO_STEMS)
        span = 1 + len(every) // PASSAGE
        sought = wanted | numbers | NO_STEMS if says_no else wanted | numbers
        hits = sorted((number, word) for word in sought for number in self._places.get(word, ()))
        inside: Counter[str] = Counter()
        begin = 0
        for number, word in hits:
            inside[word] += 1
            while hits[begin][0] <= number - span:
                inside[hits[begin][1]] -= 1
                begin += 1
            inside += Counter()
            has = inside.keys()
            if len(wanted & has) >= needed * len(wanted) and numbers <= has and (not says_no or has & NO_STEMS):
                return bool(wanted)
        return False


def _stems(text: str) -> set[str]:
    """Return the stems of the words of a text: the first letters of longer ones, without an s at the end."""
    return {word.removesuffix("s")[:STEM] if word.isascii() and len(word) > LEAST else word for word in words(text)}


NO_STEMS = frozenset(word for text in NO for word in _stems(text))
"""The stems of words that say no."""
