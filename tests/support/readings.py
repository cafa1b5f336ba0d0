"""The readings of a session file by the core's reader and by the slow one, compared."""

from __future__ import annotations

from dataclasses import fields
from io import BytesIO
from typing import TYPE_CHECKING, Any

from trimtab.formats._records import Records

if TYPE_CHECKING:
    from types import ModuleType

    import pytest


def reading(reader: ModuleType | Any, raw: bytes, *, whole: bool) -> dict[str, Any]:
    """Everything that a reader finds, in its order."""
    records = Records(BytesIO(raw))
    built = reader.read(records, whole=whole)
    transcript = built.transcript("log", records.skipped, records.lines)
    read = {field.name: getattr(transcript, field.name) for field in fields(transcript)}
    folder = built.evidence.folder if hasattr(built, "evidence") else ""
    return read | {"left_out": [*read["left_out"].items()], "folder": folder, "found": records.found}


def compare(
    fast: ModuleType, slow: ModuleType, raw: bytes, name: object, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """The readings of a file with its bytes in memory and without; both are those of the slow reader."""
    for whole in (False, True):
        want = reading(slow, raw, whole=whole)
        for held in (32 << 20, 0):
            monkeypatch.setattr("trimtab.formats._records.HELD", held)
            got = reading(fast, raw, whole=whole)
            for field, value in want.items():
                assert got[field] == value, (name, whole, held, field)
                assert repr(got[field]) == repr(value), (name, whole, held, field)
    return want
