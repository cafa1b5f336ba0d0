"""Every status, network fault, bad body and bad summary, through the real clients, plain and asynchronous."""

from __future__ import annotations

import pytest

from support import matrix


@pytest.fixture(scope="module", autouse=True)
def _server():
    yield
    matrix.server().stop()
    matrix.server.cache_clear()
    matrix.outcome.cache_clear()


@pytest.mark.parametrize("path", matrix.PATHS)
@pytest.mark.parametrize("kind", matrix.WRITERS)
@pytest.mark.parametrize(("row", "mode"), matrix.CASES, ids=lambda value: getattr(value, "name", value))
def test_each_failure_ends_in_its_documented_outcome(row: matrix.Row, mode: str, kind: str, path: str) -> None:
    assert matrix.outcome(row, mode, kind, path) == (row.once if mode == "once" else row.always)


def test_the_table_in_the_docs_equals_a_run() -> None:
    assert matrix.table() == matrix.committed()
