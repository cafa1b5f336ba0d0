"""Agent sessions under every policy, with the compactions that were made; ``make bench-policies``.

A row plays a whole session through ``fit``, at every moment of the agent loop: counting, planning, the offline
summarizer and the archive in memory. Its name has the numbers of calls and compactions, and of prunings: compactions
that shorten results and remove no message. A policy that did neither fails the bench; in the recorded session, each has
to compact. Every policy gets a window that the session overflows: the generated session is several times 200,000
tokens, which the documents of the policies are written for; for the recorded one, windows and the policies' numbers are
scaled down to half of its tokens.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from _transcripts import digest, runs

import trimtab
from support.windows import filled_policy
from trimtab.policies import POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = "claude-sonnet-4-5"
RECORDED = trimtab.formats.EXAMPLE
WINDOW, OUTPUT = 200_000, 4_000
RUNS, FEW_RUNS = 150, 75
"""Runs of the agent in the generated session, about 3,600 tokens each."""
LINES = (10, 20, 40, 80)
"""Lengths of a result: a run is 20,000 tokens at most, so that policies which act after a run act in time."""
ROUNDS = 3

Session = list[list[dict[str, Any]]]


@cache
def recorded() -> Session:
    """The example session, a list for each run of the agent."""
    found: Session = []
    for message in trimtab.read(RECORDED).messages:
        if message["role"] == "user" and isinstance(message["content"], str):
            found.append([])
        found[-1].append(message)
    return found


def in_full_window(name: str) -> trimtab.Compactor:
    return trimtab.Compactor(MODEL, policy=name, window=WINDOW, max_output=OUTPUT)


def in_half_window(name: str) -> trimtab.Compactor:
    messages = [message for run in recorded() for message in run]
    half = trimtab.Compactor(MODEL, policy=name).count(messages) // 2
    return trimtab.Compactor(MODEL, policy=filled_policy(name, half), window=half + OUTPUT, max_output=OUTPUT)


@dataclass
class Played:
    """Counts of a policy in a session: calls, compactions, and compactions that only shorten results."""

    calls: int = 0
    compactions: int = 0
    prunings: int = 0

    def __str__(self) -> str:
        prunings = f" and {self.prunings} prunings" if self.prunings else ""
        return f"{self.calls} calls, {self.compactions} compactions{prunings}"


def play(cm: trimtab.Compactor, session: Session) -> Played:
    """Plays a session through ``fit``. The compactor's own count stands for the provider's charge."""
    held: list[Any] = []
    played = Played()

    def fit(*moments: Any) -> None:
        nonlocal held
        for when in moments:
            fitted = cm.fit(held, when=when)
            held = list(fitted.messages)
            if fitted.compaction and fitted.compaction.ref:
                is_pruning = fitted.compaction.plan.zone() is None
                played.prunings += is_pruning
                played.compactions += not is_pruning

    for run in session:
        for message in run:
            if message["role"] == "user":
                held.append(message)
                if message is not run[0]:
                    fit("after_step", "after_tool_batch")
                continue
            fit("before_call")
            cm.record({"input_tokens": cm.count(held), "output_tokens": 100})
            played.calls += 1
            held.append(message)
        fit("after_step", "after_run")
    return played


@pytest.mark.parametrize("name", POLICIES)
def test_generated_session(benchmark: Any, name: str, small: bool) -> None:
    played = measure(benchmark, name, "generated", runs(FEW_RUNS if small else RUNS, LINES), in_full_window)
    assert played.compactions + played.prunings > 0


@pytest.mark.parametrize("name", POLICIES)
def test_recorded_session(benchmark: Any, name: str) -> None:
    assert measure(benchmark, name, "recorded", recorded(), in_half_window).compactions > 0


def measure(
    benchmark: Any, name: str, kind: str, session: Session, compactor: Callable[[str], trimtab.Compactor]
) -> Played:
    """Measures one row. Returns what the policy did."""
    played = play(compactor(name), session)
    messages = [message for run in session for message in run]
    benchmark.group = f"{kind} session, {len(messages):,} messages, {digest(messages)}"
    benchmark.name = f"{name}: {played}"
    benchmark.extra_info.update(policy=name, **asdict(played))
    benchmark.pedantic(play, setup=lambda: ((compactor(name), session), {}), rounds=ROUNDS)
    return played
