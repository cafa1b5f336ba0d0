"""The verb count: tokens of a session, and how full its next prompt is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..counting.counter import scan
from ..formats import sums
from ..ledger.columns import by_kind
from ..templates.rendered import what_renders
from .input import FileAnswer, large, load, run_files, warn_skipped, where_of
from .options import add_file
from .output import print_note
from .progress import Progress
from .prompt import NextPrompt, compactor
from .terminal import Styled

if TYPE_CHECKING:
    from typing import TypeAlias

    from ..counting.counter import Counter
    from ..ledger.columns import Ledger
    from ..messages.types import Transcript
    from ..session.compactor import Compactor
    from .input import Large

    Summed: TypeAlias = tuple[str, int, dict[str, int]]

DESCRIPTION = "Count the tokens of sessions, by kind; of several files, in a table."
EXAMPLES = (
    "trimtab count session.jsonl",
    "trimtab count *.jsonl --json",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_file(parser, several=True)


def run(options: argparse.Namespace) -> int:
    """Count, and report how full the window is; of several files, in a table."""
    return run_files(options, _count, ("messages", "tokens", "next prompt", "window", "share", "trigger"))


def _count(options: argparse.Namespace) -> FileAnswer:
    """Return what fills a file's window."""
    text = large(options)
    found = text.found if text else load(options)
    cm = compactor(options, found)
    summed = _stream(text, cm.counter, where_of(options)) if text else _scan(found, cm.counter)
    messages, kinds = summed[1:]
    total = sum(kinds.values())
    next_prompt = NextPrompt.of(options, found, cm, kinds if text else None)
    report = fields(found, cm, next_prompt, summed)
    verdict, *more = next_prompt.lines()
    lines = [
        Styled(verdict, "red" if next_prompt.over else "green"),
        *more,
        f"  {total:,} in {messages:,} messages, {next_prompt.counted - total:,} in system text and tools",
        "    " + " · ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in kinds.items() if value),
        f"  counted by {cm.counter.explain()}",
        *_notes(found),
    ]
    share = f"{100 * next_prompt.tokens / next_prompt.window:.1f} %"
    state = "over" if next_prompt.over else "below"
    return FileAnswer(report, lines, [messages, total, next_prompt.tokens, next_prompt.window, share, state])


def fields(found: Transcript, cm: Compactor, next_prompt: NextPrompt, summed: Summed) -> dict[str, Any]:
    """Return the fields of ``--json`` of a session."""
    provider, messages, kinds = summed
    total = sum(kinds.values())
    return {
        **next_prompt.fields(),
        "format": found.format,
        "provider": provider,
        "model": cm.model,
        "messages": messages,
        "tokens": total,
        "kinds": kinds,
        "system_and_tools": next_prompt.counted - total,
        "compactions": found.compactions,
        "left_out": found.left_out,
        "counter": cm.counter.explain(),
    }


def _notes(found: Transcript) -> Iterator[str]:
    """Yield lines on compactions and unsent entries."""
    if found.compactions:
        places = ", ".join(f"{at:,}" for at in found.compactions)
        yield f"  compacted {len(found.compactions):,} times, before the messages {places}"
    if found.left_out:
        most = sorted(found.left_out.items(), key=lambda kind: -kind[1])
        more = f" · {len(most) - 6:,} more kinds" if len(most) > 6 else ""
        yield "  not sent: " + " · ".join(f"{name} {many:,}" for name, many in most[:6]) + more


def _scan(found: Transcript, counter: Counter) -> Summed:
    from ..counting.whole import framed

    with Progress("counting"):
        ledger = scan(found.messages, counter, found.provider)
        ledger, rendered = framed(ledger, found.messages, counter, found.system, found.tools)
    if counter.template is not None and rendered is None and found.messages:
        what = what_renders(counter.template, counter.template.name)
        print_note(f"an estimate: {what} cannot render these messages")
    return summed(ledger)


def summed(ledger: Ledger) -> Summed:
    """Return the messages' shape, their number and their tokens by kind."""
    messages, framing, tokens = ledger.sums()
    return ledger.provider, messages, by_kind(tokens, framing)


def _stream(text: Large, counter: Counter, where: str) -> Summed:
    """Return the same of a list that is read in chunks, without repairs."""
    with Progress("counting", text.size) as progress:
        found = sums(progress.track(text.chunks), counter=counter, provider=text.provider)
    warn_skipped(found.skipped, found.lost, where)
    return found.provider, found.messages, by_kind(found.tokens, found.framing)
