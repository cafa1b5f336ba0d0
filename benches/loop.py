"""Cost of trimtab in an agent's loop, row by row, beside what other libraries do there; ``make bench-loop``.

A turn is ``fit`` and ``record`` after two messages more, below the trigger, with a system text and 20 tools. All rows
take turns round by round, and so do the libraries within a row. Times are CPU time of the process and all its threads,
or of the child where the row is a command; medians of the rounds, in brackets the time over trimtab's. Exits with 1 if
a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
from itertools import chain

import _loop_lists
import _loop_rivals
import _rivals
from _loop_row import TRIMTAB, Row

SMALL = 50
"""Divisor of all sizes where the bench is only tried."""


def rows(scale: int, wanted: list[str], rivals: dict[str, str]) -> list[Row]:
    """Return the rows with one of the wanted words in their name, or all."""
    import _loop_costs
    import _loop_many
    import _loop_turns

    made = chain(
        _loop_turns.turn_rows(scale, rivals),
        _loop_turns.growth_rows(scale),
        _loop_costs.object_rows(scale),
        _loop_costs.list_rows(scale),
        _loop_costs.thread_rows(scale),
        _loop_costs.command_rows(scale),
        _loop_many.many_rows(scale),
    )
    return [row for row in made if not wanted or any(word in row.name for word in wanted)]


def shown(value: float) -> str:
    """Return a figure with three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(found: list[Row], rivals: dict[str, str]) -> str:
    """Return the table in Markdown."""
    heads = ["what", TRIMTAB, "goal", "", *rivals]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in found:
        medians = row.medians()
        own = medians[TRIMTAB]
        verdict = {None: "", True: "met", False: "missed"}[row.met]
        cells = [row.name, f"{shown(own)} {row.unit}", "" if row.goal is None else f"{shown(row.goal)}", verdict]
        for name in rivals:
            other = medians.get(name)
            cells.append("" if other is None else f"{shown(other)} ({shown(other / own)} x)")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--small", action="store_true", help="a fiftieth of each size in two rounds, to try the bench")
    parser.add_argument(
        "--rows", action="append", default=[], metavar="NAME", help="rows with NAME in their name alone"
    )
    options = parser.parse_args()
    os.environ |= _rivals.NO_BLAS_THREAD
    import trimtab

    if _rivals.versions().get("tiktoken"):
        _rivals.write_vocabularies()
    rivals = _loop_rivals.installed()
    found = rows(SMALL if options.small else 1, options.rows, rivals)
    if not found:
        parser.error(f"no row has {' or '.join(options.rows)} in its name")
    rounds = 2 if options.small else options.rounds
    for number in range(rounds):
        for row in found:
            row.measure(number)
    packages = {_loop_rivals.RIVALS[name][0]: version for name, version in rivals.items() if version}
    versions = ", ".join(f"{name} {version}" for name, version in packages.items())
    print(f"{_rivals.machine()}, trimtab {trimtab.__version__}; {versions}")
    print(f"{rounds} rounds at most, input {_loop_lists.digest(_loop_lists.said(0, 5_000))}\n")
    print(table(found, rivals))
    missed = [row.name for row in found if row.met is False]
    print(f"\n{sum(row.met is True for row in found)} goals met, {len(missed)} missed")
    return int(bool(missed) and not options.small)


if __name__ == "__main__":
    sys.exit(main())
