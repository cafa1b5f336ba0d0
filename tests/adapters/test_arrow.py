"""The recipes for engines of tables, run in the real engines: each says what the kernel says of the same rows."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("polars", reason="make adapters installs the engines")
pytest.importorskip("duckdb", reason="make adapters installs the engines")
pytest.importorskip("pandas", reason="make adapters installs the engines")
pytest.importorskip("daft", reason="make adapters installs the engines")
pytest.importorskip("ray", reason="make adapters installs the engines")
pytest.importorskip("pyspark", reason="make adapters installs the engines")
if shutil.which("java") is None:
    pytest.skip("Spark needs a Java", allow_module_level=True)

import polars as pl
import pyarrow as pa

import trimtab

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """The names of the page's code, which was run."""
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")  # otherwise it writes a token into the home
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("DO_NOT_TRACK", "1")
        for block in blocks:
            exec(compile(block, PAGE.name, "exec"), names)
    return names


@pytest.fixture(scope="module")
def said(page: dict[str, Any]) -> list[dict[str, Any]]:
    """What the kernel says of the page's rows, handed in by pyarrow."""
    table = pa.table(page["rows"])
    return pa.table(trimtab.arrow.count(table, column="session", model=page["MODEL"])).to_pylist()


def test_the_rows_are_two_sessions_and_a_bad_one(said: list[dict[str, Any]]) -> None:
    assert [row["messages"] for row in said] == [2, 141, None]
    assert [bool(row["error"]) for row in said] == [False, False, True]


def test_polars_gets_what_the_kernel_says(page: dict[str, Any], said: list[dict[str, Any]]) -> None:
    assert page["counted"].to_dicts() == said
    assert [{name: row[name] for name in said[0]} for row in page["beside"].to_dicts()] == said
    expected = [{"id": n + 1, "tokens": row["tokens"], "error": row["error"]} for n, row in enumerate(said)]
    assert page["in_query"].to_dicts() == expected
    assert page["query"].select("id", "tokens", "error").collect(engine="streaming").sort("id").to_dicts() == expected


def test_polars_lists_of_structs_are_messages(page: dict[str, Any], said: list[dict[str, Any]]) -> None:
    frame = pl.DataFrame({"messages": [page["chat"], None]})
    first, second = pl.DataFrame(trimtab.arrow.count(frame, model=page["MODEL"])).to_dicts()
    assert first == said[0]
    assert set(second.values()) == {None}


def test_duckdb_gets_what_the_kernel_says(page: dict[str, Any], said: list[dict[str, Any]]) -> None:
    assert (page["total"], page["failed"]) == (sum(row["tokens"] or 0 for row in said), 1)
    assert page["in_sql"] == [(n + 1, row["tokens"]) for n, row in enumerate(said)]


def test_pandas_gets_what_the_kernel_says(page: dict[str, Any], said: list[dict[str, Any]]) -> None:
    assert [list(problems) if problems is not None else None for problems in page["validated"]["problems"]] == [
        [],
        [],
        None,
    ]
    assert page["refused"]["id"].tolist() == [3]
    counted = pa.table(trimtab.arrow.count(page["data"], column="session", model=page["MODEL"]))
    assert counted.to_pylist() == said


def test_daft_gets_what_the_kernel_says(page: dict[str, Any], said: list[dict[str, Any]]) -> None:
    assert [{name: row[name] for name in said[0]} for row in page["in_daft"]] == said


def test_ray_gets_what_the_kernel_says(page: dict[str, Any], said: list[dict[str, Any]]) -> None:
    assert [{name: row[name] for name in said[0]} for row in page["in_ray"]] == said


def test_spark_gets_what_the_kernel_says(page: dict[str, Any], said: list[dict[str, Any]]) -> None:
    expected = [(n + 1, row["tokens"], row["error"]) for n, row in enumerate(said)]
    assert [tuple(row) for row in page["in_spark"]] == expected
