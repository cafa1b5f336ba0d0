"""Calls that found less of their prompt in the provider's cache than the call before had left there, and why.

The cause is what the file shows: a compaction, another model, a pause beyond the cache's life, a changed prefix. A
provider may also lose a cache, which no file shows.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from ..models.model import Model
from .savings import HOURLY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..messages.types import BilledCall, Transcript

SMALLEST = 1_024
"""Tokens from which a fall counts: providers cache no smaller part of a prompt."""

PREFIX = "found up to {}; the file shows no change behind it"
"""The cause where the messages are found up to one of them."""

HOUR = 3_600
"""Seconds for which Anthropic keeps a cache that was written for an hour."""


@dataclass(frozen=True, slots=True)
class CacheRebuild:
    """A call whose cache reads fell.

    Attributes:
        message: number of the answer.
        at: time of the call in seconds since 1970; None if unknown.
        model: its model.
        read: tokens that it read from the cache.
        cached: tokens that the call before had read and written.
        again: tokens that it paid again.
        cost: US dollars that these cost beyond reading them; None if unknown.
        cause: ``compaction``, ``model``, ``expired``, ``start``, ``prefix`` or ``unknown``.
        why: the cause in words.
        place: the message up to which the prompt was found, where that is all that is known; else None.
    """

    message: int
    at: float | None
    model: str
    read: int
    cached: int
    again: int
    cost: float | None
    cause: str
    why: str
    place: int | None = None


def rebuilds(found: Transcript, per_message: Sequence[int]) -> list[CacheRebuild]:
    """Return the calls of a session whose cache reads fell, oldest first.

    Args:
        found: the whole session.
        per_message: tokens of each message.
    """
    sums = [0, *accumulate(map(int, per_message))]
    made = []
    for before, call in pairwise(found.calls):
        usage, cached = call.usage, before.usage.cache_read + before.usage.cache_write
        again = min(cached - usage.cache_read, usage.prompt - usage.cache_read)
        if again < SMALLEST:
            continue
        place = _place(found, before, call, sums)
        cause, why = _cause(before, call, place)
        message, read, cost = call.before, usage.cache_read, _cost(call, again)
        known = place if cause == "prefix" else None
        made.append(CacheRebuild(message, call.at, call.model, read, cached, again, cost, cause, why, known))
    return made


def _place(found: Transcript, before: BilledCall, call: BilledCall, sums: Sequence[int]) -> int:
    """Return the message up to which the cached prompt was found; -1 if no message was.

    The tokens in front of the messages are those that the call before was billed beyond its messages.
    """
    start = found.compactions[before.compactions - 1] if before.compactions else 0
    fixed = before.usage.prompt - (sums[before.before] - sums[start])
    tokens = call.usage.cache_read - max(fixed, 0)
    if call.usage.cache_read < SMALLEST or tokens <= 0:
        return -1
    return min(bisect_right(sums, sums[start] + tokens) - 1, before.before)


def _cause(before: BilledCall, call: BilledCall, place: int) -> tuple[str, str]:
    """Return the cause, and its words."""
    if call.compactions > before.compactions:
        return "compaction", "a compaction replaced the messages"
    if call.model != before.model:
        return "model", f"another model: {before.model} before"
    seconds = _life(before)
    if seconds and before.at is not None and call.at is not None and call.at - before.at > seconds:
        return "expired", f"{_pause(call.at - before.at)} since the call before; the cache is kept {_pause(seconds)}"
    if place >= 0:
        return "prefix", PREFIX.format(f"message #{place}")
    if call.usage.cache_read < SMALLEST:
        return "unknown", "found nothing: tools changed, or the provider lost it"
    return "start", "found in front of message #0: system text or tools changed, or it was lost"


def _life(before: BilledCall) -> int | None:
    """Return the seconds for which the cache of a call is kept; None if unknown."""
    seconds = Model.named(before.model).cache_seconds if before.model else None
    is_hourly = 2 * before.usage.hourly > before.usage.cache_write
    return max(seconds or 0, HOUR) if is_hourly else seconds


def _pause(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 5_400:
        return f"{max(seconds / 60, 1):.0f} min"
    return f"{seconds / 3_600:.0f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"


def _cost(call: BilledCall, again: int) -> float | None:
    """Return what tokens cost that were paid again, beyond reading them; None if a price is unknown."""
    price = Model.named(call.model).price
    write = max(price.cache_write, HOURLY * price.input) if call.usage.hourly else price.cache_write
    written = min(again, call.usage.cache_write)
    cost = written * (write - price.cache_read) if written else 0.0
    if again > written:
        cost += (again - written) * (price.input - price.cache_read)
    return None if math.isnan(cost) else cost / 1_000_000
