"""When pruning pays: what the removed tokens would cost in each call, against writing the rest to the cache anew."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .._repr import short

if TYPE_CHECKING:
    from ..models.model import Price


@dataclass(frozen=True, slots=True)
class Rates:
    """The cost of a prompt's tokens from call to call, as far as it is known.

    Attributes:
        dollars: US dollars per million input tokens; NaN if unknown.
        read: price of a token that is read from the cache, relative to an input token; NaN if unknown.
        write: price of a token that is written to the cache, relative to an input token; NaN if unknown.
        cold: probability that the cache is cold when the next call arrives; None if no usage tells.
        growth: tokens by which the prompt grows a call; None if no usage tells.
    """

    dollars: float
    read: float
    write: float
    cold: float | None = None
    growth: float | None = None

    @classmethod
    def of(cls, price: Price, cold: float | None, growth: float | None, *, hourly: bool = False) -> Rates:
        """Return the rates by a model's prices; ``hourly`` for a cache that is kept for an hour, which costs more."""
        unit = price.input or math.nan
        write = max(price.cache_write / unit, HOURLY) if hourly else price.cache_write / unit
        return cls(unit, price.cache_read / unit, write, cold, growth)

    @property
    def known(self) -> bool:
        """Whether the prices are known."""
        return not math.isnan(self.read + self.write + self.dollars)

    @property
    def kept(self) -> float:
        """Mean price of a token that stays, a call, relative to an input token; of a warm cache if nothing tells."""
        cold = self.cold or 0.0
        return self.read * (1 - cold) + self.write * cold

    @property
    def rewritten(self) -> float:
        """Mean price of a token behind an edit, beyond that of a token that is not: 0 if the cache is cold anyway."""
        return max(self.write - self.read, 0.0) * (1 - (self.cold or 0.0))

    def least(self, rewrite: int) -> int:
        """Return the least-cost number of tokens to prune at once; 0 if prices, growth or the cache are unknown.

        Tokens that stay until ``B`` of them have gathered cost ``kept * B / 2`` a call, and the edit costs
        ``rewritten * rewrite`` every ``B / growth`` calls. The sum is least where ``B`` is the square root of
        ``2 * rewritten * rewrite * growth / kept``.

        Args:
            rewrite: tokens of the prompt behind the edit that stay.
        """
        if not self.known or self.cold is None or not self.growth or not self.kept:
            return 0
        return math.ceil(math.sqrt(2 * self.rewritten * rewrite * self.growth / self.kept))


HOURLY = 2.0
"""Price of a token that Anthropic's cache keeps for an hour, relative to an input token."""


@dataclass(frozen=True, slots=True)
class Savings:
    """The money of a plan: what its edits save in each later call, and what writing the cache anew costs once.

    Attributes:
        gain: tokens that leave the prompt.
        rewrite: tokens that stay behind the first edit: they are written to the cache anew, unless it is cold.
        least: least-cost number of tokens to prune at once; 0 if unknown.
        cold: probability that the cache is cold when the next call arrives; None if no usage tells.
        growth: tokens by which the prompt grows a call; None if no usage tells.
        a_call: US dollars that the removed tokens would cost in each later call; None if the prices are unknown.
        once: US dollars of writing the rest anew; None if the prices are unknown.
        calls: number of calls after which the edits have paid; None if the prices are unknown.
    """

    __repr__ = short

    gain: int
    rewrite: int
    least: int = 0
    cold: float | None = None
    growth: float | None = None
    a_call: float | None = None
    once: float | None = None
    calls: int | None = None

    @classmethod
    def of(cls, gain: int, rewrite: int, rates: Rates) -> Savings:
        """Return the savings at these rates; where no usage tells of the cache, at those of a warm one."""
        least = rates.least(rewrite)
        if not rates.known or gain <= 0:
            return cls(gain, rewrite, least, rates.cold, rates.growth)
        a_call, once = gain * rates.kept, rewrite * rates.rewritten
        unit = rates.dollars / 1_000_000
        calls = math.ceil(once / a_call) if a_call else None
        return cls(gain, rewrite, least, rates.cold, rates.growth, a_call * unit, once * unit, calls)

    def made(self, gain: int) -> Savings:
        """Return the savings of a compaction that took out ``gain`` tokens, where its plan could name a bound alone."""
        rewrite = max(self.rewrite - (gain - self.gain), 0)
        done = replace(self, gain=gain, rewrite=rewrite)
        if self.a_call is None or self.once is None or gain <= 0:
            return done
        behind = rewrite / self.rewrite if self.rewrite else 0.0
        a_call, once = self.a_call * gain / self.gain, self.once * behind
        least, calls = math.ceil(self.least * behind**0.5), math.ceil(once / a_call) if a_call else None
        return replace(done, least=least, a_call=a_call, once=once, calls=calls)

    def __str__(self) -> str:
        """Return the savings as two lines for people."""
        if self.a_call is None or self.once is None:
            money = "the model's prices are unknown: whether it pays is unknown too"
        else:
            after = f", paid back after {self.calls:,} call{'s' * (self.calls != 1)}" if self.calls is not None else ""
            money = f"saves ${self.a_call:.4f} a call, the cache's rewrite costs ${self.once:.4f}{after}"
        cache = "no usage tells whether it is warm: taken as warm" if self.cold is None else f"cold {self.cold:.0%}"
        tokens = f"{self.gain:,} tokens leave, {self.rewrite:,} behind them are written to the cache anew ({cache})"
        least = f"; pays from {self.least:,} tokens on" if self.least else ""
        return f"{money}\n  {tokens}{least}"
