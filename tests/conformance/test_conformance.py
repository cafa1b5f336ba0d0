"""Each conformance case is an operation of the library with what must come of it.

``TRIMTAB_CASES`` names the folder of the cases, ``../shared/cases/must`` where it is not set; ``check.py`` beside it
says what their expectations mean.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import adapter
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("TRIMTAB_CASES") or ROOT.parent / "shared" / "cases" / "must")

IMPOSSIBLE: dict[str, str] = {}
"""Cases that cannot pass, each with the reason that the documents support."""


def evaluator() -> Any:
    """Load ``check.py``, the evaluator beside the cases."""
    spec = importlib.util.spec_from_file_location("check", FOLDER.parent / "check.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases() -> list[dict[str, Any]]:
    """All cases, in the order of their files."""
    return [case for path in sorted(FOLDER.rglob("*.json")) for case in json.loads(path.read_text())["cases"]]


def judged(case: dict[str, Any]) -> list[str]:
    """Return the differences from the expected answer; empty if there are none."""
    check = evaluator()
    expect = case["safe_expect"] if case.get("upstream_bug") and "safe_expect" in case else case["expect"]
    failures: list[str] = check.check(adapter.run(case["op"], check.expand(case["input"])), expect)
    return failures


NAMED = "TRIMTAB_CASES" in os.environ
AT_HAND = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no cases in {FOLDER}") if NAMED else pytest.mark.shared


@AT_HAND
@pytest.mark.parametrize("case", cases() if FOLDER.is_dir() else [], ids=lambda case: case["name"])
def test_every_case_holds(case: dict[str, Any]) -> None:
    if case["name"] in IMPOSSIBLE:
        pytest.skip(IMPOSSIBLE[case["name"]])
    assert judged(case) == []


def test_few_cases_are_called_impossible() -> None:
    assert len(IMPOSSIBLE) <= 10


if __name__ == "__main__":
    passed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for case in cases():
        system = case["name"].partition("/")[0]
        total[system] += 1
        try:
            failures = judged(case)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it is what is to be shown
            failures = [f"{type(error).__name__}: {error}"]
        passed[system] += not failures
        if failures:
            print(case["name"], case["op"], *failures)
    for system in total:
        print(f"{system:12} {passed[system]:4} of {total[system]}")
