"""Chains of linked lines, and where they break."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class _Keyed(Protocol):
    """A record with a place in a chain."""

    number: int
    key: str


L = TypeVar("L", bound=_Keyed)


def nearest(lines: Sequence[L], number: int, taken: Collection[str]) -> L | None:
    """Return the last line in front of a number whose key is not taken; None without one.

    Args:
        lines: ascending by number.
        number: of the line in a chain that breaks in front of it.
        taken: keys on the chain behind the break.
    """
    i = bisect_left(lines, number, key=lambda other: other.number)
    while i and lines[i - 1].key in taken:
        i -= 1
    return lines[i - 1] if i else None
