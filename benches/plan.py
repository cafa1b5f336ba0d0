"""What deciding costs for 1,000,000 messages; ``make bench-plan``.

A row a policy: the median of the plans, and that of two rivals on the same messages: LangChain's search for a cut-off
(``trim_messages`` counts message by message; here its search alone, with the counts given), and a partition in plain
Python. All in one process, in turn.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable  # noqa: TC003 - read with the module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import oracle  # noqa: E402 - beside the tests, not in the package
import trimtab  # noqa: E402
from trimtab._decide import decide  # noqa: E402
from trimtab.policies import POLICIES  # noqa: E402

ROUNDS = 7
LIMIT = 0.050
"""Seconds that no policy may take."""


def transcript(count: int) -> list[dict[str, object]]:
    """So many messages: requests, calls with their results, answers."""
    call = {"id": "", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    out: list[dict[str, object]] = []
    for n in range(count // 4):
        out += [
            {"role": "user", "content": f"step {n}: do what is to be done"},
            {"role": "assistant", "content": "looking", "tool_calls": [{**call, "id": f"c{n}"}]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"file {n} " + "of many words " * (n % 7)},
            {"role": "assistant", "content": "done"},
        ]
    return out


def cutoff(costs: list[int], roles: list[int], keep: int) -> int:
    """Where a search by halves over the messages cuts, and goes on to the next one that a user said."""
    low, high = 0, len(costs)
    while low < high:
        middle = (low + high) // 2
        if sum(costs[middle:]) <= keep:
            high = middle
        else:
            low = middle + 1
    while low < len(costs) and roles[low] != 0:
        low += 1
    return low


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> int:
    """Prints the table; 1 where a policy takes longer than it may."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    messages = transcript(count)
    ledgers: dict[str, trimtab.Ledger] = {}
    works: dict[str, Callable[[], object]] = {}
    for name, policy in POLICIES.items():
        counter = policy.counter.counter() if policy.counter else trimtab.Counter.chars()
        key = repr(policy.counter)
        if key not in ledgers:
            ledgers[key] = trimtab.Ledger.of(messages, counter=counter, provider="openai_chat")
        held = ledgers[key]
        works[name] = lambda held=held, policy=policy: decide(held, policy, held.total // 3, window=200_000)
    first = next(iter(ledgers.values()))
    costs, roles, safe = first.per_message.tolist(), first.role.tolist(), first.safe.tolist()
    none = [False] * len(costs)
    keepers = [("tokens", 40_000), ("messages", 10), ("pins", 0)]
    works["(LangChain's search)"] = lambda: cutoff(costs, roles, 40_000)
    works["(plain Python)"] = lambda: oracle.partition(costs, safe, safe, none, none, keepers=keepers)
    took: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            took[name].append(seconds(work))
    print(f"{len(messages):,} messages, {ROUNDS} rounds, interleaved; trimtab {trimtab.__version__}")
    late = []
    for name, times in took.items():
        middle = statistics.median(times)
        print(f"{name:24} {middle * 1000:9.1f} ms   ({min(times) * 1000:.1f} to {max(times) * 1000:.1f})")
        late += [name] if name in POLICIES and middle > LIMIT else []
    if late:
        print(f"over {LIMIT * 1000:.0f} ms: {', '.join(late)}")
    return bool(late)


if __name__ == "__main__":
    raise SystemExit(main())
