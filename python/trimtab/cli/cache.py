"""What ``show --cache`` prints: the calls whose cache reads fell, with the cause and the price."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .._repr import one_line
from ..counting.counter import Counter
from ..planning.rebuilds import CacheRebuild, rebuilds
from .columns import clip, width
from .input import load, model_of
from .terminal import Styled

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

HEADS = ("messages", "calls", "rebuilt", "tokens again", "cost")
"""Columns of the table of several files."""


def row(options: argparse.Namespace) -> tuple[dict[str, Any], list[str | int], int]:
    """Return the report on one of several files, its row, and 0."""
    report, _ = shown(options)
    cost = "" if report["cost"] is None else f"${report['cost']:.2f}"
    return report, [report["messages"], report["calls"], len(report["rebuilt"]), report["again"], cost], 0


def shown(options: argparse.Namespace) -> tuple[dict[str, Any], Iterator[str]]:
    """Return the report on a file, and its lines."""
    options.whole = True  # a compaction is one of the causes
    transcript = load(options)
    counter = Counter.for_model(model_of(options, transcript))
    found = rebuilds(transcript, counter.per_message(transcript.messages, provider=transcript.provider).tolist())
    costs = [each.cost for each in found if each.cost is not None]
    usages = [call.usage for call in transcript.calls]
    report: dict[str, Any] = {
        "messages": len(transcript.messages),
        "calls": len(usages),
        "cache_read": sum(usage.cache_read for usage in usages),
        "cache_write": sum(usage.cache_write for usage in usages),
        "again": sum(each.again for each in found),
        "cost": sum(costs) if len(costs) == len(found) else None,
        "rebuilt": [asdict(each) for each in found],
    }
    return report, _lines(report, found)


def _lines(report: dict[str, Any], found: list[CacheRebuild]) -> Iterator[str]:
    calls = report["calls"]
    if not calls:
        yield "cache: the file has no billed call"
        return
    read, write = report["cache_read"], report["cache_write"]
    yield Styled(f"cache: {read:,} tokens read and {write:,} written in {calls:,} calls", "bold")
    if not found:
        yield "  no call found less of its prompt than the call before had left there"
        return
    many = f"{len(found):,} call{'s' * (len(found) != 1)}"
    yield f"  {many} found less than was there: {report['again']:,} tokens again{_money(report['cost'])}"
    yield ""
    for each in found:
        when = f"  {datetime.fromtimestamp(each.at, UTC):%Y-%m-%d %H:%M}" if each.at is not None else ""
        numbers = f"read {each.read:,} of {each.cached:,}, {each.again:,} again{_money(each.cost)}"
        yield f"{f'#{each.message}':>7}{when}  {numbers}"
        yield f"         {clip(one_line(each.why), width() - 9)}"


def _money(cost: float | None) -> str:
    return "" if cost is None else f", ${cost:.2f}" if cost >= 1 else f", ${cost:.4f}"
