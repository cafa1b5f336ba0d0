"""Run the conformance cases and print how many hold, with parity and without; ``make conformance``.

With parity the documents' policies leave out the library's own rules (smaller or nothing, the last request stays, one
summary in an envelope, valid lists only). Users get the policies without parity: ``DIFFERS`` says why a case then has
another answer. ``--without-parity`` prints the names of these cases alone.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "conformance")]

SMALL = "The session has a few tokens, and a summary or a notice in its place would have more: the list stays as it is."
ORPHANS = "The case is a fragment, and a list that the provider refuses is not compacted."
LAST = "The session has nothing but its last messages, and these stay whatever is due."

DIFFERS = {
    "agentpg/compact/no-messages": "An empty list is refused before there is a compaction to fail.",
    "agentpg/hybrid/already-under-target": "Its call has no input: a list that the provider refuses is not compacted.",
    "agentpg/hybrid/mixed-blocks": ORPHANS,
    "agentpg/hybrid/placeholder-20-bytes-kept": ORPHANS,
    "agentpg/hybrid/placeholder-21-bytes-pruned": ORPHANS,
    "agentpg/hybrid/placeholder-text": ORPHANS,
    "goat/summary/generate": SMALL,
    "spec09/compact/multi-compact": "A summary stands in an envelope with its ref, not as the bare text of the model.",
    "sven/agent_flow/empty-summary-emergency": SMALL,
    "sven/agent_flow/event-strategy-and-turn": LAST,
    "sven/agent_flow/event-token-fields": LAST,
    "sven/agent_flow/llm-error-emergency": SMALL,
    "sven/agent_flow/rolling-preserves-recent": SMALL,
    "sven/agent_flow/snapshot-restored-before-emergency": SMALL,
    "sven/agent_flow/summary-call-has-no-tools": SMALL,
    "sven/agent_flow/walk-back-parallel-batch": (
        "A summary in its envelope would be larger than what it replaces, so old messages leave with a notice instead."
    ),
    "sven/emergency/keeps-at-most-n-plus-notice": SMALL,
    "sven/emergency/notice-text": SMALL,
}
"""The published cases that have another answer without parity, each with the reason."""


def run() -> dict[str, list[str]]:
    """Return the differences of each case from its expected answer; empty lists for those that hold."""
    from test_conformance import cases, judged

    found = {}
    for case in cases():
        try:
            found[case["name"]] = judged(case)
        except Exception as error:  # noqa: BLE001 - an error is an answer that differs
            found[case["name"]] = [f"{type(error).__name__}: {error}"]
    return found


def without_parity() -> list[str]:
    """Return the names of the cases that have another answer without parity, from a process of its own."""
    command = [sys.executable, __file__, "--without-parity"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def system_of(name: str) -> str:
    """Return the system of a case, by the case's name."""
    return name.partition("/")[0]


def main() -> int:
    """Print the rates, and exit with 1 where a case differs without a reason."""
    if "--without-parity" in sys.argv:
        from ops import table

        table.PARITY = False
        print(*(name for name, differences in run().items() if differences), sep="\n")
        return 0
    results, differ = run(), without_parity()
    for system in dict.fromkeys(map(system_of, results)):
        names = [name for name in results if system_of(name) == system]
        held, apart = sum(not results[name] for name in names), sum(system_of(name) == system for name in differ)
        print(f"{system:12} {held:4} of {len(names)}, {len(names) - apart} without parity")
    print(f"with parity     {sum(not failures for failures in results.values())} of {len(results)}")
    print(f"without parity  {len(results) - len(differ)} of {len(results)}")
    for name in differ:
        print(f"  {name}: {DIFFERS.get(name, 'no reason is known')}")
    broken = {name: failures for name, failures in results.items() if failures}
    for name, failures in broken.items():
        print(f"  {name}, with parity too:", *failures)
    return int(bool(broken) or set(differ) != set(DIFFERS))


if __name__ == "__main__":
    sys.exit(main())
