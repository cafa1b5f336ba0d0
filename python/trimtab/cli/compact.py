"""The verb compact: a smaller session that the provider takes, and a way back."""

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


DESCRIPTION = "A smaller session that the provider takes, and a way back."


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The verb's options."""
    parser = verbs.add_parser("compact", help="write a smaller session", description=DESCRIPTION)
    add_file(parser)
    parser.add_argument("-o", "--output", metavar="OUT", default="-", help="where to; stdout otherwise")
    parser.add_argument("--policy", default="default", help="preset; default: %(default)s")
    add_target(parser)
    add_summarizer(parser)
    parser.add_argument("--instructions", metavar="TEXT", help="what the summary is to stress")
    parser.add_argument("--pin", metavar="TEXT", action="append", default=[], help="keep messages that hold TEXT")
    parser.add_argument("--archive", metavar="URL", help="sqlite:///PATH or memory; default: in the data folder")
    parser.add_argument("--session", metavar="NAME", help="the conversation's name in the archive; pins stay with it")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compacts, writes, and says what was done and how to undo it."""
    from ..session.compactor import Compactor

    found = sendable(options)
    url = options.archive or archive_url()
    cm = Compactor(
        model_of(options, found),
        provider=found.provider,
        window=options.window,
        policy=policy(options),
        summarizer=summarizer(options),
        archive=url,
        session=options.session,
    )
    for text in options.pin:
        cm.pin(text)
    with Progress("compacting"):
        done = cm.compact(
            found.messages,
            system=found.system,
            tools=found.tools,
            instructions=options.instructions,
            **target(options),
        )
    write(options.output, to_text(done.messages, options.output))
    report = _report(done, url)
    if options.json and options.output != "-":
        answer(report)
    else:
        _print(report, options.output)
    return 0


def _report(done: Compaction, url: str) -> dict[str, Any]:
    from ..planning.plan import Drop, Prune, StripThinking, Summarize, Truncate

    plan, zone = done.plan, done.plan.zone()
    left = zone.stop - zone.start - len(zone.keep) if zone else 0

    def rows(kind: type[Prune | Truncate | StripThinking]) -> int:
        return sum(len(edit.rows) for edit in plan.edits if isinstance(edit, kind))

    return {
        "tokens_before": done.tokens_before,
        "tokens_after": done.tokens_after,
        "target": plan.target,
        "messages_before": plan.messages,
        "messages_after": len(done.messages),
        "pruned": rows(Prune),
        "truncated": rows(Truncate),
        "stripped": rows(StripThinking),
        "summarized": left if isinstance(zone, Summarize) else 0,
        "dropped": left if isinstance(zone, Drop) else 0,
        "summarizer": done.summarizer,
        "usage": done.usage,
        "reason": done.reason,
        "ref": done.ref,
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
        line(f"  charged     {_charged(report['usage'])}")
    if ";" in report["reason"]:
        line(f"  note        {report['reason'].split(';', 1)[1].strip()}")
    if report["archive"]:
        line(f"  archive     {report['archive'].removeprefix('sqlite:///')}")
        place = "" if report["archive"] == archive_url() else f" --archive {shlex.quote(report['archive'])}"
        line(f"  undo        trimtab restore {report['ref']}{place}")
    else:
        line("  archive     in memory: gone now, there is no way back")


def _charged(usage: dict[str, float]) -> str:
    """What the summary cost, in a line."""
    read = sum(usage.get(f"{kind}input_tokens", 0) for kind in ("", "cache_read_", "cache_creation_"))
    if "output_tokens" not in usage:
        return "unknown: the provider did not say"
    cost = f", ${usage['cost']:.4f}" if "cost" in usage else ""
    return f"{read:,.0f} tokens in, {usage.get('output_tokens', 0):,.0f} out{cost}"
