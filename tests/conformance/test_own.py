"""Our own cases hold, as the published ones do."""

from __future__ import annotations

import adapter
import own_agentpg
import own_agents
import own_formulas
import pytest
from own import Own

CASES = [*own_formulas.CASES, *own_agentpg.CASES, *own_agents.CASES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.says)
def test_our_own_case_holds(case: Own) -> None:
    assert holds(case)


def holds(case: Own) -> bool:
    """Whether the operation has the result that its case wants."""
    got = adapter.run(case.op, case.given)
    if callable(case.want):
        return bool(case.want(got))
    if isinstance(case.want, dict):
        got = {key: got[key] for key in case.want}
    return bool(got == case.want)


def test_our_own_cases_are_told_apart() -> None:
    assert len({case.says for case in CASES}) == len(CASES) > 60
    assert {case.op for case in CASES} <= set(adapter.OPS)
