"""The outcome of a fault-injection scenario, and the messages that scenarios store."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.archives import said
from support.models import CLAUDE

if TYPE_CHECKING:
    import random

MODEL = CLAUDE


@dataclass
class Outcome:
    """Counts and failures of a scenario.

    Attributes:
        cases: injected faults; in a scenario without faults, the checks made.
        failures: broken guarantees, a sentence each.
        counts: other numbers of the run, by name.
    """

    cases: int = 0
    failures: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def check(self, ok: bool, failure: str) -> None:
        if not ok:
            self.failures.append(failure)


_HEADS = ("ba", "co", "du", "fe", "gi", "ho", "ju", "ka", "le", "mi", "no", "pu")
VOCABULARY = [head + tail for head in _HEADS for tail in ("bar", "cane", "dot", "ünd", "日本", "gg")]


def words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(VOCABULARY) for _ in range(count))


def conversation(rng: random.Random, messages: int) -> list[dict[str, Any]]:
    """At least ``messages`` messages of an agent; about a third is tool output."""
    made: list[dict[str, Any]] = [said("begin: " + words(rng, 10))]
    while len(made) < messages:
        call_id = f"call_{rng.randrange(10**9)}"
        call = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": words(rng, 6)}}
        result = {"type": "tool_result", "tool_use_id": call_id, "content": words(rng, rng.randrange(10, 200))}
        made += [
            {"role": "assistant", "content": [{"type": "text", "text": words(rng, 20)}, call]},
            {"role": "user", "content": [result]},
            said(words(rng, 30), "assistant"),
            said(words(rng, 15)),
        ]
    return made


def numbered(writer: int, k: int) -> list[dict[str, Any]]:
    """The messages of a writer's k-th compaction: the first is in all of them, the others in this one alone."""
    return [said("seen again"), said(f"{writer} {k}"), said(f"{writer} {k} " + "x" * 3000, "assistant")]
