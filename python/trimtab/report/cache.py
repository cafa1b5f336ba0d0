"""The panel on the calls that rebuilt the provider's cache."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..planning.rebuilds import PREFIX
from .html import Markup, table, tag
from .parts import panel, span

if TYPE_CHECKING:
    from ..planning.rebuilds import CacheRebuild
    from .figures import Report

MOST = 50
"""Rows, those with the most tokens."""

QUESTION = "Why was the cache rebuilt?"


def rebuilt(report: Report) -> Markup:
    """Return the panel on the calls that found less of their prompt in the cache than was there."""
    found = report.rebuilt
    if not found:
        return panel(QUESTION, tag("p", "No billed call of the file found less than the call before had left there."))
    costs = [each.cost for each in found if each.cost is not None]
    money = f", ${sum(costs):,.2f}" if len(costs) == len(found) else ""
    times = f"{len(found):,} call{'s' * (len(found) != 1)}"
    said = f"{times} found less than was there: {sum(each.again for each in found):,} tokens were paid again{money}."
    largest = sorted(sorted(found, key=lambda each: -each.again)[:MOST], key=lambda each: each.message)
    rest = f" The {MOST} with the most tokens are listed." * (len(found) > MOST)
    heads = ("message", "time (UTC)", "read", "of", "tokens again", "US dollars", "why")
    return panel(
        QUESTION, tag("p", said + rest), table(heads, (_row(each, report) for each in largest), "rebuilt caches")
    )


def _row(each: CacheRebuild, report: Report) -> tuple[str | int | None, ...]:
    earlier = report.course.earlier
    when = f"{datetime.fromtimestamp(each.at, UTC):%Y-%m-%d %H:%M}" if each.at is not None else None
    cost = None if each.cost is None else f"{each.cost:.4f}"
    place = each.place
    why = each.why if place is None else PREFIX.format(span(place, place, earlier))
    return span(each.message, each.message, earlier), when, each.read, each.cached, each.again, cost, why
