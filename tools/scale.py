"""Write the tables of docs/scale.md: what jobs over many sessions cost, from rates that were measured; ``make docs``.

The rates are those that ``make bench-batch`` printed, in the page's first table; prices are assumptions that stand
beside the results. Nothing else goes into the numbers.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scale.md"
PARTS = (16, 256, 4_096)
"""Megabytes of a part."""

TERABYTE, PETABYTE = 10**12, 10**15
HOUR = 3_600

PRICES = {"a core of a large cloud, on demand": 0.05, "the same, spare capacity": 0.015}
"""Dollars an hour of one core; assumptions."""


def rates(text: str) -> dict[str, float]:
    """Return the measured megabytes a second of one core, by the job."""
    return {job: float(rate) for job, rate in re.findall(r"^\| `(\w+)` \|.*\| ([\d.]+) \|$", text, flags=re.MULTILINE)}


def table(found: dict[str, float]) -> str:
    """Return the table of costs."""
    heads = ["job", "core hours a TB", *(f"dollars a TB, {name}" for name in PRICES), "1 PB on 1,000 cores"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for job, rate in found.items():
        hours = TERABYTE / (rate * 1e6) / HOUR
        dollars = [f"{hours * price:,.2f}" for price in PRICES.values()]
        days = PETABYTE / (rate * 1e6) / HOUR / 1_000
        lines.append(f"| `{job}` | {hours:,.1f} | {' | '.join(dollars)} | {days:,.1f} hours |")
    return "\n".join(lines) + "\n"


def sizes(found: dict[str, float]) -> str:
    """Return the table of parts."""
    lines = [
        "| `--part-mb` | files of a table for 1 TB | for 1 PB | seconds of `count` on one core |",
        "|---|---|---|---|",
    ]
    for size in PARTS:
        files = [whole / size / 2**20 for whole in (TERABYTE, PETABYTE)]
        seconds = size * 2**20 / (found["count"] * 1e6)
        lines.append(f"| {size:,} | {files[0]:,.0f} | {files[1]:,.0f} | {seconds:,.1f} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """Return the page with its tables made anew."""
    found = rates(text.partition("<!--")[0])
    for name, made in (("costs", table(found)), ("parts", sizes(found))):
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        end = f"<!-- /{name} -->\n"
        text = before + mark + made + end + rest.partition(end)[2]
    return text


def main() -> int:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
