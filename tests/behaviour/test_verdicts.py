"""The Python judge and the Rust judge of validity give the verdicts of one file (written by ``verdicts.rs``)."""

import json
from pathlib import Path

import pytest

from support import checker

LINES = [json.loads(line) for line in (Path(__file__).with_name("verdicts.jsonl")).read_text().splitlines()]


@pytest.mark.parametrize("provider", sorted({line["provider"] for line in LINES}))
def test_the_python_judge_gives_the_verdicts_of_the_file(provider):
    lines = [line for line in LINES if line["provider"] == provider]
    assert len(lines) > 100
    for line in lines:
        for in_flight in (False, True):
            found = checker.check(line["messages"], provider, in_flight=in_flight)
            assert (not found) is line["in_flight" if in_flight else "closed"], (line["kinds"], in_flight, found)
