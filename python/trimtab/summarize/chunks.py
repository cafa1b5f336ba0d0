"""Splits a zone that exceeds the summarizer's window into parts, whose summaries are merged."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from ..counting.counter import scan

if TYPE_CHECKING:
    from ..counting.counter import Counter
    from .ask import Ask


def chunks(ask: Ask, counter: Counter, capacity: int | None) -> tuple[Ask, ...]:
    """Return the parts of a zone that is too large, cut at safe cuts; none if it fits.

    A group that is too large by itself is a part of its own.

    Args:
        ask: the request for the whole zone.
        counter: counts the messages.
        capacity: most tokens of messages in one request; None has no limit.
    """
    if capacity is None or len(ask.messages) < 2:
        return ()
    ledger = scan(ask.messages, counter, ask.provider)
    if ledger.total <= capacity:
        return ()
    bounds = _bounds(ledger.per_message.tolist(), ledger.safe.nonzero()[0].tolist(), capacity)
    if len(bounds) < 3:
        return ()
    return tuple(
        replace(ask, messages=ask.messages[start:stop], previous=ask.previous if start == 0 else None, after=())
        for start, stop in pairwise(bounds)
    )


def _bounds(cost: list[int], safe: list[int], capacity: int) -> list[int]:
    """Return the starts of the parts and the end: as few parts as possible, each within the capacity if it can be."""
    bounds, held, start = [0], 0, 0
    for stop in [*(cut for cut in safe if 0 < cut < len(cost)), len(cost)]:
        group = sum(cost[start:stop])
        if held and held + group > capacity:
            bounds.append(start)
            held = 0
        held, start = held + group, stop
    return [*bounds, len(cost)]


def merged(ask: Ask, texts: list[str]) -> Ask:
    """Return the request for one summary of the parts' summaries, oldest first."""
    parts = tuple(
        {"role": "user", "content": f"[Summary of part {n} of {len(texts)}]\n{text}"} for n, text in enumerate(texts, 1)
    )
    return replace(ask, messages=parts, provider="openai_chat", previous=None)
