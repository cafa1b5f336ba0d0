"""The bench of an agent's loop runs to its end on small inputs; what it measures is no matter here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("names", [(), ("session(id)", "stateless")])
def test_the_bench_of_the_loop_prints_its_rows(names: tuple[str, ...]) -> None:
    asked = [word for name in names for word in ("--rows", name)]
    command = [sys.executable, str(ROOT / "benches" / "loop.py"), "--small", *asked]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(" | ")[0][2:] for line in printed.splitlines() if line.startswith("| ")]
    if names:
        assert rows[1] == "`cm.session(id)`"
        assert [row.split(",")[0] for row in rows[2:]] == ["stateless hook"] * 2
    else:
        assert len(rows) > 25
    assert "trimtab" in printed
    assert "input " in printed
    assert "goals met" in printed
