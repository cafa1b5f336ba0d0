"""The table of requirements says what is so."""

from __future__ import annotations

import pytest

import requirements as table


@pytest.mark.parametrize("requirement", table.TESTS)
def test_a_test_that_is_said_to_show_a_requirement_is_there(requirement: str) -> None:
    assert table.named(table.TESTS[requirement])


@pytest.mark.shared
def test_every_requirement_is_shown_and_the_table_is_fresh() -> None:
    made = table.rows()
    assert [row for row in made if row.endswith("| 0 |  |")] == []
    assert len(made) == 215 + 2
    assert set(table.shown()) <= set(table.listed())
    assert table.OUT.read_text("utf-8") == table.page(), "run make docs"
