"""Splits a zone that exceeds the summarizer's window into parts, whose summaries are merged."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from .. import _core
from ..counting.counter import scan
from .ask import Facts
from .prompt import RESULT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..counting.counter import Counter
    from .ask import Ask


def chunks(ask: Ask, counter: Counter, capacity: int | None, *, rendered: bool = False) -> tuple[Ask, ...]:
    """Return the parts of a zone that is too large, cut at safe cuts; none if it fits.

    A group that is too large by itself is a part of its own.

    Args:
        ask: the request for the whole zone.
        counter: counts the messages.
        capacity: most tokens of messages in one request; None has no limit.
        rendered: whether the request is a prompt, which has a part of each long result.
    """
    if capacity is None or len(ask.messages) < 2:
        return ()
    ledger = scan(ask.messages, counter, ask.provider)
    costs: list[int] = ledger.per_message.tolist()
    if rendered and sum(costs) > capacity:
        for at, saved in _saved(ask, counter):
            costs[at] = max(costs[at] - saved, 0)
    if sum(costs) <= capacity:
        return ()
    bounds = _bounds(costs, ledger.safe.nonzero()[0].tolist(), capacity)
    if len(bounds) < 3:
        return ()
    facts = ask.facts and Facts(language=ask.facts.language, chat=ask.facts.chat)  # what is added is for the whole
    return tuple(
        replace(
            ask, messages=ask.messages[start:stop], previous=ask.previous if start == 0 else None, after=(), facts=facts
        )
        for start, stop in pairwise(bounds)
    )


def _saved(ask: Ask, counter: Counter) -> Iterator[tuple[int, int]]:
    """Yield the position of each message with a result that a prompt cuts, and the tokens that it saves."""
    for whole, cut in zip(_core.entries(ask.messages), _core.entries(ask.messages, RESULT), strict=True):
        if whole != cut:
            yield whole[0], counter.count(whole[3]) - counter.count(cut[3])


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
