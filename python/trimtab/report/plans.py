"""Panels on compactions: what policies would take, what it costs and saves, rebuilt caches, what the archive has."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from ..planning.rebuilds import PREFIX
from . import charts
from .figures import edges, states
from .html import Markup, about, folded, legend, panel, scroll, sentence, span, table, tag

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ..planning.rebuilds import CacheRebuild
    from .figures import Planned, Report


MOST_PAST = 100
"""Compactions of the archive that have a row."""

SUMMARIES = 60_000
"""Characters of summaries on a page: an archive may have hundreds."""

SHOWN = 20
"""Edits of a plan that have a row."""

EDITS = {
    "summarize": "messages become a summary",
    "drop": "messages become a notice",
    "prune": "becomes a placeholder",
    "cut": "keeps its beginning",
    "truncate": "keeps its head and tail",
    "strip": "leaves",
    "mend": "is mended",
}
"""What happens to a block or to messages, by the name of the edit."""

BLOCKS = {
    "prune": ("block becomes a placeholder", "blocks become placeholders"),
    "cut": ("block keeps its beginning", "blocks keep their beginning"),
    "truncate": ("block keeps its head and tail", "blocks keep their head and tail"),
    "strip": ("block leaves", "blocks leave"),
    "mend": ("message is mended", "messages are mended"),
}
"""The same of one block, and of several."""


def plans(report: Report) -> Markup:
    """Return the panel on what compactions would do: each plan in a row and a strip, the first one in detail."""
    messages = int(report.sizes.firsts[-1])
    shown = [each for each in report.plans if each.changes]
    inside: list[object] = []
    if report.taken is not None:
        left, changed = (int((report.taken == state).sum()) for state in (2, 1))
        inside.append(_strip(report.taken, "This compaction", f"{left:,} messages left, {changed:,} were changed"))
        inside.append(
            tag("p", f"It took {left:,} of {messages:,} messages and changed {changed:,}. By today's settings:")
        )
    inside += compared(report.plans)
    if not shown:
        hint = "To see what would go for half of it: trimtab report with --target-share 0.5"
        inside.append(tag("p", hint, class_="dim"))
    inside += (_strip(_planned(each, messages), each.policy, _words(each)) for each in shown)
    if shown or report.taken is not None:
        inside.append(legend([("leaves", "leaves"), ("changes", "a part of it leaves"), ("free", "stays as it is")]))
    for each in shown:
        inside += _detailed(report, each)
    return panel("What would a compaction take?", *inside)


def compared(planned: Sequence[Planned]) -> Iterator[Markup]:
    """Yield the plans, a row each, and the reasons of those that do nothing."""
    rows = [
        (each.policy, each.plan.tokens_before, each.plan.tokens_after, each.plan.target, _words(each), each.plan.reason)
        for each in planned
    ]
    yield table(("policy", "tokens of messages", "after", "target", "what happens", "why"), rows, "plans")
    if len(planned) > 1:
        yield tag("p", "Each policy counts in its own way, as its document says.", class_="dim")


def _words(planned: Planned) -> str:
    return "; ".join(_edits(planned)) or "nothing"


def _planned(planned: Planned, messages: int) -> NDArray[np.int64]:
    """Return what a plan does to each message, as ``states`` does."""
    zone = planned.plan.zone()
    left = set(range(zone.start, zone.stop)) - set(zone.keep) if zone else ()
    changed = [change.message for change in planned.changes if change.edit not in ("summarize", "drop")]
    return states(messages, [*left], changed)


def _strip(found: NDArray[np.int64], caption: str, words: str) -> Markup:
    """Return what becomes of messages as a strip of at most 500 parts; most of a part's messages decide."""
    firsts = edges(len(found))
    leaving = np.add.reduceat(found == 2, firsts[:-1]) * 2 >= np.diff(firsts)
    touched = np.maximum.reduceat(found, firsts[:-1]) > 0
    names = np.where(leaving, "leaves", np.where(touched, "changes", "free")).tolist()
    parts = groupby(zip(names, np.diff(firsts).tolist(), strict=True), key=lambda part: part[0])
    runs = [(name, sum(number for _, number in run)) for name, run in parts]
    chart = tag("div", Markup(charts.strip(runs)), role="img", aria_label=words)
    return tag("figure", tag("figcaption", f"{caption}: the messages from #0 to #{len(found) - 1:,}"), chart)


def _edits(planned: Planned) -> Iterator[str]:
    """Yield a few words for each kind of edit."""
    for name, group in groupby(planned.changes, key=lambda change: change.edit):
        changes = [*group]
        if name in ("summarize", "drop"):
            yield f"{EDITS[name]}: #{changes[0].message:,} to #{changes[0].last:,}"
        else:
            yield f"{len(changes):,} {BLOCKS[name][len(changes) > 1]}"


def _detailed(report: Report, planned: Planned) -> Iterator[Markup]:
    """Yield the largest edits of a plan with their reasons."""
    if not planned.changes:
        return
    shown = sorted(planned.changes, key=lambda change: -change.freed)[:SHOWN]
    rows = (
        (span(change.message, change.last), change.tool or change.kind, change.tokens, change.after,
         about(report, change.argument, change.words), EDITS[change.edit], change.why)
        for change in shown
    )  # fmt: skip
    heads = ("message", "tool", "tokens", "after", "what", "what happens", "why")
    rest = len(planned.changes) - len(shown)
    which = f"the {len(shown):,} largest edits, of {len(planned.changes):,}," if rest else "each edit"
    title = f"{which} by {planned.policy}"
    yield folded(title, table(heads, rows, f"edits of {planned.policy}"))


def money(report: Report) -> Markup:
    """Return the panel on prices, the cache, and the call at which a compaction has paid."""
    inside: list[object] = []
    if report.cost:
        now, cached = report.cost["input"], report.cost["cache_read"]
        said = f"The next prompt costs ${now:.4f} as new input, ${cached:.4f} if the provider's cache has all of it."
        inside.append(tag("p", said))
    else:
        inside.append(tag("p", "The model's prices are unknown."))
    known = [(each.policy, each.plan.savings) for each in report.plans if each.plan.savings]
    if not known:
        inside.append(tag("p", "Nothing would leave: a compaction saves nothing now."))
    if len(known) > 1:
        sums = [
            (policy, *(f"${part:.4f}" if part is not None else None for part in (each.a_call, each.once)), each.calls)
            for policy, each in known
        ]
        heads = ("policy", "saved in each call", "cost of the cache's rewrite", "calls until it has paid")
        inside += [table(heads, sums, "what each policy saves"), tag("h3", known[0][0])]
    for _, savings in known[:1]:
        inside += paid(savings)
    return panel("What does it cost, and when has a compaction paid?", *inside)


def paid(savings: object) -> Iterator[Markup]:
    """Yield what a plan saves and costs, and a chart of both over the next calls."""
    yield from (tag("p", sentence(line)) for line in str(savings).splitlines())
    once, a_call, calls = (getattr(savings, name) for name in ("once", "a_call", "calls"))
    if once is None or not a_call or calls is None:
        return
    chart = charts.paying(once, a_call, calls)
    caption = f"US dollars saved after so many calls: it has paid after {calls:,} call{'s' * (calls != 1)}."
    yield tag("figure", tag("div", Markup(chart), **scroll("dollars saved by calls")), tag("figcaption", caption))
    rows = ((call, round(call * a_call - once, 4)) for call in sorted({0, 1, calls, 2 * calls, 10, 100}))
    yield folded("as a table", table(("calls", "US dollars saved"), rows, "dollars saved by calls"))


def history(report: Report) -> Markup:
    """Return the panel on the compactions in the archive."""
    question = "What was compacted, how, and what does the model read instead?"
    if not report.past:
        return panel(question, tag("p", "The archive has no compaction of this session."))
    heads = ("time", "ref", "strategy", "before", "after", "messages removed or changed", "summary by", "why")
    rows = (
        (each.when, each.ref, each.strategy, each.before, each.after, each.removed, report.text(each.by) or "none",
         report.text(each.reason))
        for each in report.past[-MOST_PAST:]
    )  # fmt: skip
    older = len(report.past) - MOST_PAST
    note = (
        [tag("p", f"Without {older:,} older ones: trimtab archive show has them.", class_="dim")] if older > 0 else []
    )
    summaries, left = [], SUMMARIES
    for each in reversed(report.past):
        if each.summary and left > 0:
            text = report.text(each.summary)
            more = f"\n… the whole: trimtab archive show {each.ref[:8]}" if len(text) > left else ""
            name = f"{each.ref[:8]}, {each.when}"
            summaries.append(folded(f"the summary that the model reads ({name})", tag("pre", text[:left], more)))
            left -= len(text)
    return panel(question, *note, table(heads, rows, "compactions in the archive"), *summaries)


MOST = 50
"""Rows, those with the most tokens."""

QUESTION = "Why was the cache rebuilt?"


def rebuilt(report: Report) -> Markup:
    """Return the panel on the calls that found less of their prompt in the cache than was there."""
    found = report.rebuilt
    if found is None:
        return panel(QUESTION, tag("p", "The file records no billed call."))
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
