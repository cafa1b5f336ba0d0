"""The table of requirements says what is so."""

from __future__ import annotations

import pytest
from test_conformance import cases

import requirements as table


@pytest.mark.shared
def test_every_requirement_is_shown_and_the_table_is_fresh() -> None:
    made = table.rows()
    assert [row for row in made if row.endswith("|  |")] == []
    assert len(made) == 215 + 2
    assert set(table.shown()) <= set(table.listed())
    assert table.OUT.read_text("utf-8") == table.page(), "run make docs"


@pytest.mark.shared
def test_a_cited_case_names_its_requirement() -> None:
    named = {case["name"]: case.get("requirements", ()) for case in cases()}
    for requirement, cited in table.CASES_OF.items():
        assert all(requirement in named[name] for name in cited), requirement
    assert set(table.NOTES) | set(table.TOLD) <= set(table.listed())
