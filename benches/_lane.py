"""A lane of faults: what is done to an archive, and what came of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trimtab.archive import Record

if TYPE_CHECKING:
    import random


@dataclass
class Lane:
    """What came of a lane.

    Attributes:
        points: faults that were done.
        faults: what went wrong; empty is the promise kept.
        notes: numbers beside it.
    """

    points: int = 0
    faults: list[str] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    def check(self, ok: bool, fault: str) -> None:  # noqa: FBT001 - a statement that holds or not
        if not ok:
            self.faults.append(fault)


def said(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choice(VOCABULARY) for _ in range(count))


_HEADS = ("ba", "co", "du", "fe", "gi", "ho", "ju", "ka", "le", "mi", "no", "pu")
VOCABULARY = [head + tail for head in _HEADS for tail in ("bar", "cane", "dot", "ünd", "日本", "gg")]


def talk(chance: random.Random, messages: int) -> list[dict[str, Any]]:
    """A conversation in turns, a third of it tool output."""
    found: list[dict[str, Any]] = [said("begin: " + words(chance, 10))]
    while len(found) < messages:
        name = f"call_{chance.randrange(10**9)}"
        call = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": words(chance, 6)}}
        result = {"type": "tool_result", "tool_use_id": name, "content": words(chance, chance.randrange(10, 200))}
        found += [
            {"role": "assistant", "content": [{"type": "text", "text": words(chance, 20)}, call]},
            {"role": "user", "content": [result]},
            said(words(chance, 30), "assistant"),
            said(words(chance, 15)),
        ]
    return found


def record(ref: str, **fields: Any) -> Record:
    return Record(ref, **{"strategy": "hybrid", "tokens_before": 9, "tokens_after": 4, "plan": "{}", **fields})


def round_of(number: int, k: int) -> list[dict[str, Any]]:
    """The messages of the k-th compaction of a round: some seen before, some new."""
    return [said("seen again"), said(f"{number} {k}"), said(f"{number} {k} " + "x" * 3000, "assistant")]
