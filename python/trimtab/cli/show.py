"""The verb show: what fills the next prompt of a session, and what a compaction would take from it."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from .._repr import one_line
from ..counting.counter import Counter
from ..models.model import Model
from ..planning.rebuilds import CacheRebuild, rebuilds
from .input import FileAnswer, load, model_of, run_files
from .options import DECIDING, READING, add_file, add_policy, given_options
from .preview import Previewed, preview
from .terminal import Styled, about, bar, cells, clip, percents, width

if TYPE_CHECKING:
    from ..ledger.contents import By, ContentBlock, Repeat
    from ..messages.types import Transcript

DESCRIPTION = "Show what fills the next prompt of a session: tools, files, turns, the largest results, repeated reads."

EXAMPLES = (
    "trimtab show session.jsonl",
    "trimtab show session.jsonl --by file --top 20",
    "trimtab show session.jsonl --cache",
    "trimtab show *.jsonl",
)

CELLS = 16
"""Characters of a bar."""

REST = "everything else"
"""Name of the part of all groups that have no row of their own."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_file(parser, several=True)
    parser.add_argument(
        "--by",
        choices=("tool", "file", "turn", "message"),
        default="tool",
        help="a row is one of; default: %(default)s",
    )
    parser.add_argument(
        "--top", type=int, default=10, metavar="N", help="rows and results to print; default: %(default)s"
    )
    parser.add_argument(
        "--cache", action="store_true", help="show instead which calls rebuilt the provider's cache, and why"
    )
    add_policy(parser)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the next prompt.

    Attributes:
        name: a group of blocks, ``system text and tools``, or ``not in the file``.
        tokens: its tokens.
        number: number of its calls, messages or blocks; 0 where none is known.
        first: the number of its first message; None where it is in no message.
        percent: its share of the next prompt, in percent.
    """

    name: str
    tokens: int
    number: int
    first: int | None
    percent: float


def run(options: argparse.Namespace) -> int:
    """Show the parts of the next prompt, the largest results, repeated reads and the proposed cut; files in a table."""
    if options.cache:
        return run_files(options, _rebuilt, ("messages", "calls", "rebuilt", "tokens again", "cost"))
    return run_files(options, _shown, ("messages", "next prompt", "window", "share", "largest part", "cut to"))


def _shown(options: argparse.Namespace) -> FileAnswer:
    """Return what fills the next prompt of a file."""
    transcript = load(options)
    found = preview(options, transcript)
    contents, top = found.contents, max(options.top, 0)
    parts, largest = parts_of(found, options.by, top), contents.largest(top)
    repeats, cost, plan = contents.repeats(), costs(found), found.plan
    cut = {name: getattr(plan, name) for name in ("tokens_before", "tokens_after", "target", "reason", "policy")}
    cut["next_prompt_after"] = found.after
    report: dict[str, Any] = {
        **found.next_prompt.fields(),
        "format": transcript.format,
        "provider": transcript.provider,
        "model": found.cm.model,
        "messages": len(transcript.messages),
        "cost": cost,
        "by": options.by,
        "parts": [asdict(part) for part in parts],
        "largest": [asdict(block) for block in largest],
        "repeats": [asdict(repeat) | {"cost": _cost_of(repeat.tokens, found)} for repeat in repeats],
        "plan": cut,
    }
    prompt = found.next_prompt
    most = max(parts, key=lambda part: part.tokens, default=None)
    row: list[str | int] = [
        len(transcript.messages),
        prompt.tokens,
        prompt.window,
        f"{100 * prompt.tokens / prompt.window:.1f} %",
        f"{most.name} {most.percent:.0f} %" if most else "",
        found.after if plan.tokens_after < plan.tokens_before else "",
    ]
    lines = chain(
        prompt.lines(),
        _cost(cost),
        [f"  {found.dearer}"] if cost and found.dearer else [],
        _filled(parts, transcript, options),
        _largest(largest),
        _repeated(repeats, top, found),
        _cut(found, options),
    )
    return FileAnswer(report, lines, row)


def costs(found: Previewed) -> dict[str, float] | None:
    """Return the US dollars that the next prompt costs, as new input and from the provider's cache; None if unknown."""
    return _cost_of(found.next_prompt.tokens, found)


def _cost_of(tokens: int, found: Previewed) -> dict[str, float] | None:
    """Return what so many tokens cost in a call, as new input and from the provider's cache; None if unknown."""
    return Model.named(found.cm.model).price.of_prompt(tokens)


def _cost(cost: dict[str, float] | None) -> Iterator[str]:
    if cost:
        yield f"  costs ${cost['input']:.4f} a call as new input, ${cost['cache_read']:.4f} from the provider's cache"


def parts_of(found: Previewed, by: By, top: int) -> list[Part]:
    """Return the parts of the next prompt, which add up to its tokens and to 100 percent."""
    prompt, groups = found.next_prompt, found.contents.by(by, top)
    rows: list[tuple[str, int, int, int | None]] = [(one.name, one.tokens, one.number, one.first) for one in groups]
    rows.append(("system text and tools", prompt.counted - found.contents.ledger.total, 0, None))
    rows.append(("not in the file", prompt.missing, 0, None))
    rows = [row for row in rows if row[1]]
    return [Part(*row, percent) for row, percent in zip(rows, percents([row[1] for row in rows]), strict=True)]


def _filled(parts: list[Part], transcript: Transcript, options: argparse.Namespace) -> Iterator[str]:
    in_order = options.by in ("turn", "message")
    largest = max((part.tokens for part in parts), default=1)
    yield ""
    yield Styled(f"what fills it, by {options.by}, {len(transcript.messages):,} messages", "bold")
    for part in parts:
        place = f"#{part.first} " if in_order and part.first is not None and part.name != REST else ""
        number = f" ({part.number:,})" if options.by != "message" and part.number else ""
        name = clip(f"{place}{part.name}", width() - CELLS - 24 - len(number))
        filled = bar(part.tokens / largest, CELLS)
        yield f"  {part.percent:>5.1f} % {part.tokens:>9,}  {filled}  {name}{number}"
    if not parts:
        yield "  nothing: there are no messages"


def _largest(blocks: list[ContentBlock]) -> Iterator[str]:
    if blocks:
        yield ""
        yield Styled("the largest tool results", "bold")
    for block in blocks:
        text = about(block.tool, block.argument, block.words, width() - 19)
        yield f"  {f'#{block.message}':>6} {block.tokens:>8,}  {text}"


def _repeated(repeats: list[Repeat], top: int, found: Previewed) -> Iterator[str]:
    if not repeats:
        return
    old, tokens = sum(len(repeat.messages) for repeat in repeats), sum(repeat.tokens for repeat in repeats)
    yield ""
    files = len({repeat.argument for repeat in repeats})
    head = f"read again later: {old:,} old result{'s' * (old != 1)} of {files:,} file{'s' * (files != 1)}"
    yield Styled(f"{head}, {tokens:,} tokens", "bold")
    yield from _cost(_cost_of(tokens, found))
    for repeat in repeats[:top]:
        places = ", ".join(f"#{message}" for message in repeat.messages[:4]) + ", …" * (len(repeat.messages) > 4)
        again = f"{places}, again in #{repeat.newest}"
        free = width() - 21 - len(again)
        part = f" ({clip(repeat.part, free - 16)})" if repeat.part else ""
        file = clip(f"{repeat.tool} {repeat.argument}", free - cells(part))
        yield f"  {f'{len(repeat.messages)} x':>6} {repeat.tokens:>8,}  {file}{part}  {again}"


def _cut(found: Previewed, options: argparse.Namespace) -> Iterator[str]:
    plan, file = found.plan, shlex.quote(options.file)
    given = given_options(options, *READING, *DECIDING)
    yield ""
    if plan.edits:
        freed = plan.tokens_before - plan.tokens_after
        yield f"proposed cut: {plan.tokens_before:,} -> {plan.tokens_after:,} tokens of messages, {freed:,} less"
        yield "  each edit with its reason:"
        yield f"  trimtab plan {file}{given}"
        return
    yield f"proposed cut: none, {plan.reason} ({plan.tokens_before:,} tokens of messages, target {plan.target:,})"
    if not (options.target_tokens or options.target_share):
        yield "  to see what would go for half of it:"
        yield f"  trimtab plan {file} --target-share 0.5{given}"


def _rebuilt(options: argparse.Namespace) -> FileAnswer:
    """Return the calls of a file whose cache reads fell, with the cause and the price."""
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
    cost = "" if report["cost"] is None else f"${report['cost']:.2f}"
    row = [len(transcript.messages), len(usages), len(found), report["again"], cost]
    return FileAnswer(report, _rebuilds(report, found), row)


def _rebuilds(report: dict[str, Any], found: list[CacheRebuild]) -> Iterator[str]:
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
