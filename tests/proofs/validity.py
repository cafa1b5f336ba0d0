"""No compacted or repaired list is invalid: the long runs behind ``docs/validity.md``; ``make proof``.

Every list that the library returns is judged by ``tests/support/checker.py``, which shares no code with it. Prints a
line a run, with the compactions made under each policy. Exits with 1 at the first invalid list, and if a policy
compacted nothing in a run of all policies.

    lists       every list of up to four messages over ten kinds, compacted under every policy
    seeded      longer lists over the same kinds, compacted under every policy
    repairs     every list of up to five messages over the same kinds, repaired
    histories   sessions that grow and are compacted up to five times
    sessions    the recorded sessions, compacted at every tenth message
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import trimtab
from proofs.generate import KINDS, blocks, from_kinds, next_messages, random_kinds, signatures_hold
from support.checker import check
from support.models import CLAUDE, CLAUDE_BOUND
from support.windows import IDLE, filled_window
from trimtab import repair
from trimtab.errors import NothingToCompactError
from trimtab.messages.envelope import summary_in
from trimtab.planning import Prune, StripThinking, Truncate
from trimtab.policies import POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable

SESSIONS = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
SLICE = 1_000
"""Seeds that share compactors: an archive in memory keeps what it is given, so a slice bounds it."""

BINDING, FREE = CLAUDE_BOUND, CLAUDE
"""Models that bind thinking to the messages before it, and that do not."""


class InvalidListError(Exception):
    """A list that a provider would refuse, with the list that it was made from."""


@dataclass
class Totals:
    """Totals of a run.

    Attributes:
        lists: lists that were compacted or repaired, or that the library had to refuse.
        refused: invalid lists that the library refused.
        compactions: compactions made, by policy.
        counts: other numbers of the run, by name.
    """

    lists: int = 0
    refused: int = 0
    compactions: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        more = "".join(f", {number:,} {name}" for name, number in sorted(self.counts.items()))
        return f"{self.lists:,} lists, {self.compactions.total():,} compacted, {self.refused:,} refused{more}"

    def by_policy(self) -> str:
        """The compactions made under each policy."""
        return ", ".join(f"{name} {number:,}" for name, number in self.compactions.items())


@cache
def large_window(policy: str, model: str, slice_: int) -> trimtab.Compactor:
    """A compactor with the model's own window; ``slice_`` tells those of one slice from those of another."""
    del slice_
    return trimtab.Compactor(model, policy=policy, provider="anthropic")


def compactor(policy: str, model: str, messages: list[dict], slice_: int = 0) -> trimtab.Compactor:
    """A compactor under which this policy can compact these messages.

    Some policies protect a number of tokens or a share of the window: they leave a short list in a large window alone.
    """
    if policy in IDLE:
        return filled_window(policy, model, messages)
    return large_window(policy, model, slice_)


def compacted(cm: trimtab.Compactor, messages: list[dict], share: float, totals: Totals, *, binds: bool) -> list[dict]:
    """The list after a compaction, judged; the list itself if nothing was compacted."""
    valid = check(messages, "anthropic", in_flight=True)
    totals.lists += 1
    try:
        done = cm.compact(messages, target_share=share)
    except NothingToCompactError:
        return messages
    except (trimtab.MessageError, trimtab.SummaryError):
        if not valid:
            raise
        totals.refused += 1
        return messages
    if done.ref is None:
        return messages
    totals.compactions[cm.policy.name] += 1
    made = list(done.messages)
    if faults := check(made, "anthropic", in_flight=True):
        raise InvalidListError(f"{faults[0]} in {json.dumps(made)} of {json.dumps(messages)}")
    if binds and not signatures_hold(made):
        raise InvalidListError(f"thinking behind an edit in {json.dumps(made)} of {json.dumps(messages)}")
    _check_identity(done, messages, made, totals)
    return made


def _check_identity(done: trimtab.Compaction, messages: list[dict], made: list[dict], totals: Totals) -> None:
    """Kept messages are the same objects, except those whose rows the plan edits."""
    objects = {id(message) for message in messages}
    rows = sum(
        len(e.rows) for e in done.plan.edits if isinstance(e, Prune | Truncate | StripThinking) or hasattr(e, "rows")
    )
    others = [message for message in made if id(message) not in objects]
    changed = [m for m in others if isinstance(m["content"], list) and any(b["type"] != "text" for b in m["content"])]
    if len(changed) > rows:
        raise InvalidListError(f"{len(changed)} messages changed, {rows} rows named: {done.plan}")
    totals.counts["kept identical"] += len(made) - len(others)
    totals.counts["summaries"] += sum(summary_in(message) is not None for message in made)


def run_lists(longest: int, totals: Totals) -> None:
    """Every list of up to ``longest`` messages under every policy."""
    for length in range(1, longest + 1):
        for kinds in itertools.product(KINDS, repeat=length):
            messages = from_kinds("".join(kinds), 600)
            if not _is_valid(messages):
                continue
            for policy in POLICIES:
                compacted(compactor(policy, FREE, messages), messages, 0.3, totals, binds=False)


def _is_valid(messages: list[dict]) -> bool:
    """Whether the provider takes the list. An invalid one must be refused; one policy shows it for all."""
    if not check(messages, "anthropic", in_flight=True):
        return True
    try:
        large_window("default", FREE, 0).compact(messages, target_share=0.3)
    except trimtab.MessageError:
        return False
    raise InvalidListError(f"compacted, though invalid: {json.dumps(messages)}")


def run_seeded(first: int, number: int, totals: Totals) -> None:
    """Longer valid lists, each under the next policy."""
    turns = list(itertools.product(POLICIES, (FREE, BINDING)))
    for seed in range(first, first + number):
        rng = random.Random(seed)
        messages = from_kinds(random_kinds(rng))
        while check(messages, "anthropic", in_flight=True):
            messages = from_kinds(random_kinds(rng))
        policy, model = turns[seed % len(turns)]
        cm = compactor(policy, model, messages, first)
        compacted(cm, messages, rng.uniform(0.1, 0.9), totals, binds=model == BINDING)


def run_repairs(longest: int, totals: Totals) -> None:
    """Every list of up to ``longest`` messages repaired, as it is sent and while calls run."""
    for length in range(1, longest + 1):
        for kinds in itertools.product(KINDS, repeat=length):
            messages = from_kinds("".join(kinds), 8)
            for in_flight in (False, True):
                done = repair(messages, provider="anthropic", in_flight=in_flight, model=CLAUDE)
                totals.lists += 1
                totals.counts["valid already"] += done.messages is messages
                if faults := check(list(done.messages), "anthropic", in_flight=in_flight):
                    raise InvalidListError(f"{faults[0]}: {kinds} became {json.dumps(done.messages)}")
                again = repair(done.messages, provider="anthropic", in_flight=in_flight, model=CLAUDE)
                lost = _texts(messages) - _texts(done.messages)
                if again.messages is not done.messages or lost:
                    raise InvalidListError(f"not idempotent, or lost {lost}: {kinds}")


def _texts(messages: list[dict]) -> set[str]:
    texts = {block["text"].strip() for message in messages for block in blocks(message) if block["type"] == "text"}
    return texts - {""}


def run_histories(first: int, number: int, totals: Totals) -> None:
    """Sessions of an agent that thinks and calls in parallel, compacted up to five times."""
    for seed in range(first, first + number):
        rng = random.Random(seed)
        binds = seed % 2 == 1
        policy = list(POLICIES)[seed // 2 % len(POLICIES)]
        messages: list[dict] = []
        for n in range(rng.randrange(1, 6)):
            messages = messages + next_messages(messages, rng, f"{seed}_{n}")
            cm = compactor(policy, BINDING if binds else FREE, messages, first)
            messages = compacted(cm, messages, rng.uniform(0.15, 0.85), totals, binds=binds)
        totals.counts["histories"] += 1


def run_sessions(step: int, totals: Totals) -> None:
    """Each recorded session, compacted as it stood at every ``step``-th message."""
    for path in sorted(p for p in SESSIONS.rglob("*") if p.is_file() and p.suffix in (".json", ".jsonl", ".traj")):
        try:
            found = trimtab.read(path)
        except trimtab.MessageError:
            totals.counts["files without messages"] += 1
            continue
        cm = trimtab.Compactor(found.model or FREE, provider=found.provider)
        totals.counts["files"] += 1
        for end in range(step, len(found.messages) + 1, step):
            totals.lists += 1
            messages = found.messages[:end]
            refused = check(messages, found.provider, in_flight=True)
            try:
                done = cm.compact(messages, target_share=0.5)
            except trimtab.MessageError:
                if not refused:
                    raise
                totals.refused += 1
                continue
            totals.compactions[cm.policy.name] += done.ref is not None
            faults = check(list(done.messages), found.provider, in_flight=True)
            if faults and not refused:
                raise InvalidListError(f"{faults[0]} in {path} at {end}")


def sliced(run: Callable[[int, int, Totals], None], number: int, totals: Totals) -> None:
    """A run of many seeds, a slice at a time."""
    for first in range(0, number, SLICE):
        run(first, min(SLICE, number - first), totals)
        large_window.cache_clear()
        if number > SLICE:
            print(f"  {run.__name__} up to {first + SLICE:,}: {totals}", file=sys.stderr, flush=True)


RUNS = {
    "lists": lambda n, totals: run_lists(min(n, 4), totals),
    "seeded": lambda n, totals: sliced(run_seeded, n, totals),
    "repairs": lambda n, totals: run_repairs(min(n, 6), totals),
    "histories": lambda n, totals: sliced(run_histories, n, totals),
    "sessions": run_sessions,
}
LONG = {"lists": 4, "seeded": 100_000, "repairs": 5, "histories": 50_000, "sessions": 10}
UNDER_ALL_POLICIES = ("lists", "seeded", "histories")


def main() -> int:
    """All runs, or those that are named, with their bounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", help=f"such as histories=1000; all where none is named ({', '.join(RUNS)})")
    for name, _, bound in (run.partition("=") for run in parser.parse_args().runs or RUNS):
        totals, start = Totals(), time.perf_counter()
        if name == "sessions" and not SESSIONS.exists():
            print(f"{name:<10} skipped: no {SESSIONS}")
            continue
        try:
            RUNS[name](int(bound or LONG[name]), totals)
        except InvalidListError as error:
            print(f"{name:<10} INVALID after {totals}: {error}")
            return 1
        print(f"{name:<10} {totals}; 0 invalid ({time.perf_counter() - start:.0f} s)", flush=True)
        if name in UNDER_ALL_POLICIES:
            print(f"           compactions by policy: {totals.by_policy()}", flush=True)
            if idle := POLICIES.keys() - totals.compactions.keys():
                print(f"           NO COMPACTION under {', '.join(sorted(idle))}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
