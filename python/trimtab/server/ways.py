"""What a compaction costs in each way: here offline, here by a model, and on the provider's server.

Each way is repeated whenever the prompt has grown to the trigger again. Its cost is that of one such cycle, a call:

    (once + rewrite + calls * kept * (after + trigger) / 2) / calls,    calls = (trigger - after) / growth

``once`` is what the pass itself bills, ``rewrite`` what writing the rest to the cache anew costs, ``kept`` the price of
a token that stays, a call, as in ``planning.savings``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from .._repr import short
from ..models.model import Model
from .translate import Work, asked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..planning.savings import Rates
    from .call import Way

GROWTH = 2_000
"""Tokens by which a prompt is taken to grow a call, where no usage tells."""

OFFLINE, MODEL, CALL, ON_DEMAND = "here, offline", "here, by a model", "on the server, in the call", "on demand"


@dataclass(frozen=True, slots=True)
class WayCost:
    """The cost of one way to compact.

    Attributes:
        name: ``here, offline``, ``here, by a model``, ``on the server, in the call`` or ``on demand``.
        way: how the server is asked, as in ``ServerCall``; empty for a way here.
        author: the model that writes the summary; empty without one.
        after: tokens of the prompt after it; a summary is taken at the policy's limit, here and on the server.
        once: US dollars of the pass that makes the summary; NaN if a price is unknown.
        rewrite: US dollars of writing what stays to the provider's cache anew.
        a_call: US dollars a call over a whole cycle, as above; NaN if a price is unknown.
        calls: calls until the next compaction.
        saved: US dollars that the removed tokens would cost until then; NaN if a price is unknown.
        why: why this way is none; empty if it is one.
    """

    __repr__ = short

    name: str
    way: Way | Literal[""] = ""
    author: str = ""
    after: int = 0
    once: float = math.nan
    rewrite: float = math.nan
    a_call: float = math.nan
    calls: float = math.nan
    saved: float = math.nan
    why: str = ""

    @property
    def pays(self) -> bool | None:
        """Whether what leaves is worth more until the next compaction than this one costs; None if unknown."""
        if self.why or math.isnan(self.a_call):
            return None
        return self.saved > self.once + self.rewrite

    def __str__(self) -> str:
        """Return the cost on one line."""
        if self.why:
            return f"{self.name:26} no: {self.why}"
        if math.isnan(self.a_call):
            return f"{self.name:26} {self.after:>9,} tokens; the model's prices are unknown"
        money = f"${self.once:.4f} once, ${self.rewrite:.4f} for the cache, ${self.a_call:.4f} a call"
        return f"{self.name:26} {self.after:>9,} tokens; {money}{f' ({self.author})' if self.author else ''}"


@dataclass(frozen=True, slots=True)
class Market:
    """What the ways are compared by.

    Attributes:
        model_id: the id of the session's model.
        rates: the cost of a prompt's tokens from call to call.
        author: the model that would write a summary here; its price is the way's.
        cached: tokens of the prompt in the provider's cache; 0 if unknown.
    """

    model_id: str
    rates: Rates
    author: str
    cached: int = 0

    def of(self, way: WayCost, work: Work, after: int, once: float, written: int) -> WayCost:
        """Return the cost of a way that leaves ``after`` tokens, of which ``written`` go to the cache anew."""
        rates, unit = self.rates, self.rates.dollars / 1_000_000
        rewrite = written * rates.rewritten * unit
        calls = max((work.trigger - after) / (rates.growth or GROWTH), 1.0)
        a_call = (once + rewrite) / calls + rates.kept * unit * (after + max(work.trigger, after)) / 2
        saved = max(work.prompt - after, 0) * rates.kept * unit * calls
        return replace(way, after=after, once=once, rewrite=rewrite, a_call=a_call, calls=calls, saved=saved)


def ways(in_call: Work, on_demand: Work, market: Market) -> tuple[WayCost, ...]:
    """Return the cost of each way to carry out a plan; those that are none say why.

    Args:
        in_call: the plan, and what it asks of the server in the model's own call.
        on_demand: the same, in a request of its own.
        market: prices and rates.
    """
    return tuple(_each(in_call, on_demand, market))


def _each(in_call: Work, on_demand: Work, market: Market) -> Iterator[WayCost]:
    plan, zone = in_call.plan, in_call.plan.zone()
    beside = in_call.prompt - in_call.costs.ledger.total
    after, rewrite = plan.tokens_after + beside, plan.savings.rewrite if plan.savings else 0
    summary = getattr(zone, "max_tokens", 0)
    yield market.of(WayCost(OFFLINE), in_call, after, 0.0, rewrite + summary)
    if not summary:
        yield WayCost(MODEL, why="the plan has no summary")
    else:
        read = int(in_call.costs.per_message[zone.start : zone.stop].sum()) if zone else 0
        once = Model.named(market.author).price.of(read, output=summary)
        yield market.of(WayCost(MODEL, author=market.author), in_call, after, once, rewrite + summary)
    yield _on_server(WayCost(CALL, "call"), in_call, market, summary, rewrite)
    yield _on_server(WayCost(ON_DEMAND, "pass"), on_demand, market, summary, rewrite)


def _on_server(way: WayCost, work: Work, market: Market, summary: int, rewrite: int) -> WayCost:
    """Return the cost of a way on the server: its pass is billed at the session's own model."""
    found = asked(work)
    if isinstance(found, str):
        return replace(way, why=found)
    call = found[0]
    after = work.prompt - call.clears
    if not summary:
        return market.of(way, work, after, 0.0, rewrite)
    read = int(work.costs.ledger.per_message[: call.cut].sum()) + work.fixed if call.is_pass else work.prompt
    held = min(market.cached, read)
    once = Model.named(market.model_id).price.of(read - held, held, summary)
    return market.of(replace(way, author=market.model_id), work, after, once, after - work.fixed)


def cheapest(found: Iterable[WayCost]) -> WayCost | None:
    """Return the way that costs least a call; None where the prices are unknown."""
    known = [way for way in found if not way.why and not math.isnan(way.a_call)]
    return min(known, key=lambda way: way.a_call, default=None)
