"""The verb compact: write a smaller session that the provider accepts, and archive the original."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._home import archive_url
from ..messages.surrogates import mend
from .files import archive_path, check_output, to_text, write
from .input import sendable, span, target
from .options import (
    add_archive,
    add_file,
    add_keep_tag,
    add_output,
    add_policy,
    add_span,
    add_summarizer,
    address,
    archive_option,
    policy,
    session_option,
    summarizer,
)
from .originals import note_origin
from .output import print_json, print_line, print_note
from .progress import Progress
from .prompt import NextPrompt, compactor, hint, known_fields, learn
from .terminal import clip, width

if TYPE_CHECKING:
    from ..compaction.result import Compaction
    from ..planning.plan import Plan
    from ..session.compactor import Compactor
    from ..session.session import Session


DESCRIPTION = "Write a smaller session that the provider accepts, and archive the original."
EXAMPLES = (
    "trimtab compact session.jsonl -o smaller.json --target-share 0.5",
    "trimtab compact session.jsonl -o smaller.json --summarizer anthropic",
)

PRUNED = {"arguments": "calls", "images": "pictures", "pictures": "blocks"}
"""What is pruned, by the edit's reason; the others prune results."""

GONE = 5
"""Items that are gone, as they are printed at most."""

WHAT = {"results": "tool result", "calls": "tool call", "pictures": "picture", "blocks": "block"}
"""The same as text, of one; ``blocks`` have pictures."""


def add_options(parser: argparse.ArgumentParser, *, plans: bool = True) -> None:
    """Add the verb's options; those that decide what leaves only where the verb makes the plan."""
    add_file(parser)
    add_output(parser)
    parser.add_argument("--list", action="store_true", help="write the messages alone, without model, system and tools")
    if plans:
        add_policy(parser)
        add_span(parser)
        parser.add_argument(
            "--pin", metavar="TEXT", action="append", default=[], help="keep messages that contain TEXT"
        )
        add_keep_tag(parser)
    add_summarizer(parser)
    parser.add_argument("--instructions", metavar="TEXT", help="instructions for the summary")
    add_archive(parser)
    parser.add_argument("--session", metavar="NAME", help="the conversation's name in the archive; pins stay with it")


def run(options: argparse.Namespace, plan: Plan | None = None, summary: str | None = None) -> int:
    """Compact, write the result, and report the changes and how to undo it; a given plan and summary stand."""
    url = archive_url(options.archive)
    check_output(options, options.file, getattr(options, "plan", ""), archive_path(url))
    transcript = sendable(options)
    settings = {"policy": policy(options), "summarizer": summarizer(options)}
    progress = Progress("compacting", step=f"planning for {len(transcript.messages):,} messages")
    shared = compactor(options, transcript, archive=url, pre_compact=lambda _: _planned(progress), **settings)
    before = NextPrompt.of(options, transcript, shared)
    cm: Compactor | Session = shared
    if options.session is not None:
        cm = shared.session(options.session)
        learn(cm, options, transcript)
    for text in () if plan else options.pin:
        cm.pin(text)
    request: dict[str, Any] = {"system": transcript.system, "tools": transcript.tools}
    with progress:
        if ends := span(options):
            plan = cm.plan(transcript.messages, **request, **target(options), span=ends)
        goal = {"plan": plan, "summary": summary} if plan else target(options)
        result = cm.compact(transcript.messages, **request, instructions=options.instructions, **goal)
    fields = {} if options.list else mend(known_fields(options, transcript))
    write(options.output, to_text(result.messages, options.output, fields))
    note_origin(shared.archive, result.ref, options, transcript)
    after = cm.size(result.messages, system=transcript.system, tools=transcript.tools).prompt
    report = _report(result, url, options.session)
    report |= {**before.fields(), "next_prompt": after, "next_prompt_before": before.tokens}
    if options.json and options.output != "-":
        print_json(report)
        return 0
    lines = [*_lines(report), *([] if plan else hint(options, result.ref))]
    if result.ref is not None:
        lines.insert(1, before.becomes(after))
    for line in lines:
        (print_note if options.output == "-" else print_line)(line)
    return 0


def _planned(progress: Progress) -> None:
    """Note what follows the plan; the compaction goes on."""
    progress.step = "planned; archiving, summarizing and counting what is left"


def _report(result: Compaction[Any], url: str, session: str | None) -> dict[str, Any]:
    from ..audit.kept import OWN
    from ..planning.edits import Cut, Drop, Mend, Prune, StripThinking, Summarize, Truncate

    plan, zone = result.plan, result.plan.zone()
    left = zone.stop - zone.start - len(zone.keep) if zone else 0

    def rows(kind: type[Prune | Cut | Truncate | StripThinking]) -> int:
        return sum(len(edit.rows) for edit in plan.edits if isinstance(edit, kind))

    pruned: dict[str, int] = {}
    for edit in plan.edits:
        if isinstance(edit, Prune):
            what = PRUNED.get(edit.why, "results")
            pruned[what] = pruned.get(what, 0) + len(edit.rows)

    return {
        "tokens_before": result.tokens_before,
        "tokens_after": result.tokens_after,
        "target": plan.target,
        "messages_before": plan.messages,
        "messages_after": len(result.messages),
        "pruned": rows(Prune),
        "pruned_kinds": pruned,
        "cut": rows(Cut),
        "truncated": rows(Truncate),
        "removed": rows(StripThinking),
        "summarized": left if isinstance(zone, Summarize) else 0,
        "dropped": left if isinstance(zone, Drop) else 0,
        "mended": sum(len(edit.messages) for edit in plan.edits if isinstance(edit, Mend)),
        "summarizer": result.summarizer,
        "summary": result.summary,
        "usage": result.usage,
        "reason": result.reason,
        "ref": result.ref,
        "archive": None if url == "memory" else address(url),
        "session": session,
        **result.kept.fields(OWN),
    }


def _lines(report: dict[str, Any]) -> Iterator[str]:
    before, after = report["tokens_before"], report["tokens_after"]
    if report["ref"] is None:
        yield f"unchanged: {report['reason']} ({before:,} tokens, target {report['target']:,})"
        return
    share = 100 * (after - before) / before
    yield f"{before:,} -> {after:,} tokens ({share:+.0f} %), target {report['target']:,}"
    yield f"  messages    {report['messages_before']:,} -> {report['messages_after']:,}"
    if report["pruned"]:
        pruned = (_number(many, WHAT[kind]) for kind, many in report["pruned_kinds"].items())
        yield f"  pruned      {', '.join(pruned)}"
    for name, what in (
        ("cut", "tool result"),
        ("truncated", "tool result"),
        ("removed", "thinking block"),
        ("mended", "message"),
        ("dropped", "message"),
        ("summarized", "message"),
    ):
        if count := report[name]:
            who = "the given summary" if report["summarizer"] == "given" else report["summarizer"]
            by = f", by {who}" if name == "summarized" else ""
            yield f"  {name:11} {_number(count, what)}{by}"
    if report["usage"]:
        yield f"  billed      {_billed(report['usage'])}"
    if ";" in report["reason"]:
        yield f"  note        {report['reason'].split(';', 1)[1].strip()}"
    yield from _kept(report)
    if report["summary"]:
        yield "  the summary that the model will read:"
        yield from (f"    {line}" for line in report["summary"].splitlines())
    if report["archive"] is None:
        yield "  archive     none: the original cannot be restored"
        return
    yield f"  archive     {report['archive'].removeprefix('sqlite:///')}"
    session = session_option(report["session"]) if report["session"] else ""
    yield f"  undo        trimtab restore {report['ref']}{session}{archive_option(report['archive'])}"


def _kept(report: dict[str, Any]) -> Iterator[str]:
    """Yield how many rules, requests, tasks and files are kept, and which are gone."""
    numbers = [(one["kept"], one["of"], kind.removesuffix("s")) for kind, one in report["kept"].items() if one["of"]]
    if numbers:
        yield f"  kept        {', '.join(f'{there:,} of {_number(of, kind)}' for there, of, kind in numbers)}"
    for item in report["lost"][:GONE]:
        place = "" if item["message"] is None else f" #{item['message']}"
        text = f"{item['kind'].removesuffix('s')}{place}  {item['text']}"
        yield f"  gone        {clip(text, width() - 14)}"
    if len(report["lost"]) > GONE:
        yield f"              and {len(report['lost']) - GONE:,} more: --json names all"


def _number(many: int, what: str) -> str:
    return f"{many:,} {what}{'s' * (many != 1)}"


def _billed(usage: dict[str, float]) -> str:
    """Return the cost of the summary as text."""
    read = sum(usage.get(f"{kind}input_tokens", 0) for kind in ("", "cache_read_", "cache_creation_"))
    if "output_tokens" not in usage:
        return "unknown: the provider did not report it"
    cost = f", ${usage['cost']:.4f}" if "cost" in usage else ""
    return f"{read:,.0f} tokens in, {usage.get('output_tokens', 0):,.0f} out{cost}"
