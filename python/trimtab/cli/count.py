"""The verb count: what a session costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._input import add_file, large, load, model_of, tell_skipped
from ._progress import Progress
from ._say import answer, say

if TYPE_CHECKING:
    import argparse

    from .._counter import Counter
    from .._ledger import Ledger
    from ._input import Large

NAMES = {
    "results": ("RESULT", "SERVER_RESULT"),
    "calls": ("CALL", "SERVER_CALL"),
    "thinking": ("THINKING",),
    "pictures": ("IMAGE", "DOCUMENT"),
    "other": ("COMPACTION", "OPAQUE"),
}


DESCRIPTION = "What a session costs."


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The verb's options."""
    parser = verbs.add_parser("count", help="tokens of a session, by kind", description=DESCRIPTION)
    add_file(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Counts, and says how full the window is."""
    from .._compactor import Compactor
    from .._counter import Counter, scan
    from .._meter import Meter
    from .._request import overhead

    text = large(options)
    found = text.found if text else load(options)
    model = model_of(options, found)
    counter = Counter.for_model(model)
    if text:
        ledger = _scanned(text, counter)
    else:
        with Progress("counting"):
            ledger = scan(found.messages, counter, found.provider)
    fixed = overhead(counter, system=found.system, tools=found.tools)
    budget = Compactor(model, window=options.window).budget(system=found.system, tools=found.tools)
    kinds = by_kind(ledger)
    if options.json:
        answer(
            {
                "format": found.format,
                "provider": ledger.provider,
                "model": model,
                "messages": len(ledger),
                "tokens": ledger.total,
                "kinds": kinds,
                "beside": fixed,
                "compactions": found.compactions,
                "left_out": found.left_out,
                "counter": counter.explain(),
                "window": budget.window,
                "trigger": budget.trigger,
            }
        )
        return 0
    say(f"{len(ledger):,} messages   {ledger.total:,} tokens   ({counter.explain()})")
    say("  " + " · ".join(f"{name} {value:,}" for name, value in {**kinds, "beside": fixed}.items() if value))
    state = "over" if ledger.total > budget.trigger else "below"
    used = 100 * (ledger.total + fixed) / budget.window
    say(f"  {model}: window {budget.window:,}, used {used:.1f} %, {state} the trigger of {budget.trigger:,}")
    if found.compactions:
        places = ", ".join(f"{at:,}" for at in found.compactions)
        say(f"  compacted {len(found.compactions):,} times, before the messages {places}")
    if found.left_out:
        most = sorted(found.left_out.items(), key=lambda kind: -kind[1])
        more = f" · {len(most) - 6:,} more kinds" if len(most) > 6 else ""
        say("  not sent: " + " · ".join(f"{name} {many:,}" for name, many in most[:6]) + more)
    if found.usage:
        meter = Meter.read(found, model)
        next_ = meter.count(found.messages, found.provider)
        say(f"  the last recorded call was charged {found.usage[-1].prompt:,} tokens")
        say(f"  {meter.beyond:,} of them are not in the file: system text, tools, what the agent did not log")
        say(f"  the next one would be charged about {next_:,}")
    return 0


def _scanned(text: Large, counter: Counter) -> Ledger:
    """The ledger of a list that is read in chunks; nothing in it is repaired."""
    from ..formats import scan

    with Progress("counting", text.size) as progress:
        found = scan(progress.over(text.chunks), counter=counter, provider=text.provider)
    tell_skipped(found.skipped, found.lost)
    return found.ledger


def by_kind(ledger: Ledger) -> dict[str, int]:
    """Tokens by what they are: text by who speaks, the rest by kind."""
    from .._ledger import Kind, Role

    kind, tokens = ledger.kind, ledger.tokens.astype("int64")
    role = ledger.role[ledger.owner]
    text = kind == Kind.TEXT
    counts = {
        name: int(tokens[text & (role == value)].sum())
        for name, value in (("user", Role.USER), ("assistant", Role.ASSISTANT), ("system", Role.SYSTEM))
    }
    for name, kinds in NAMES.items():
        counts[name] = sum(int(tokens[kind == Kind[k]].sum()) for k in kinds)
    return counts | {"framing": ledger.total - sum(counts.values())}
