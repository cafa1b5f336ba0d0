"""A zone larger than the summarizer's window: in parts, each summarized, then merged."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from ..counting.counter import scan

if TYPE_CHECKING:
    from ..counting.counter import Counter
    from .ask import Ask


def chunks(ask: Ask, counter: Counter, capacity: int | None) -> tuple[Ask, ...]:
    """The parts of a zone that is too large, none of them parting a call from its result; empty where it fits.

    A group that is too large by itself is a part of its own: whoever asks the model cuts it, as any long result.

    Args:
        ask: for the whole zone.
        counter: measures the messages.
        capacity: tokens of messages that the summarizer takes at once; None takes any number.
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
    """Where the parts begin, and the end: as few as there can be, each within the capacity where its groups are."""
    bounds, held, start = [0], 0, 0
    for stop in [*(cut for cut in safe if 0 < cut < len(cost)), len(cost)]:
        group = sum(cost[start:stop])
        if held and held + group > capacity:
            bounds.append(start)
            held = 0
        held, start = held + group, stop
    return [*bounds, len(cost)]


def merged(ask: Ask, texts: list[str]) -> Ask:
    """The request that makes one summary of the parts' summaries, oldest first."""
    parts = tuple(
        {"role": "user", "content": f"[Summary of part {n} of {len(texts)}]\n{text}"} for n, text in enumerate(texts, 1)
    )
    return replace(ask, messages=parts, provider="openai_chat", previous=None)
