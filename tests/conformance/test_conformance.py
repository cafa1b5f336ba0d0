"""Each conformance case is an operation of the library with what must come of it.

``TRIMTAB_CASES`` names the folder of the cases, ``../shared/cases/must`` where it is not set; ``check.py`` beside it
says what their expectations mean.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path
from typing import Any

import adapter
import pytest

import conformance
import trimtab

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


@AT_HAND
def test_every_case_holds_without_parity_or_has_its_reason_in_a_sentence() -> None:
    differ = conformance.without_parity()
    assert set(differ) == set(conformance.DIFFERS)
    assert len(cases()) - len(differ) == 331
    for reason in conformance.DIFFERS.values():
        assert re.fullmatch(r"[A-Z].{20,}\.", reason)


@pytest.mark.parametrize("name", ["validate_anthropic", "repair"])
def test_an_unknown_option_of_the_request_is_an_error(name: str) -> None:
    given = {"messages": [{"role": "user", "content": "hi"}], "options": {"colour": "red"}}
    with pytest.raises(TypeError, match="colour"):
        adapter.run(name, given if name != "repair" else {**given, "provider": "anthropic"})


@pytest.mark.parametrize("name", sorted(adapter.OPS))
def test_an_unknown_option_of_an_operation_is_an_error(name: str) -> None:
    with pytest.raises((TypeError, trimtab.ConfigError)):
        adapter.run(name, {"colour": "red"})
