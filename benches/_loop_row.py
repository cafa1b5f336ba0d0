"""A row of ``bench-loop``: one thing that is measured, by trimtab and by others."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TRIMTAB = "trimtab"


@dataclass
class Row:
    """One line of the table.

    Attributes:
        name: what is measured.
        unit: of the figures.
        columns: by column, what makes the figure of one round.
        goal: the most that trimtab may have; None without one.
        rounds: most rounds; a row that takes minutes has few.
    """

    name: str
    unit: str
    columns: dict[str, Callable[[], float]]
    goal: float | None = None
    rounds: int = 100
    figures: dict[str, list[float]] = field(default_factory=dict)

    def measure(self, number: int) -> None:
        """Take the figures of one round; the columns take turns at being first."""
        names = [*self.columns] if number < self.rounds else []
        for name in names[number % max(len(names), 1) :] + names[: number % max(len(names), 1)]:
            self.figures.setdefault(name, []).append(self.columns[name]())

    def medians(self) -> dict[str, float]:
        """Median of each column's figures."""
        return {name: statistics.median(self.figures[name]) for name in self.columns}

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without a goal."""
        return None if self.goal is None else self.medians()[TRIMTAB] <= self.goal


def spent(call: Callable[[], object]) -> float:
    """CPU time of a call in seconds, of all threads of the process."""
    start = time.process_time_ns()
    call()
    return (time.process_time_ns() - start) / 1e9


def one(name: str, unit: str, measure: Callable[[], float], goal: float | None = None, rounds: int = 100) -> Row:
    """Return a row of trimtab alone."""
    return Row(name, unit, {TRIMTAB: measure}, goal, rounds)
