"""Panels on a session as it is: each answers one question, and has a table behind its chart."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .._repr import printable
from ..ledger.contents import ARGUMENT, WORDS
from . import charts
from .figures import SPLIT, errors
from .html import (
    Markup,
    about,
    bar,
    data,
    folded,
    legend,
    panel,
    said,
    scroll,
    span,
    swatch,
    table,
    tag,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .figures import Course, FigureSizes, Report, Share


MOST_TEXT = 100_000
"""Bytes of the bars' texts above which they are shortened: the page stays small in any language."""

LATEST = 5
"""Compactions that stand in a sentence."""

PALETTE = 10
"""Parts of the context that have a colour of their own."""

MISSING, SUMS = "not in the file", ("everything else", "system text and tools", "message overhead")
"""Names of the parts that have stripes, and grey."""

ROWS = 100
"""Rows of a table behind a chart, about."""


def fits(report: Report) -> Markup:
    """Return the panel on the next prompt and its window."""
    fields = report.fields
    window, tokens, trigger = fields["window"], fields["next_prompt"], fields["trigger"]
    state = "bad" if fields["over"] else "good"
    bar = charts.share_bar([("over" if fields["over"] else "p0", min(tokens / window, 1))], trigger / window)
    drawn = legend([("over" if fields["over"] else "p0", f"next prompt {tokens:,}"), ("free", f"window {window:,}")])
    return panel(
        "Am I fine?",
        tag("p", "No. " if fields["over"] else "Yes. ", report.verdict, class_=f"verdict {state}"),
        *(tag("p", note, class_="dim") for note in report.notes),
        tag("figure", Markup(bar), tag("figcaption", f"The dashed line is the trigger, {trigger:,} tokens."), drawn),
    )


def cuts(report: Report) -> Markup:
    """Return the panel on the prompt over the session, with its compactions."""
    fields, found = report.fields, report.course
    lines = [("trigger", fields["trigger"]), ("window", fields["window"])]
    chart = charts.growth(found, lines)
    high = int(found.tops.max(initial=0))
    said = [f"The largest prompt had {high:,} tokens by our count."]
    if missing := fields["not_in_file"]:
        said.append(f"Every prompt is taken to have the {missing:,} tokens that are not in the file.")
    times = len(found.cuts)
    if times:
        last = "; ".join(f"{before:,} -> {after:,} tokens" for _, before, after in found.cuts[-LATEST:])
        said.append(f"Compacted {times:,} time{'s' * (times != 1)}: {'… ' * (times > LATEST)}{last}.")
    else:
        said.append("This list has no compaction.")
    drawn = [("edge", "our count")]
    drawn += [(name, f"{name} {tokens:,}") for name, tokens in lines if tokens <= 4 * max(high, 1)]
    drawn += [("dots", "billed by the provider")] if found.billed else []
    drawn += [("cut", "compaction")] if times else []
    return panel(
        "When was it cut, and how hard?",
        tag("p", " ".join(said)),
        tag("figure", tag("div", Markup(chart), **scroll("prompt over the session")), legend(drawn)),
        folded("as a table", *_behind(found)),
    )


def _behind(found: Course) -> Iterator[Markup]:
    """Yield the tables behind the chart of the prompt."""
    firsts, bars = found.firsts.tolist(), len(found.tops)
    starts = [*range(0, bars, max(bars // 50, 1)), bars]
    rows = (
        (span(firsts[start], firsts[stop] - 1, found.earlier), int(found.tops[start:stop].max()))
        for start, stop in pairwise(starts)
        if stop > start
    )
    yield table(("messages", "largest prompt, our count"), rows, "prompt by messages")
    if found.cuts:
        cuts = ((span(cut, cut, found.earlier), before, after) for cut, before, after in found.cuts)
        yield table(("compaction before", "tokens before", "after"), cuts, "compactions")
    if found.billed:
        billed = (
            (span(message, message, found.earlier), tokens, ours, ours - tokens)
            for message, tokens, ours in found.billed[:: len(found.billed) // 50 + 1]
        )
        yield table(("call before", "billed", "our count", "difference"), billed, "billed prompts")


def messages(report: Report) -> Markup:
    """Return the panel on the tokens of each message."""
    zone = report.plans[0].plan.zone() if report.plans else None
    return panel(
        "How large is each message?",
        *sized(report, report.sizes, (zone.start, zone.stop) if zone else None),
    )


def sized(report: Report, sizes: FigureSizes, zone: tuple[int, int] | None) -> Iterator[Markup]:
    """Yield the chart of messages, what it shows, and the table behind it."""
    bars, messages = sizes.split.shape[1], int(sizes.firsts[-1])
    a_bar = f"A bar is a message{'' if bars == messages else f' or several, {messages / bars:.1f} on average'}"
    yield tag("p", f"{a_bar}; heights are square roots, so that one large result does not flatten all others.")
    chart = charts.columns(sizes.split, sizes.firsts, zone, "tokens of each message")
    parts = colours(sizes)
    if zone:
        parts += [("zone", "would be replaced"), ("split", f"the split, before #{zone[1]:,}")]
    how = "Point at a bar, click it, or choose it with the arrow keys."
    detail = tag("div", tag("p", how, class_="dim"), class_="detail", aria_live="polite")
    figure = (tag("div", Markup(chart), class_="scroll"), legend(parts), detail)
    yield tag("figure", *figure, _data(report, sizes))
    yield listed(sizes)


def listed(sizes: FigureSizes) -> Markup:
    """Return the table behind the chart of messages."""
    firsts, bars = sizes.firsts.tolist(), sizes.split.shape[1]
    starts = [*range(0, bars, max(bars // ROWS, 1)), bars]
    rows = (
        (
            span(firsts[start], firsts[stop] - 1),
            *(int(part) or None for part in sizes.split[:, start:stop].sum(axis=1)),
        )
        for start, stop in pairwise(starts)
    )
    return folded("as a table", table(("messages", *SPLIT), rows, "tokens of each message"))


def _data(report: Report, sizes: FigureSizes) -> Markup:
    """Return what the script shows: the tools, and the bars; with shorter texts if they would take too much room."""
    for most in (WORDS, WORDS // 2, WORDS // 4):
        about = [
            [
                *map(
                    printable,
                    (block.kind, *said(report, block.argument, block.words, most)) if block else ("empty", "", ""),
                )
            ]
            for block in sizes.blocks
        ]
        if len(data(about).encode()) <= MOST_TEXT:
            break
    firsts = sizes.firsts.tolist()
    bars = [
        (start, stop - start, *texts, listed)
        for (start, stop), texts, listed in zip(pairwise(firsts), about, sizes.listed, strict=True)
    ]
    return data([[printable(tool) for tool in sizes.tools], bars])


def fills(report: Report) -> Markup:
    """Return the panel on what fills the next prompt."""
    top = max(report.parts, key=lambda part: part.tokens, default=None)
    said = f"The largest part: {top.name}, {top.percent:.1f} % of the next prompt." if top else "Nothing: no messages."
    return panel("What fills the context?", tag("p", said), *filled(report.parts))


def filled(parts: Sequence[Share]) -> Iterator[Markup]:
    """Yield parts as one bar, and as a table."""
    most = max((part.tokens for part in parts), default=1)
    names = [*_palette(parts)]
    yield Markup(charts.share_bar([(name, part.percent / 100) for name, part in zip(names, parts, strict=True)]))
    rows = [
        (tag("span", swatch(name), part.name), part.tokens, f"{part.percent:.1f} %", part.number or None,
         bar(part.tokens / most, name))
        for name, part in zip(names, parts, strict=True)
    ]  # fmt: skip
    yield table(("part", "tokens", "share", "calls or blocks", ""), rows, "parts")


def _palette(parts: Sequence[Share]) -> Iterator[str]:
    """Yield the class of each part: a colour, grey for the sums of smaller ones, and stripes for what no file has."""
    for place, part in enumerate(parts):
        if part.name == MISSING:
            yield "gap"
        elif place >= PALETTE or part.name in SUMS:
            yield "p5"
        else:
            yield f"q{place}"


def largest(report: Report) -> Markup:
    """Return the panel on the largest tool results, and on what a limit would save."""
    total = max(report.fields["next_prompt"], 1)
    most = max((block.tokens for block in report.largest), default=1)
    rows = [
        (f"#{block.message:,}", block.tool, block.tokens, about(report, block.argument, block.words),
         bar(block.tokens / most))
        for block in report.largest
    ]  # fmt: skip
    if not rows:
        return panel("Which tool outputs are the largest?", tag("p", "None: no tool was called."))
    caps = [(f"{cap:,} tokens", saved, f"{100 * saved / total:.1f} %") for cap, saved in report.caps]
    again = [
        (
            f"{each.tool} {report.text(each.argument, ARGUMENT)} {report.text(each.part, WORDS)}".rstrip(),
            len(each.messages),
            each.tokens,
            f"#{each.newest:,}",
        )
        for each in report.repeats[:10]
    ]
    more: list[object] = []
    if again:
        tokens, files = sum(each.tokens for each in report.repeats), len({each.argument for each in report.repeats})
        more = [
            tag("p", f"Read again later: {tokens:,} tokens in old results of {files:,} files."),
            table(("file", "old results", "tokens", "newest in"), again, "files that were read again"),
        ]
    return panel(
        "Which tool outputs are the largest, and what would a limit save?",
        table(("message", "tool", "tokens", "what", ""), rows, "largest tool outputs"),
        tag("p", "If every result were cut at a limit:"),
        table(("limit", "tokens saved", "of the next prompt"), caps, "what a limit would save"),
        *more,
    )


def counted(report: Report) -> Markup:
    """Return the panel on how tokens were counted."""
    rows = ((name, str(value)) for name, value in _flat(report.fields))
    return panel(
        "How was it counted, and how wrong may it be?",
        tag("p", report.counted_by),
        *(tag("p", text) for text in _doubt(report)),
        folded("the numbers of trimtab count --json", table(("field", "value"), rows, "count --json")),
    )


def _doubt(report: Report) -> Iterator[str]:
    """Yield how far our count is from what the provider billed."""
    missing, last = report.fields["not_in_file"], report.fields["last_billed"]
    if not last:
        yield "The file records no billed call: what the file does not hold, such as tools, is not counted."
        return
    part = f"{missing:,} tokens ({100 * missing / max(report.fields['next_prompt'], 1):.1f} %)"
    yield f"The last recorded call was billed {last:,} tokens; {part} of the next prompt are not in the file."
    found = errors(report.course.billed)
    if len(found):
        usual, most = int(np.median(np.abs(found))), int(found[np.abs(found).argmax()])
        yield (
            f"Between two billed calls, our count of what came differs from the bill by {usual:,} tokens in the median"
            f" of {len(found):,}, by {most:+,} at most: the agent's reminders are often billed and not logged."
        )


def _flat(fields: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yield names and values of nested fields."""
    if isinstance(fields, dict) and fields:
        for key, value in fields.items():
            yield from _flat(value, f"{name}.{key}" if name else str(key))
    else:
        yield name, fields


def colours(sizes: FigureSizes) -> list[tuple[str, str]]:
    """Return class and name of the parts that any message has."""
    return [(f"p{number}", name) for number, name in enumerate(SPLIT) if sizes.split[number].any()]
