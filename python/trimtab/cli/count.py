"""The verb count: tokens of a session."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .input import large, load, model_of, warn_skipped
from .options import add_file
from .output import print_answer
from .progress import Progress

if TYPE_CHECKING:
    from ..counting.counter import Counter
    from ..messages.types import Transcript
    from .input import Large

KINDS = {
    "results": ("RESULT", "SERVER_RESULT"),
    "calls": ("CALL", "SERVER_CALL"),
    "thinking": ("THINKING",),
    "pictures": ("IMAGE", "DOCUMENT"),
    "other": ("COMPACTION", "OPAQUE"),
}
"""Kinds of blocks by the names under which their tokens are printed."""

DESCRIPTION = "Count the tokens of a session, by kind."


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_file(parser)


def run(options: argparse.Namespace) -> int:
    """Count, and report how full the window is."""
    from ..counting.counter import Counter, overhead
    from ..session.compactor import Compactor

    text = large(options)
    found = text.found if text else load(options)
    model = model_of(options, found)
    counter = Counter.for_model(model)
    provider, messages, kinds = _stream(text, counter) if text else _count(found, counter)
    total = sum(kinds.values())
    fixed = overhead(counter, system=found.system, tools=found.tools)
    budget = Compactor(model, window=options.window).budget(system=found.system, tools=found.tools)
    report = {
        "format": found.format,
        "provider": provider,
        "model": model,
        "messages": messages,
        "tokens": total,
        "kinds": kinds,
        "system_and_tools": fixed,
        "compactions": found.compactions,
        "left_out": found.left_out,
        "counter": counter.explain(),
        "window": budget.window,
        "window_assumed": budget.assumed,
        "trigger": budget.trigger,
    }
    state = "over" if total > budget.trigger else "below"
    parts = {**kinds, "system_and_tools": fixed}
    used = 100 * (total + fixed) / budget.window
    window = f"{budget.window:,} (assumed)" if budget.assumed else f"{budget.window:,}"
    lines = [
        f"{messages:,} messages   {total:,} tokens   ({counter.explain()})",
        "  " + " · ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in parts.items() if value),
        f"  {model}: window {window}, used {used:.1f} %, {state} the trigger of {budget.trigger:,}",
    ]
    print_answer(options, report, [*lines, *_notes(found, model)])
    return 0


def _notes(found: Transcript, model: str) -> Iterator[str]:
    """Yield lines on compactions, unsent entries and billed calls in the file."""
    from ..planning.forecast import Forecast

    if found.compactions:
        places = ", ".join(f"{at:,}" for at in found.compactions)
        yield f"  compacted {len(found.compactions):,} times, before the messages {places}"
    if found.left_out:
        most = sorted(found.left_out.items(), key=lambda kind: -kind[1])
        more = f" · {len(most) - 6:,} more kinds" if len(most) > 6 else ""
        yield "  not sent: " + " · ".join(f"{name} {many:,}" for name, many in most[:6]) + more
    if found.usage:
        forecast = Forecast.read(found, model)
        next_ = forecast.count(found.messages, found.provider)
        yield f"  the last recorded call was billed {found.usage[-1].prompt:,} tokens"
        yield f"  {forecast.beyond:,} of them are not in the file: system text, tools, what the agent did not log"
        yield f"  the next call would be billed about {next_:,}"


def _count(found: Transcript, counter: Counter) -> tuple[str, int, dict[str, int]]:
    """Return the messages' shape, their number and their tokens by kind."""
    import numpy as np

    from ..counting.counter import scan
    from ..ledger.columns import Kind, Role

    with Progress("counting"):
        ledger = scan(found.messages, counter, found.provider)
    tokens = np.zeros((len(Role), len(Kind)), dtype=np.uint64)
    np.add.at(tokens, (ledger.role[ledger.owner], ledger.kind), ledger.tokens)
    return ledger.provider, len(ledger), _by_kind(tokens.tolist(), ledger.total - int(tokens.sum()))


def _stream(text: Large, counter: Counter) -> tuple[str, int, dict[str, int]]:
    """Return the same of a list that is read in chunks, without repairs."""
    from ..formats import sums

    with Progress("counting", text.size) as progress:
        found = sums(progress.track(text.chunks), counter=counter, provider=text.provider)
    warn_skipped(found.skipped, found.lost)
    return found.provider, found.messages, _by_kind(found.tokens, found.framing)


def _by_kind(tokens: list[list[int]], overhead: int) -> dict[str, int]:
    """Return tokens by kind: text by role, the rest by kind of block.

    Args:
        tokens: tokens by role and kind of block.
        overhead: tokens of the messages that belong to no block.
    """
    from ..ledger.columns import Kind, Role

    text = [of[Kind.TEXT] for of in tokens]
    counts = {"user": text[Role.USER], "assistant": text[Role.ASSISTANT], "system": text[Role.SYSTEM]}
    for name, kinds in KINDS.items():
        counts[name] = sum(of[Kind[kind]] for of in tokens for kind in kinds)
    rest = sum(map(sum, tokens)) - sum(counts.values())  # text of tools and of unknown roles
    return counts | {"message_overhead": overhead + rest}
