"""The verb count: tokens of a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from .input import add_file, large, load, model_of, warn_skipped
from .output import answer, say
from .progress import Progress

if TYPE_CHECKING:
    import argparse

    from ..counting.counter import Counter
    from ..ledger.columns import Ledger
    from .input import Large

NAMES = {
    "results": ("RESULT", "SERVER_RESULT"),
    "calls": ("CALL", "SERVER_CALL"),
    "thinking": ("THINKING",),
    "pictures": ("IMAGE", "DOCUMENT"),
    "other": ("COMPACTION", "OPAQUE"),
}


DESCRIPTION = "Count the tokens of a session, by kind."


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb and its options."""
    parser = verbs.add_parser("count", help="tokens of a session, by kind", description=DESCRIPTION)
    add_file(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Count, and report how full the window is."""
    from ..counting.counter import Counter, overhead, scan
    from ..planning.forecast import Forecast
    from ..session.compactor import Compactor

    text = large(options)
    found = text.found if text else load(options)
    model = model_of(options, found)
    counter = Counter.for_model(model)
    if text:
        cost = _summed(text, counter)
    else:
        with Progress("counting"):
            cost = Cost.of(scan(found.messages, counter, found.provider))
    fixed = overhead(counter, system=found.system, tools=found.tools)
    budget = Compactor(model, window=options.window).budget(system=found.system, tools=found.tools)
    if options.json:
        answer(
            {
                "format": found.format,
                "provider": cost.provider,
                "model": model,
                "messages": cost.messages,
                "tokens": cost.total,
                "kinds": cost.kinds,
                "beside": fixed,
                "compactions": found.compactions,
                "left_out": found.left_out,
                "counter": counter.explain(),
                "window": budget.window,
                "trigger": budget.trigger,
            }
        )
        return 0
    say(f"{cost.messages:,} messages   {cost.total:,} tokens   ({counter.explain()})")
    say("  " + " · ".join(f"{name} {value:,}" for name, value in {**cost.kinds, "beside": fixed}.items() if value))
    state = "over" if cost.total > budget.trigger else "below"
    used = 100 * (cost.total + fixed) / budget.window
    say(f"  {model}: window {budget.window:,}, used {used:.1f} %, {state} the trigger of {budget.trigger:,}")
    if found.compactions:
        places = ", ".join(f"{at:,}" for at in found.compactions)
        say(f"  compacted {len(found.compactions):,} times, before the messages {places}")
    if found.left_out:
        most = sorted(found.left_out.items(), key=lambda kind: -kind[1])
        more = f" · {len(most) - 6:,} more kinds" if len(most) > 6 else ""
        say("  not sent: " + " · ".join(f"{name} {many:,}" for name, many in most[:6]) + more)
    if found.usage:
        forecast = Forecast.read(found, model)
        next_ = forecast.count(found.messages, found.provider)
        say(f"  the last recorded call was charged {found.usage[-1].prompt:,} tokens")
        say(f"  {forecast.beyond:,} of them are not in the file: system text, tools, what the agent did not log")
        say(f"  the next one would be charged about {next_:,}")
    return 0


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens of messages.

    Attributes:
        provider: their shape.
        messages: number of messages.
        kinds: tokens by kind: text by role, the rest by kind of block.
    """

    provider: str
    messages: int
    kinds: dict[str, int]

    @property
    def total(self) -> int:
        """Sum of all tokens."""
        return sum(self.kinds.values())

    @classmethod
    def of(cls, ledger: Ledger) -> Self:
        """Return the cost of a ledger's messages."""
        import numpy as np

        from ..ledger.columns import Kind, Role

        tokens = np.zeros((len(Role), len(Kind)), dtype=np.uint64)
        np.add.at(tokens, (ledger.role[ledger.owner], ledger.kind), ledger.tokens)
        return cls(ledger.provider, len(ledger), by_kind(tokens.tolist(), ledger.total - int(tokens.sum())))


def _summed(text: Large, counter: Counter) -> Cost:
    """Return the cost of a list that is read in chunks, without repairs."""
    from ..formats import sums

    with Progress("counting", text.size) as progress:
        found = sums(progress.over(text.chunks), counter=counter, provider=text.provider)
    warn_skipped(found.skipped, found.lost)
    return Cost(found.provider, found.messages, by_kind(found.tokens, found.framing))


def by_kind(tokens: list[list[int]], framing: int) -> dict[str, int]:
    """Return tokens by kind, from tokens by role and kind of block."""
    from ..ledger.columns import Kind, Role

    text = [of[Kind.TEXT] for of in tokens]
    counts = {"user": text[Role.USER], "assistant": text[Role.ASSISTANT], "system": text[Role.SYSTEM]}
    for name, kinds in NAMES.items():
        counts[name] = sum(of[Kind[kind]] for of in tokens for kind in kinds)
    rest = sum(map(sum, tokens)) - sum(counts.values())  # text of tools and of unknown roles
    return counts | {"framing": framing + rest}
