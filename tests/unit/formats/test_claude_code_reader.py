"""The core's reader of Claude Code's sessions, against the slow one that says what they mean."""

from __future__ import annotations

from dataclasses import fields
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest

from oracles import claude_code as slow
from support.claude_lines import session, written
from trimtab.formats import claude_code
from trimtab.formats._records import Records

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

SEEDS = 400


def found(reader: ModuleType | Any, raw: bytes, *, whole: bool) -> dict[str, Any]:
    """Everything that a reader finds, in its order."""
    records = Records(BytesIO(raw))
    built = reader.read(records, whole=whole)
    transcript = built.transcript("claude_code", records.skipped, records.lines)
    read = {field.name: getattr(transcript, field.name) for field in fields(transcript)}
    return read | {"left_out": [*read["left_out"].items()], "folder": built.evidence.folder, "found": records.found}


def compare(raw: bytes, name: object, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The readings of a file with its bytes in memory and without; both are those of the slow reader."""
    for whole in (False, True):
        want = found(slow, raw, whole=whole)
        for held in (32 << 20, 0):
            monkeypatch.setattr("trimtab.formats._records.HELD", held)
            got = found(claude_code, raw, whole=whole)
            for field, value in want.items():
                assert got[field] == value, (name, whole, held, field)
                assert repr(got[field]) == repr(value), (name, whole, held, field)
    return want


@pytest.mark.parametrize("part", range(8))
def test_any_session_reads_as_the_slow_reader_reads_it(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, int] = {}
    for seed in range(part, SEEDS, 8):
        monkeypatch.setattr("trimtab.formats._records.CHUNK", 1 << (8 + seed % 7))
        want = compare(written(session(seed), seed), seed, monkeypatch)
        for field, value in want.items():
            seen[field] = seen.get(field, 0) + bool(value)
    for field in ("messages", "usage", "calls", "skipped", "compactions", "contexts", "left_out", "model", "window"):
        assert seen[field] > 1, field


@pytest.mark.shared
def test_every_shared_session_reads_as_the_slow_reader_reads_it(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = sorted((shared / "data" / "transcripts" / "claude-code").rglob("*.jsonl"))
    assert len(files) > 5
    for path in files:
        compare(path.read_bytes(), path, monkeypatch)


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
    want = found(claude_code, raw, whole=True)
    records = Records(Growing(raw))
    built = claude_code.read(records, whole=True)
    assert built.messages == want["messages"]
    assert (records.lines, records.skipped) == (want["lines"], [])
