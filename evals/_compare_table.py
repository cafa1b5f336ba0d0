"""The rows and tables of ``compare.py``."""

from __future__ import annotations

from dataclasses import dataclass, field

OURS = "**trimtab: `fit`**"
"""The name of our row; rows of our adapters have ``trimtab`` in theirs."""


@dataclass
class Row:
    """What a table shows of one way in one session; ``reason`` stands in for everything if it did not run."""

    name: str
    over: int = 0
    invalid: int = 0
    calls: int = 0
    summaries: int = 0
    dollars: float = 0.0
    cached: float = 0.0
    last: int = 0
    kept: dict[str, tuple[int, int]] = field(default_factory=dict)
    reason: str = ""

    def cells(self, kinds: list[str]) -> list[str]:
        """Return what stands in its columns."""
        if self.reason:
            return [self.name, self.reason, *[""] * (5 + len(kinds) - 1)]
        over = f"{self.over}" + (f", {self.invalid} invalid" if self.invalid else "")
        calls = f"{self.calls} + {self.summaries}" if self.summaries else f"{self.calls}"
        kept = ["{} of {}".format(*self.kept[kind]) for kind in kinds]
        return [self.name, over, calls, f"{self.dollars:.2f}", f"{100 * self.cached:.1f} %", f"{self.last:,}", *kept]


def table(rows: list[Row]) -> list[str]:
    """Return the lines of a table, whose columns are as wide as their cells."""
    there = next((row.kept for row in rows if row.kept), {})
    kinds = [kind for kind, (_, many) in there.items() if many]
    head = ["", "over the window", "calls", "dollars", "cached", "last prompt", *kinds]
    cells = [head, *(row.cells(kinds) for row in rows)]
    widths = [max(len(row[at]) for row in cells if not (row[2:3] == [""] and at == 1)) for at in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]


def better(rows: list[Row]) -> list[str]:
    """Return where other rows without a prompt over the window are better than ours."""
    (ours,) = (row for row in rows if row.name == OURS)
    others = [row for row in rows if "trimtab" not in row.name and not (row.reason or row.over or row.invalid)]
    found = [("dollars", [row for row in others if round(row.dollars, 2) < round(ours.dollars, 2)])]
    found += [("cached", [row for row in others if round(row.cached, 3) > round(ours.cached, 3)])]
    found += [(kind, [row for row in others if row.kept[kind][0] > ours.kept[kind][0]]) for kind in ours.kept]
    return [f"- {what}: {', '.join(row.name for row in whose)}" for what, whose in found if whose]
