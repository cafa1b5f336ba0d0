"""The verb compact: write a smaller session that the provider accepts, and archive the original."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from .files import archive_url, to_text, write
from .input import add_file, add_target, model_of, sendable, target
from .output import answer, say, warn
from .progress import Progress
from .summarizer import add_summarizer, policy, summarizer

if TYPE_CHECKING:
    import argparse

    from ..compaction.result import Compaction


DESCRIPTION = "Write a smaller session that the provider accepts, and archive the original."


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb and its options."""
    parser = verbs.add_parser("compact", help="write a smaller session", description=DESCRIPTION)
    add_file(parser)
    parser.add_argument("-o", "--output", metavar="OUT", default="-", help="output file; default: stdout")
    parser.add_argument("--policy", default="default", help="preset; default: %(default)s")
    add_target(parser)
    add_summarizer(parser)
    parser.add_argument("--instructions", metavar="TEXT", help="instructions for the summary")
    parser.add_argument("--pin", metavar="TEXT", action="append", default=[], help="keep messages that contain TEXT")
    parser.add_argument("--archive", metavar="URL", help="sqlite:///PATH or memory; default: in the data folder")
    parser.add_argument("--session", metavar="NAME", help="the conversation's name in the archive; pins stay with it")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compact, write the result, and report the changes and how to undo it."""
    from ..session.compactor import Compactor

    transcript = sendable(options)
    url = options.archive or archive_url()
    cm = Compactor(
        model_of(options, transcript),
        provider=transcript.provider,
        window=options.window,
        policy=policy(options),
        summarizer=summarizer(options),
        archive=url,
        session=options.session,
    )
    for text in options.pin:
        cm.pin(text)
    with Progress("compacting"):
        result = cm.compact(
            transcript.messages,
            system=transcript.system,
            tools=transcript.tools,
            instructions=options.instructions,
            **target(options),
        )
    write(options.output, to_text(result.messages, options.output))
    report = _report(result, url)
    if options.json and options.output != "-":
        answer(report)
    else:
        _print(report, options.output)
    return 0


def _report(result: Compaction, url: str) -> dict[str, Any]:
    from ..planning.edits import Drop, Prune, StripThinking, Summarize, Truncate

    plan, zone = result.plan, result.plan.zone()
    left = zone.stop - zone.start - len(zone.keep) if zone else 0

    def rows(kind: type[Prune | Truncate | StripThinking]) -> int:
        return sum(len(edit.rows) for edit in plan.edits if isinstance(edit, kind))

    return {
        "tokens_before": result.tokens_before,
        "tokens_after": result.tokens_after,
        "target": plan.target,
        "messages_before": plan.messages,
        "messages_after": len(result.messages),
        "pruned": rows(Prune),
        "truncated": rows(Truncate),
        "stripped": rows(StripThinking),
        "summarized": left if isinstance(zone, Summarize) else 0,
        "dropped": left if isinstance(zone, Drop) else 0,
        "summarizer": result.summarizer,
        "usage": result.usage,
        "reason": result.reason,
        "ref": result.ref,
        "archive": None if url == "memory" else url,
    }


def _print(report: dict[str, Any], output: str) -> None:
    line = say if output != "-" else warn
    before, after = report["tokens_before"], report["tokens_after"]
    if report["ref"] is None:
        line(f"unchanged: {report['reason']} ({before:,} tokens, target {report['target']:,})")
        return
    share = 100 * (before - after) / before
    line(f"{before:,} -> {after:,} tokens (-{share:.0f} %), target {report['target']:,}")
    line(f"  messages    {report['messages_before']:,} -> {report['messages_after']:,}")
    for name, what in (
        ("pruned", "tool result"),
        ("truncated", "tool result"),
        ("stripped", "thinking block"),
        ("dropped", "message"),
        ("summarized", "message"),
    ):
        if count := report[name]:
            by = f", by {report['summarizer']}" if name == "summarized" else ""
            line(f"  {name:11} {count:,} {what}{'s' if count > 1 else ''}{by}")
    if report["usage"]:
        line(f"  billed      {_billed(report['usage'])}")
    if ";" in report["reason"]:
        line(f"  note        {report['reason'].split(';', 1)[1].strip()}")
    if report["archive"]:
        line(f"  archive     {report['archive'].removeprefix('sqlite:///')}")
        place = "" if report["archive"] == archive_url() else f" --archive {shlex.quote(report['archive'])}"
        line(f"  undo        trimtab restore {report['ref']}{place}")
    else:
        line("  archive     none: the original cannot be restored")


def _billed(usage: dict[str, float]) -> str:
    """Return the cost of the summary as text."""
    read = sum(usage.get(f"{kind}input_tokens", 0) for kind in ("", "cache_read_", "cache_creation_"))
    if "output_tokens" not in usage:
        return "unknown: the provider did not report it"
    cost = f", ${usage['cost']:.4f}" if "cost" in usage else ""
    return f"{read:,.0f} tokens in, {usage.get('output_tokens', 0):,.0f} out{cost}"
