"""Marks: messages known by their place, which is the position and the digest of the list up to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .columns import Ledger

MAX_DIGITS = 12
"""Digits of a position that is read; a longer one is damaged."""


def marks(ledger: Ledger, positions: Iterable[int]) -> tuple[str, ...]:
    """Return the marks of messages: ``POSITION:DIGEST``, of the list that ends with the message."""
    return tuple(f"{position}:{ledger.digest_until(position + 1)}" for position in positions)


def marked(ledger: Ledger, known: Iterable[str]) -> tuple[int, ...]:
    """Return the positions of the marked messages, ascending; a mark of another list finds none."""
    found = set()
    for mark in known:
        place, _, digest = mark.partition(":")
        position = int(place) if place.isdecimal() and len(place) <= MAX_DIGITS else len(ledger)
        if position < len(ledger) and ledger.digest_until(position + 1) == digest:
            found.add(position)
    return tuple(sorted(found))
