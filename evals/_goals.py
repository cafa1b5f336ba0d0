"""Measures with goals and committed floors, for gates of evaluations.

A measure whose goal is reached is met. One that misses its goal must not fall below its floor, a figure in a TOML file
that stands 2 points from what was reached when it was written; without a floor, the goal is the floor.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SLACK = 2.0  # points below today's figure
HEAD = "# Floors of measures that miss their goal, in percent: `python evals/summaries.py --floors` writes them.\n"


@dataclass(frozen=True, slots=True)
class Measure:
    """A share in percent of ``of`` items, and what it should be."""

    name: str
    got: float
    of: int
    goal: float
    at_most: bool = False

    def reaches(self, bound: float) -> bool:
        """Whether the figure is as good as a bound."""
        return self.got <= bound + 1e-9 if self.at_most else self.got >= bound - 1e-9

    def floor(self) -> float:
        """The floor to commit: today's figure less the slack, rounded away from it."""
        if self.at_most:
            return math.ceil((self.got + SLACK) * 10) / 10
        return max(math.floor((self.got - SLACK) * 10) / 10, 0.0)


@dataclass(slots=True)
class Share:
    """A count of items and of those that have a property."""

    yes: int = 0
    of: int = 0

    def add(self, yes: int, of: int = 1) -> None:
        """Counts items."""
        self.yes += yes
        self.of += of

    def measure(self, name: str, goal: float, *, at_most: bool = False) -> list[Measure]:
        """The share as a measure; none where nothing was counted."""
        return [Measure(name, 100 * self.yes / self.of, self.of, goal, at_most)] if self.of else []


def verdict(measure: Measure, floors: dict[str, float]) -> tuple[str, bool]:
    """A measure's line, and whether the gate holds."""
    bound = f"at most {measure.goal:g}" if measure.at_most else f"{measure.goal:g}"
    line = f"{measure.name}: {measure.got:.1f} % of {measure.of:,}, goal {bound}, "
    if measure.reaches(measure.goal):
        return line + "met", True
    floor = floors.get(measure.name)
    if floor is None:
        return line + "missed, and no floor is committed", False
    if measure.reaches(floor):
        return line + f"missed: goal not reached, floor {floor:g}", True
    return line + f"missed: worse than the floor {floor:g}", False


def floors(path: Path, mode: str) -> dict[str, float]:
    """The committed floors of a mode."""
    found = tomllib.loads(path.read_text()) if path.exists() else {}
    return {name: float(value) for name, value in found.get(mode, {}).items()}


def write_floors(path: Path, mode: str, measures: Iterable[Measure]) -> None:
    """Writes a mode's floors anew, and leaves those of other modes and of what was not measured."""
    tables = tomllib.loads(path.read_text()) if path.exists() else {}
    measured = {one.name: one for one in measures}
    left = {name: value for name, value in tables.get(mode, {}).items() if name not in measured}
    tables[mode] = left | {one.name: one.floor() for one in measured.values() if not one.reaches(one.goal)}
    parts = [HEAD]
    for name, table in sorted(tables.items()):
        parts.append(f"\n[{name}]\n" + "".join(f'"{key}" = {value:.1f}\n' for key, value in table.items()))
    path.write_text("".join(parts))
