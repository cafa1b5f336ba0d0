"""Cost of trimtab in an agent's loop: CPU time and memory of Compactors and sessions; ``make bench-loop``."""

from __future__ import annotations

import argparse
import gc
import os
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _rivals

import trimtab

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = "claude-sonnet-4-5"
SESSIONS, MESSAGES = 1_000, 200


def cpu(make: Callable[[], object], rounds: int) -> float:
    """Return the least CPU time of a call in microseconds."""
    costs = []
    for _ in range(rounds):
        start = time.process_time_ns()
        make()
        costs.append((time.process_time_ns() - start) / 1_000)
    return min(costs)


def resident() -> float:
    """Return the resident memory of this process in kilobytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1_000


def held(make: Callable[[int], object], count: int) -> tuple[float, float]:
    """Return the kilobytes that each of ``count`` values holds: of Python's objects, and of the process."""
    gc.collect()
    before = resident()
    tracemalloc.start()
    kept = [make(number) for number in range(count)]
    gc.collect()
    traced = tracemalloc.get_traced_memory()[0] / 1_000
    tracemalloc.stop()
    grown = resident() - before
    return traced / len(kept), grown / len(kept)


def talk(number: int) -> list[Any]:
    """Return a conversation of its own."""
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": f"message {n} of {number}: " + "words " * 30} for n in range(MESSAGES)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a tenth of the sessions")
    count = SESSIONS // 10 if parser.parse_args().small else SESSIONS
    cm = trimtab.Compactor(MODEL)
    cm.session("warm").fit(talk(0))
    lists = [talk(number) for number in range(count)]

    def session(number: int) -> object:
        made = cm.session(f"session {number}")
        made.fit(lists[number])
        return made

    made = held(lambda _: trimtab.Compactor(MODEL), 200)
    each = held(session, count)
    print(_rivals.machine())
    print(f"trimtab {_rivals.versions()['trimtab']}; least CPU time of 500 calls\n")
    print("| what | CPU, us | Python's objects, KB | resident, KB |")
    print("|---|---|---|---|")
    compactor = cpu(lambda: trimtab.Compactor(MODEL), 500)
    print(f"| `Compactor(model)` | {compactor:.0f} | {made[0]:.1f} | {made[1]:.1f} |")
    print(f"| `cm.session(id)` | {cpu(lambda: cm.session('a'), 500):.0f} | | |")
    print(f"| a session after `fit` of {MESSAGES} messages | | {each[0]:.1f} | {each[1]:.1f} |")
    total = each[1] * count / 1e6
    print(f"\n{count:,} sessions of {MESSAGES} messages of one Compactor, without the messages: {total:.3f} GB")


if __name__ == "__main__":
    main()
