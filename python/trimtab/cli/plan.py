"""The verb plan: show the plan of a compaction without running it."""

from __future__ import annotations

import argparse
import json
import math
import shlex
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

from ..errors import PlanError
from .apply import to_markdown
from .files import check_output, write
from .input import FileAnswer, run_files, sendable, span
from .options import (
    DECIDING,
    READING,
    WRITING,
    add_file,
    add_keep_tag,
    add_output,
    add_policy,
    add_span,
    add_summarizer,
    given_options,
    policy,
    summarizer,
)
from .output import print_line, to_json
from .preview import Previewed, preview
from .prompt import hint
from .terminal import Styled, about, padded, width

if TYPE_CHECKING:
    from ..messages.types import Transcript
    from ..planning.changes import Change
    from ..server.ways import WayCost

DESCRIPTION = "Show the plan of a compaction without running it: each edit, and why."

EXAMPLES = (
    "trimtab plan session.jsonl --target-share 0.5",
    "trimtab plan *.jsonl --check",
    "trimtab plan s.jsonl --summary  # what takes the place of the messages",
    "trimtab plan s.jsonl --summary -o plan.md  # to edit, and then to apply",
    "trimtab plan s.jsonl --json | trimtab apply s.jsonl -o smaller.json",
    "trimtab plan s.jsonl --from 12 --to 40  # a summary of these alone",
    "trimtab plan s.jsonl --window 200k --check  # for CI: 1 over the trigger",
)

KINDS = {"result": "tool result", "call": "tool call", "image": "picture", "thinking": "thinking block"}
"""Names of kinds of blocks in a sentence; others have their own."""

FATES = {
    "prune": ("becomes a placeholder", "become placeholders"),
    "cut": ("keeps its beginning", "keep their beginning"),
    "truncate": ("keeps its head and tail", "keep their head and tail"),
    "strip": ("leaves", "leave"),
    "mend": ("is mended", "are mended"),
}
"""What happens to one block and to several, by kind of change."""

SIGNS = {"-": "red", "+": "green", " ": "dim"}
"""Styles of the lines that begin with these signs."""

PER = 100
"""Calls for which the money is printed: of one call, a block costs less than a cent."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_file(parser, several=True)
    add_policy(parser)
    add_span(parser)
    add_keep_tag(parser)
    parser.add_argument(
        "--check",
        action="store_true",
        help="exit with 1 if the next prompt is over the trigger, or the request over its limit of bytes",
    )
    parser.add_argument("--explain", action="store_true", help="also print the terms of the budget and of the money")
    parser.add_argument(
        "--summary", action="store_true", help="also print the summary, or with -o write it to a file that you edit"
    )
    add_output(parser, about="with --summary: file for the plan and the summary, for trimtab apply", default=None)
    add_summarizer(parser)
    parser.add_argument("--instructions", metavar="TEXT", help="instructions for the summary")
    parser.add_argument(
        "--top", type=int, default=20, metavar="N", help="edits of a kind to print, the largest; default: %(default)s"
    )


def run(options: argparse.Namespace) -> int:
    """Plan, and print the plan as a diff: what leaves with ``-``, what takes its place with ``+``; files in a table.

    The compaction is made, with a summary of the offline summarizer, and thrown away: so the tokens are those of
    ``compact``, where a plan alone has the limit of a summary. With ``--summary``, any summarizer may write it.

    Raises:
        PlanError: the summary is to be written to a file, and no message is summarized.
        ValueError: an option goes with ``--summary``, or with one file.
    """
    _check(options)
    if len(options.files) > 1:
        return run_files(options, _answer, ("messages", "tokens", "after", "edits", "trigger", "why"))
    options.file = options.files[0]
    if options.output is not None:
        check_output(options, options.file)
    found, report, lines = _planned(options)
    options.code = _code(found, options)
    if options.output is not None:
        write(options.output, to_markdown(found, options))
        lines = chain(lines, _apply(options))
    if options.output == "-":
        return _code(found, options)
    if options.json:
        print(to_json(report))
    else:
        for line in lines:
            print_line(line)
    return _code(found, options)


def _check(options: argparse.Namespace) -> None:
    """Reject options that go with ``--summary`` alone, one file for the plans of several, and half a range."""
    span(options)
    if options.output is not None and len(options.files) > 1:
        raise ValueError("-o takes the plan of one file")
    given = {"-o": options.output, "--instructions": options.instructions}
    named = {"--summarizer": options.summarizer != "offline"} | {name: text is not None for name, text in given.items()}
    if not options.summary and (alone := [name for name, is_given in named.items() if is_given]):
        msg = f"{alone[0]} goes with --summary"
        raise ValueError(msg)


def _code(found: Previewed, options: argparse.Namespace) -> int:
    """Return the exit code: with ``--check`` 1 over the trigger."""
    return int((found.next_prompt.over or found.plan.is_heavy) and options.check)


def _apply(options: argparse.Namespace) -> Iterator[str]:
    """Yield what to do with the written plan."""
    yield ""
    yield f"the plan is in {options.output}: edit the summary at its end, then"
    given = given_options(options, *READING)
    yield f"  trimtab apply {shlex.quote(options.file)} --plan {shlex.quote(options.output)} -o OUT{given}"


def _answer(options: argparse.Namespace) -> FileAnswer:
    """Return the plan of one of several files.

    Raises:
        PlanError: the file has no such range; the others have a row all the same.
    """
    try:
        found, report, lines = _planned(options)
    except ValueError as error:
        if span(options) is None:
            raise
        raise PlanError(str(error)) from error
    over = found.next_prompt.over or found.plan.is_heavy
    numbers = [report[name] for name in ("messages", "tokens_before", "tokens_after")]
    row = [*numbers, len(report["changes"]), "over" if over else "below", report["reason"]]
    return FileAnswer(report, lines, row, _code(found, options))


def _planned(options: argparse.Namespace) -> tuple[Previewed, dict[str, Any], Iterator[str]]:
    """Return the preview of a file, and its plan as JSON and as lines."""
    transcript = sendable(options, writes=False)
    found = preview(options, transcript, summarizer=summarizer(options), policy=policy(options))
    report = json.loads(found.plan.to_json()) | {"changes": [asdict(change) for change in found.changes]}
    explained: Iterator[str] | tuple[str, ...] = ()
    if options.explain:
        explained, report["ways"] = _explained(found, transcript), [_way(way) for way in found.ways]
    summary = _summary(found) if options.summary else ()
    if options.summary:
        report["summary"] = found.summary
    return found, report, chain(found.next_prompt.lines(), _lines(found, options), summary, explained)


def _lines(found: Previewed, options: argparse.Namespace) -> Iterator[str]:
    plan = found.plan
    yield ""
    if not plan.edits:
        yield f"nothing leaves: {plan.reason} ({plan.tokens_before:,} tokens of messages, target {plan.target:,})"
        yield from hint(options, plan.edits)
        return
    yield f"messages: {plan.tokens_before:,} -> {plan.tokens_after:,} tokens (target {plan.target:,}), by {plan.policy}"
    yield found.next_prompt.becomes(found.after)
    if plan.bytes_told:
        yield f"          {plan.bytes_told}"
    if ";" in plan.reason:
        yield f"  {plan.reason.split(';', 1)[1].strip()}"
    if plan.savings:
        yield f"  {str(plan.savings).splitlines()[0]}"
        if found.dearer:
            yield f"  {found.dearer}"
    yield ""
    heads = f"   {'#':>5}  {'what, and its first words':{_free()}} {'tokens':>8} {'after':>7} {f'$/{PER} calls':>11}"
    yield Styled(heads, "dim")
    for _, group in groupby(found.changes, key=lambda change: (change.edit, change.kind, _why(change))):
        yield from _group([*group], found, options.top)
    for why, kept in groupby(found.stays, key=lambda change: change.why):
        yield Styled(f"of the largest results that stay: {why}", "bold")
        yield from (_row(" ", change, "") for change in kept)
    yield ""
    yield "to do it, with the originals in the archive and the command that brings them back:"
    given = given_options(options, *READING, *DECIDING, *WRITING, "instructions")
    yield f"  trimtab compact {shlex.quote(options.file)} -o OUT{given}"


def _summary(found: Previewed) -> Iterator[str]:
    """Yield the text that the summarizer writes in place of the messages that leave."""
    yield ""
    if found.summary is None:
        yield "no summary: no message leaves"
        return
    tokens = found.cm.counter.count(found.summary)
    yield Styled(f"the summary that the {found.author} summarizer writes ({tokens:,} tokens):", "bold")
    for line in found.summary.splitlines():
        yield f"  {line}".rstrip()


def _why(change: Change) -> str:
    """Return the reason that changes of one group have in common; each row names the message of its own newer read."""
    return "the file was read again later" if change.why.startswith("read again") else change.why


def _group(group: list[Change], found: Previewed, top: int) -> Iterator[str]:
    """Yield the edits of one kind, with their reason in front."""
    edit, kind, why = group[0].edit, group[0].kind, _why(group[0])
    if edit in ("summarize", "drop"):
        yield from _zone(group[0], found, top)
        return
    many = len(group) > 1
    what = f"{KINDS.get(kind, kind)}{'s' * many}"
    yield Styled(f"{len(group):,} {what} {FATES[edit][many]}: {why}", "bold")
    largest = sorted(group, key=lambda change: -change.freed)[:top]
    shown = {id(change) for change in largest}
    yield from (_row("-", change, change.why if change.why != why else "") for change in group if id(change) in shown)
    if rest := [change for change in group if id(change) not in shown]:
        freed = sum(change.freed for change in rest)
        yield Styled(f"-  and {len(rest):,} that free {freed:,} tokens together; --top {len(group)} prints all", "red")


def _zone(zone: Change, found: Previewed, top: int) -> Iterator[str]:
    """Yield the largest of the messages that a summary or a notice replaces; those that stay among them leave not."""
    contents, edit = found.contents, found.plan.zone()
    instead = "a summary" if zone.edit == "summarize" else "a notice"
    yield Styled(f"messages #{zone.message} to #{zone.last} become {instead}: {zone.why}", "bold")
    kept = set(edit.keep) if edit else set()
    sizes = {
        index: int(contents.per_message[index]) for index in range(zone.message, zone.last + 1) if index not in kept
    }
    largest = sorted(sorted(sizes, key=lambda index: -sizes[index])[: max(top // 2, 1)])
    for index in largest:
        yield _line("-", f"#{index}", contents.title(index), sizes.pop(index))
    if sizes:
        yield _line("-", "", f"and {len(sizes):,} smaller messages", sum(sizes.values()))
    yield _line("+", f"#{zone.message}", f"{instead} in their place", None, zone.after, zone.saves)


def _free() -> int:
    """Return the characters that are left for words."""
    return width() - 39


def _row(sign: str, change: Change, why: str) -> str:
    words = change.words if change.words != change.argument else ""
    more = why.replace("read again in message ", "again in #") or words
    text = about(change.tool, change.argument, more, _free())
    return _line(sign, f"#{change.message}", text, change.tokens, change.after, change.saves)


def _line(  # noqa: PLR0917 - the columns of a row
    sign: str, place: str, text: str, tokens: int | None, after: int | None = None, saves: float | None = None
) -> str:
    numbers = ["" if number is None else f"{number:,}" for number in (tokens, after)]
    money = f"{saves * PER:.3f}" if saves else ""
    line = f"{sign}  {place:>5}  {padded(text, _free())} {numbers[0]:>8} {numbers[1]:>7} {money:>11}"
    return Styled(line.rstrip(), SIGNS[sign])


def _way(way: WayCost) -> dict[str, Any]:
    """Return the cost of a way for JSON, which has no word for what is unknown but null."""
    found = asdict(way) | {"pays": way.pays}
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in found.items()}


def _explained(found: Previewed, transcript: Transcript) -> Iterator[str]:
    """Yield the terms of the budget and of the money."""
    cm = found.cm
    budget = replace(cm.budget(system=transcript.system, tools=transcript.tools), source=found.next_prompt.source)
    yield ""
    if found.plan.savings:
        yield str(found.plan.savings).splitlines()[1].strip()
    yield f"counted by     {cm.counter.explain()}"
    yield budget.explain(found.next_prompt.terms.messages, max(found.next_prompt.terms.beyond, 0))
    for way in found.ways:
        yield f"{'compacted':14} {way}"
