"""The core's reader of Claude Code's sessions, against the slow one that says what they mean."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import pytest

from oracles import claude_code as slow
from support.claude_lines import session, written
from support.readings import compare, reading
from trimtab.formats import claude_code
from trimtab.formats._records import Records

if TYPE_CHECKING:
    from pathlib import Path

SEEDS = 400


@pytest.mark.parametrize("part", range(8))
def test_any_session_reads_as_the_slow_reader_reads_it(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, int] = {}
    for seed in range(part, SEEDS, 8):
        monkeypatch.setattr("trimtab.formats._records.CHUNK", 1 << (8 + seed % 7))
        want = compare(claude_code, slow, written(session(seed), seed), seed, monkeypatch)
        for field, value in want.items():
            seen[field] = seen.get(field, 0) + bool(value)
    for field in ("messages", "usage", "calls", "skipped", "compactions", "contexts", "left_out", "model", "window"):
        assert seen[field] > 1, field


@pytest.mark.shared
def test_every_shared_session_reads_as_the_slow_reader_reads_it(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = sorted((shared / "data" / "transcripts" / "claude-code").rglob("*.jsonl"))
    assert len(files) > 5
    for path in files:
        compare(claude_code, slow, path.read_bytes(), path, monkeypatch)


class Growing(BytesIO):
    """A file whose last half is written after the first look at its size, and that gives few bytes at once."""

    def seek(self, offset: int, whence: int = 0) -> int:
        """Seek; the end is that of the first half."""
        size = super().seek(offset, whence)
        return size // 2 if whence else size

    def read(self, size: int | None = -1) -> bytes:
        """Read at most a hundred bytes."""
        return super().read(min(size or 0, 100) if size != -1 else -1)


@pytest.mark.parametrize("held", [32 << 20, 0])
def test_a_file_that_grows_and_gives_few_bytes_is_read_to_its_end(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trimtab.formats._records.HELD", held)
    raw = written(session(1), 0)
    want = reading(claude_code, raw, whole=True)
    records = Records(Growing(raw))
    built = claude_code.read(records, whole=True)
    assert built.messages == want["messages"]
    assert (records.lines, records.skipped) == (want["lines"], [])
