"""What pruning costs and saves: recorded sessions, billed call by call with a prompt cache; ``make bench-pays``.

Reads the session files of ``../shared/data/transcripts``. Each is replayed as an agent's loop: before every answer
``fit`` is called and its list is sent. Tokens with which the prompt before began are billed as read from the cache, the
rest as written to it. Only messages are billed: the answers are the same in each row. The window is so large that no
trigger interferes.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _rivals

from trimtab import Compactor, Counter, Error, Model, Policy, Transcript, read
from trimtab.models.model import Price
from trimtab.policies import POLICIES

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "transcripts"
WINDOW = 20_000_000
CALLS, TOKENS = 20, 60_000
"""Least number of calls and of tokens of a session: in a smaller one nothing is beyond the protected window."""

NEXT, PAUSE = 30.0, 7_200.0
"""Seconds between two calls, and those of a pause after which every cache is cold."""

DEFAULT, UNPRICED = POLICIES["default"], Price()
assert DEFAULT.prune is not None
EAGER = replace(DEFAULT, prune=replace(DEFAULT.prune, min_gain=1))
WAYS: dict[str, tuple[Policy, Price | None] | None] = {
    "nothing is pruned": None,
    "whatever is old, at each call": (EAGER, UNPRICED),
    "20,000 tokens at once": (DEFAULT, UNPRICED),
    "the rule": (DEFAULT, None),
}
"""Policy and prices by row; without prices, the least amount alone decides, and None are those of the model."""


@dataclass
class Clock:
    """Seconds that pass as the replay says."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Bill:
    """What the prompts of a session cost.

    Attributes:
        dollars: their price.
        edits: how often the list was pruned.
        sent: tokens of all prompts.
    """

    dollars: float = 0.0
    edits: int = 0
    sent: int = 0


@dataclass
class Replay:
    """A session as an agent's loop.

    Attributes:
        transcript: the session.
        model: the model that is billed.
        stops: the length of each call's prompt.
        costs: tokens by message, by its id; the messages live as long as this.
        kept: the messages.
    """

    transcript: Transcript
    model: Model
    stops: list[int]
    costs: dict[int, int] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)

    def tokens(self, messages: list[Any]) -> list[int]:
        """Return the tokens of each message; each is counted once."""
        new = [message for message in messages if id(message) not in self.costs]
        if new:
            counted = Counter.for_model(self.model).per_message(new, provider=self.transcript.provider)
            self.costs.update(zip(map(id, new), map(int, counted), strict=True))
            self.kept += new
        return [self.costs[id(message)] for message in messages]

    def bill(self, way: tuple[Policy, Price | None] | None, every: int) -> Bill:
        """Return the bill of the session; each ``every``-th call comes after a pause, or none."""
        bill, clock, price = Bill(), Clock(), self.model.price
        cm = None
        if way is not None:
            policy, prices = way
            known = replace(self.model, price=price if prices is None else prices)
            shape = self.transcript.provider
            cm = Compactor(known, policy=policy, provider=shape, window=WINDOW, clock=clock)
        messages: list[Any] = []
        sent: list[Any] = []
        for number, (start, stop) in enumerate(zip([0, *self.stops], self.stops, strict=False)):
            pauses = every > 0 and number % every == every - 1
            clock.now += PAUSE if pauses else NEXT
            messages = [*messages, *self.transcript.messages[start:stop]]
            if cm is not None:
                fitted = cm.fit(messages)
                bill.edits += fitted.compaction is not None
                messages = list(fitted.messages)
            tokens = self.tokens(messages)
            pairs = enumerate(zip(sent, messages, strict=False))
            same = next((at for at, (old, new) in pairs if old is not new), min(len(sent), len(messages)))
            cached = 0 if pauses else sum(tokens[:same])
            written = sum(tokens) - cached
            bill.dollars += (cached * price.cache_read + written * price.cache_write) / 1e6
            bill.sent += cached + written
            sent = messages
            if cm is not None:
                usage = {"cache_read_input_tokens": cached, "cache_creation_input_tokens": written}
                cm.record({"input_tokens": 0, **usage})
        return bill


def replays(most: int | None) -> Iterator[Replay]:
    """Yield the sessions that are long enough."""
    for path in sorted(FOLDER.rglob("*"))[:most]:
        if not path.is_file() or path.name == "manifest.csv":
            continue
        try:
            found = read(path)
        except Error:
            continue
        model = Model.named("claude-sonnet-4-6" if found.provider == "anthropic" else "gpt-5.5")
        roles = ["assistant" if is_answer(message) else "user" for message in found.messages]
        stops = [n for n in range(1, len(roles)) if roles[n] == "assistant" != roles[n - 1]]
        made = Replay(found, model, stops)
        if len(stops) >= CALLS and sum(made.tokens(found.messages)) >= TOKENS:
            yield made


def is_answer(message: dict[str, Any]) -> bool:
    """Return whether a message is the model's; an item of OpenAI's Responses without a role is, except for results."""
    role = message.get("role")
    return role in {"assistant", "model"} if role else not str(message.get("type")).endswith("_output")


def main() -> None:
    """Print a table for each model and for each rhythm of calls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="the first files alone")
    if not FOLDER.is_dir():
        print(f"skipped: no recorded sessions at {FOLDER}")
        return
    by_model: dict[str, list[Replay]] = defaultdict(list)
    for made in replays(60 if parser.parse_args().small else None):
        by_model[made.model.name].append(made)
    print(f"{_rivals.machine()}; trimtab {_rivals.versions()['trimtab']}")
    for model, found in by_model.items():
        for every, rhythm in ((0, "every call finds a warm cache"), (10, "each tenth call comes after two hours")):
            print(f"\n{model}, {len(found)} sessions, {sum(len(made.stops) for made in found):,} calls; {rhythm}\n")
            print("| what is pruned | dollars | less | prompts' tokens, millions | times |")
            print("|---|---|---|---|---|")
            whole = 0.0
            for name, way in WAYS.items():
                bills = [made.bill(way, every) for made in found]
                dollars = sum(bill.dollars for bill in bills)
                whole = whole or dollars
                sent, edits = sum(bill.sent for bill in bills) / 1e6, sum(bill.edits for bill in bills)
                print(f"| {name} | {dollars:.2f} | {1 - dollars / whole:.1%} | {sent:.1f} | {edits:,} |", flush=True)


if __name__ == "__main__":
    main()
