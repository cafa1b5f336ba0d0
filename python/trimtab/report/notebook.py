"""What a notebook shows of a plan, a compaction and a transcript: panels of the report, small and without a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..counting.counter import Counter
from ..ledger.contents import Contents
from ..messages.types import Transcript
from ..planning.plan import Plan
from . import charts, panels, plans
from .figures import Share, sizes
from .html import Markup, folded, legend, panel, tag
from .page import STYLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..audit.kept import Kept
    from ..compaction.result import Compaction

UNNAMED = "o200k_base"
"""The vocabulary that counts a transcript whose model nobody names."""

TOP = 10
"""Tools that have a row."""


def small(value: Plan | Transcript | Compaction[Any]) -> str:
    """Return HTML for a notebook; nothing in it is loaded or run."""
    if isinstance(value, Plan):
        inside = _plan(value)
    elif isinstance(value, Transcript):
        inside = _transcript(value)
    else:
        inside = _compaction(value)
    return tag("div", Markup(f"<style>{STYLE}</style>"), *inside, class_="trimtab small")


def _plan(plan: Plan) -> Iterator[Markup]:
    yield panel(
        "What would a compaction take?",
        _shrinks(plan.tokens_before, plan.tokens_after, "at most " * bool(plan.edits)),
        tag("p", plan.reason),
        folded("each edit", tag("pre", str(plan))),
    )
    if plan.savings:
        yield panel("When has it paid?", *plans.paid(plan.savings))


def _compaction(done: Compaction[Any]) -> Iterator[Markup]:
    by = f", summary by {done.summarizer}" if done.summarizer else ""
    where = f"; ref {done.ref} restores the originals" if done.ref else ""
    failed = [tag("p", f"The summarizer failed: {done.failed}", class_="bad")] if done.failed else []
    yield panel(
        "What was compacted?",
        _shrinks(done.tokens_before, done.tokens_after),
        tag(
            "p",
            f"{done.plan.messages:,} -> {len(done.messages):,} messages, {done.strategy or done.outcome}{by}{where}",
        ),
        tag("p", done.reason),
        *_kept(done.kept),
        *failed,
        folded("each edit", tag("pre", str(done.plan))),
        *([folded("the summary that the model reads", tag("pre", done.summary))] if done.summary else []),
    )


def _kept(kept: Kept) -> Iterator[Markup]:
    """Yield how much is kept of what the user said and what was done, and what is gone."""
    if kept.there or kept.lost:
        yield tag("p", f"Kept: {kept}.")
    if kept.lost:
        gone = (f"{item.kind.removesuffix('s')}, message {item.message}: {item.text}" for item in kept.lost)
        yield folded("what is gone", tag("pre", "\n".join(gone)))


def _transcript(found: Transcript) -> Iterator[Markup]:
    counter = Counter.for_model(found.model) if found.model else Counter(UNNAMED)
    contents = Contents.of(found.messages, counter, found.provider)
    total = contents.ledger.total
    parts = [Share(each.name, each.tokens, 100 * each.tokens / total, each.number) for each in contents.by("tool", TOP)]
    named = found.model or f"no model is named: counted by {UNNAMED}"
    yield panel(
        "What fills the messages?",
        tag("p", f"{len(found.messages):,} messages, {found.format}, {named}: {total:,} tokens"),
        *panels.filled(parts),
    )
    made = sizes(contents)
    chart = charts.columns(made.split, made.firsts, None)
    colours = legend(panels.colours(made))
    yield panel("How large is each message?", tag("figure", Markup(chart), colours), panels.listed(made))


def _shrinks(before: int, after: int, most: str = "") -> Markup:
    bar = charts.share_bar([("p0", after / max(before, 1))])
    return tag("figure", Markup(bar), tag("figcaption", f"{before:,} -> {most}{after:,} tokens of messages"))
