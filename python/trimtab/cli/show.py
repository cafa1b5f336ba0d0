"""The verb show: what fills the next prompt of a session, and what a compaction would take from it."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..models.model import Model
from .columns import about, bar, clip, percents, width
from .input import load
from .options import add_file, add_policy
from .output import print_answer
from .preview import Previewed, preview
from .several import run_each
from .terminal import Styled, cells

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
        from . import cache

        if len(options.files) > 1:
            return run_each(options, cache.row, cache.HEADS)
        options.file = options.files[0]
        print_answer(options, *cache.shown(options))
        return 0
    if len(options.files) > 1:
        return run_each(options, _row, ("messages", "next prompt", "window", "share", "largest part", "cut to"))
    options.file = options.files[0]
    print_answer(options, *_shown(options))
    return 0


def _row(options: argparse.Namespace) -> tuple[dict[str, Any], list[str | int], int]:
    """Return the report on one of several files, its row, and 0."""
    report, _ = _shown(options)
    share = f"{100 * report['next_prompt'] / report['window']:.1f} %"
    part = max(report["parts"], key=lambda part: part["tokens"], default=None)
    largest = f"{part['name']} {part['percent']:.0f} %" if part else ""
    after = (
        report["plan"]["next_prompt_after"] if report["plan"]["tokens_after"] < report["plan"]["tokens_before"] else ""
    )
    return report, [report["messages"], report["next_prompt"], report["window"], share, largest, after], 0


def _shown(options: argparse.Namespace) -> tuple[dict[str, Any], Iterator[str]]:
    """Return the report on a file, and its lines."""
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
    return report, chain(
        found.next_prompt.lines(),
        _cost(cost),
        _filled(parts, transcript, options),
        _largest(largest),
        _repeated(repeats, top, found),
        _cut(found, options),
    )


def costs(found: Previewed) -> dict[str, float] | None:
    """Return the US dollars that the next prompt costs, as new input and from the provider's cache; None if unknown."""
    return _cost_of(found.next_prompt.tokens, found)


def _cost_of(tokens: int, found: Previewed) -> dict[str, float] | None:
    """Return what so many tokens cost in a call, as new input and from the provider's cache; None if unknown."""
    price, millions = Model.named(found.cm.model).price, tokens / 1_000_000
    cost = {"input": price.input * millions, "cache_read": price.cache_read * millions}
    return None if math.isnan(sum(cost.values())) else cost


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
    given = f" --target-share {options.target_share}" if options.target_share else ""
    given += f" --target-tokens {options.target_tokens}" if options.target_tokens else ""
    given += f" --window {options.window}" if options.window else ""
    yield ""
    if plan.edits:
        freed = plan.tokens_before - plan.tokens_after
        yield f"proposed cut: {plan.tokens_before:,} -> {plan.tokens_after:,} tokens of messages, {freed:,} less"
        yield "  each edit with its reason:"
        yield f"  trimtab plan {file}{given}"
        return
    yield f"proposed cut: none, {plan.reason} ({plan.tokens_before:,} tokens of messages, target {plan.target:,})"
    if not given:
        yield "  to see what would go for half of it:"
        yield f"  trimtab plan {file} --target-share 0.5"
