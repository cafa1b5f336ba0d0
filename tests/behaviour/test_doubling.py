"""Time over doubled input: what was quadratic is not."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from trimtab import repair

ROOT = Path(__file__).resolve().parents[2]


def call(n):
    return {"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}}


def result(n):
    return {"type": "tool_result", "tool_use_id": f"t{n}", "content": "x"}


def talk(blocks):
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": "on"},
    ]


SHAPES = {
    "empty blocks": lambda n: talk([{"type": "text", "text": ""}] * n + [{"type": "text", "text": "x"}]),
    "unanswered calls": lambda n: talk([*map(call, range(n))]),
    "messages of orphans": lambda n: [
        *talk([call(-1)])[:1],
        *({"role": "user", "content": [result(i)]} for i in range(n)),
    ],
    "neighbours": lambda n: [{"role": "user", "content": "x"}] * n,
}


def calls(messages):
    """The number of calls of functions in which a list is repaired."""
    made = 0

    def profile(_frame, event, _argument):
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        done = repair(messages, provider="anthropic", alternation=True)
    finally:
        sys.setprofile(None)
    assert done.changes
    return made


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_repair_makes_calls_in_proportion_to_its_list(shape):
    calls(shape(10))  # the first one loads modules
    assert calls(shape(1_600)) <= 9 * calls(shape(200))


def seconds(messages):
    best = 60.0
    for _ in range(3):
        start = time.process_time()
        done = repair(messages, provider="anthropic", alternation=True)
        best = min(best, time.process_time() - start)
    assert done.changes
    return best


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_repair_takes_time_in_proportion_to_its_list(shape):
    """Eight times the list: 64 times the time where it is quadratic, 8 where it is linear."""
    assert seconds(shape(16_000)) < 24 * max(seconds(shape(2_000)), 0.002)


@pytest.mark.slow
def test_the_bench_of_doubled_inputs_prints_a_row_for_each_function():
    command = [sys.executable, str(ROOT / "benches" / "doubling.py"), "--small", "--rounds", "1"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line for line in printed.splitlines() if line.startswith("| ")]
    assert len(rows) > 150
    for name in ("validate", "repair", "count", "split", "read", "truncate", "Compactor.fit", "Compactor.restore"):
        assert any(row.startswith(f"| {name} |") for row in rows), name
