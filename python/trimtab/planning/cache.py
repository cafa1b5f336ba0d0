"""The provider's prompt cache, as the usage of a conversation's calls tells of it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..messages.usage import Usage

KEPT = 16
"""Calls whose reading is kept: a cache that begins to be lost shows within as many."""

ENOUGH = 2
"""Readings that prove something: behind a load balancer, one call may miss a cache that the next one finds."""

SMALLEST = 4_096
"""Tokens of a prompt that every provider's cache takes; a smaller one may be cached by none."""


@dataclass(slots=True)
class CacheReadings:
    """Readings of the prompt cache: whether a call found the prompt of the call before it.

    Attributes:
        hits: whether each of the last calls found it.
        growth: tokens by which each of the last prompts was longer than the one before it.
        used: time of the last call in seconds; None before the first.
        is_cached: whether any call has read or written a cache.
        hourly: whether the last write is kept for an hour.
    """

    hits: deque[bool] = field(default_factory=lambda: deque(maxlen=KEPT))
    growth: deque[int] = field(default_factory=lambda: deque(maxlen=KEPT))
    used: float | None = None
    is_cached: bool = False
    hourly: bool = False

    def record(self, charged: Usage, before: int | None, now: float | None, ttl: int | None) -> None:
        """Learn from a billed call.

        Args:
            charged: its usage.
            before: billed tokens of the prompt that it continues; None if it continues none.
            now: time of the call in seconds; None for a usage of the past, which tells of no cache.
            ttl: seconds for which the cache is kept; None if unknown.
        """
        if before is not None:
            self.growth.append(max(charged.prompt - before, 0))
        if now is None:
            return
        expired = self._expired(now, ttl)
        self.is_cached |= bool(charged.cache_read or charged.cache_write)
        self.learn_life(charged)
        if before is not None and before >= SMALLEST and self.is_cached and not expired:
            self.hits.append(2 * charged.cache_read >= before)
        self.used = now

    def learn_life(self, charged: Usage) -> None:
        """Learn for how long the agent has its prompts kept, which a call of the past tells as well."""
        if charged.cache_write:
            self.hourly = 2 * charged.hourly > charged.cache_write

    def cold(self, now: float, ttl: int | None) -> float | None:
        """Return the probability that the cache is cold when a call arrives now; None if too little is known.

        Args:
            now: time in seconds.
            ttl: seconds for which the cache is kept; None if unknown.
        """
        if self.is_cached and self._expired(now, ttl):
            return 1.0
        if len(self.hits) < ENOUGH:
            return None
        misses = self.hits.count(False)
        return misses / len(self.hits) if misses >= ENOUGH else 0.0

    @property
    def mean_growth(self) -> float | None:
        """Tokens by which a prompt grows a call; None before the second call."""
        return sum(self.growth) / len(self.growth) if self.growth else None

    def _expired(self, now: float, ttl: int | None) -> bool:
        """Return whether the cache of the last call is gone: each use keeps it for another ``ttl`` seconds."""
        kept = max(ttl or 0, 3_600) if self.hourly else ttl
        return self.used is not None and kept is not None and now - self.used > kept

    def state(self) -> dict[str, Any]:
        """Return the readings as JSON values."""
        return {
            "hits": [*self.hits],
            "growth": [*self.growth],
            "used": self.used,
            "is_cached": self.is_cached,
            "hourly": self.hourly,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from earlier readings."""
        self.hits.extend(state["hits"])
        self.growth.extend(state["growth"])
        self.used, self.is_cached, self.hourly = state["used"], state["is_cached"], state["hourly"]
