"""The core's reader of Codex's rollouts, against the slow one that says what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from oracles import codex as slow
from support.codex_lines import as_file, rollout
from support.readings import compare
from trimtab.formats import codex

if TYPE_CHECKING:
    from pathlib import Path

SEEDS = 400


@pytest.mark.parametrize("part", range(8))
def test_any_rollout_reads_as_the_slow_reader_reads_it(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, int] = {}
    for seed in range(part, SEEDS, 8):
        monkeypatch.setattr("trimtab.formats._records.CHUNK", 1 << (8 + seed % 7))
        want = compare(codex, slow, as_file(rollout(seed), seed), seed, monkeypatch)
        for field, value in want.items():
            seen[field] = seen.get(field, 0) + bool(value)
    for field in ("messages", "usage", "calls", "skipped", "compactions", "contexts", "left_out", "model", "window"):
        assert seen[field] > 1, field
    assert seen["system"] > 1


@pytest.mark.shared
def test_every_shared_rollout_reads_as_the_slow_reader_reads_it(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = sorted((shared / "data" / "transcripts" / "codex").rglob("*.jsonl"))
    assert len(files) > 5
    for path in files:
        compare(codex, slow, path.read_bytes(), path, monkeypatch)
