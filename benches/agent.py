"""A simulated agent of 2,000 turns through Anthropic's SDK against a strict server; ``make bench-agent``.

The same seeded load three times: with summaries in the background, with blocking ones, and with blocking ones and no
rule for the provider's cache. ``fit`` is measured in CPU time of the agent's thread, which leaves out every wait for a
summary, and by the clock. The faults (429, 529, stall, cut stream, garbage, overflow) are those of
``tests/support/simulated.py``.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import _rivals

import trimtab
from trimtab.policies import POLICIES

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.simulated import MODEL, play

TURNS, SMALL = 2_000, 100
ANSWER, SUMMARY = 0.05, 0.1
"""Seconds that a call of the agent and one of the summarizer take: one to two, as in life."""

MESSAGES = 5_000


def uncached() -> trimtab.Policy:
    """Return the default policy without the rule for the provider's cache."""
    policy = POLICIES["default"]
    assert policy.prune is not None
    return replace(policy, prune=replace(policy.prune, pays=False, when=()))


def swap() -> float:
    """Return the CPU time of the ``fit`` that puts a ready summary in its place, in milliseconds."""
    said = {"role": "assistant", "content": "The build went on, and nothing else happened. " * 12}
    messages: list[Any] = [{"role": "user", "content": f"step {n}"} if n % 2 == 0 else said for n in range(MESSAGES)]
    tokens = trimtab.count(messages, model="claude-sonnet-4-5")
    window = int(tokens / 0.8 / 0.9)
    cm = trimtab.Compactor("claude-sonnet-4-5", window=window, max_output=1_000, background=True)
    cm.fit(messages)
    while "is being written" in cm.explain():
        time.sleep(0.05)
    while (limit := cm.budget().trigger) >= trimtab.count(messages, model="claude-sonnet-4-5"):
        messages += [{"role": "user", "content": "go on"}, said] * (limit // 20_000 + 1)
    cm.count(messages)
    start = time.thread_time()
    fitted = cm.fit(messages)
    spent = (time.thread_time() - start) * 1_000
    assert fitted.compaction is not None
    return spent


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help=f"{SMALL} turns")
    turns = SMALL if parser.parse_args().small else TURNS
    price = trimtab.Model.named(MODEL).price
    runs: dict[str, dict[str, Any]] = {
        "background": {"background": True},
        "blocking": {},
        "blocking, no cache rule": {"policy": uncached()},
    }
    play(60, faults=0.0)  # loads everything
    print(_rivals.machine())
    print(f"trimtab {_rivals.versions()['trimtab']}; {turns:,} turns; a call takes {ANSWER} s, a summary {SUMMARY} s\n")
    head = "longest fit, CPU ms | 99.9 %, CPU ms | longest by the clock, ms | compactions | summaries | cost, $"
    print(f"| run | {head} | agent's calls, $ | refused | lost |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, options in runs.items():
        run = play(turns, answer_seconds=ANSWER, summary_seconds=SUMMARY, **options)
        cpu = sorted(one[0] * 1_000 for one in run.stalls)
        clock = max(one[1] * 1_000 for one in run.stalls)
        prompts = (
            run.usage["input_tokens"] * price.input
            + run.usage["cache_read_input_tokens"] * price.cache_read
            + run.usage["cache_creation_input_tokens"] * price.cache_write
            + run.usage["output_tokens"] * price.output
        ) / 1e6
        most = cpu[int(len(cpu) * 0.999)]
        times = f"{cpu[-1]:.1f} | {most:.1f} | {clock:.0f} | {run.compactions} | {run.summaries} | {run.cost:.3f}"
        print(f"| {name} | {times} | {prompts:.2f} | {len(run.refused)} | {len(run.lost)} |", flush=True)
    print(
        f"\n`fit` that puts a ready summary in its place, {MESSAGES:,} messages, archive in memory: {swap():.1f} ms CPU"
    )


if __name__ == "__main__":
    main()
