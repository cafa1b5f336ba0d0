"""What a compaction kept of the items of its messages, and what is gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .items import KINDS, items
from .standing import Texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ..messages.types import Message
    from .items import Item, ItemKind


OWN: tuple[ItemKind, ...] = ("rules", "requests", "tasks", "files")
"""The kinds of items that a compaction of trimtab's own is held to."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a compaction kept.

    Attributes:
        there: items that stand in the list after it.
        lost: items that do not, those that weigh most first.

    Examples:
        >>> print(Kept.of([{"role": "user", "content": "Never push to main."}], []))
        0 of 1 rule
    """

    there: tuple[Item, ...] = ()
    lost: tuple[Item, ...] = ()

    @classmethod
    def of(cls, before: Sequence[Message], after: Sequence[Message], kinds: Collection[ItemKind] = KINDS) -> Kept:
        """Return what a list kept of the items of another, by kind.

        Args:
            before: the plain messages from before the compaction.
            after: the plain messages after it.
            kinds: the kinds of items to look for.
        """
        return cls.found(items(before, kinds=kinds), Texts.of(after))

    @classmethod
    def found(cls, wanted: Iterable[Item], texts: Texts) -> Kept:
        """Return which of some items stand in texts."""
        there: list[Item] = []
        lost: list[Item] = []
        for item in wanted:
            (there if texts.has(item) else lost).append(item)
        return cls(tuple(there), tuple(lost))

    def number(self, kind: ItemKind) -> tuple[int, int]:
        """Return how many items of a kind are there, of how many."""
        there, lost = (sum(item.kind == kind for item in found) for found in (self.there, self.lost))
        return there, there + lost

    def fields(self, kinds: Collection[ItemKind] = KINDS) -> dict[str, Any]:
        """Return the numbers by kind, and the lost items, for JSON."""
        numbers = {kind: dict(zip(("kept", "of"), self.number(kind), strict=True)) for kind in kinds}
        lost = [{"kind": item.kind, "message": item.message, "text": item.text} for item in self.lost]
        return {"kept": numbers, "lost": lost}

    def __str__(self) -> str:
        """Return the numbers of the kinds that there are."""
        told = ((there, of, kind) for kind in KINDS for there, of in [self.number(kind)] if of)
        return ", ".join(f"{there:,} of {of:,} {kind if of > 1 else kind[:-1]}" for there, of, kind in told)
