"""What an earlier version stored is read: each file of `tests/fixtures`, which `tools/fixtures.py` wrote."""

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

import fixtures
import trimtab
from trimtab.archive import SqliteArchive

NEWEST, VERSION = (fixtures.FILES[kind].partition("-")[2].partition(".")[0] for kind in ("archive", "state"))
"""Numbers of today's formats of an archive and of a state."""

STORED = {kind: sorted(fixtures.FOLDER.glob(f"{kind}-*")) for kind in fixtures.FILES}


def unpacked(file: Path, folder: Path) -> Path:
    path = folder / "archive.db"
    path.write_bytes(gzip.decompress(file.read_bytes()))
    return path


@pytest.mark.parametrize("kind", fixtures.FILES)
def test_the_format_of_today_has_a_file(kind: str) -> None:
    """A new number without one: run tools/fixtures.py, and keep the files of the earlier numbers."""
    assert fixtures.FILES[kind] in [file.name for file in STORED[kind]]


@pytest.mark.parametrize("file", STORED["archive"], ids=lambda file: file.name)
def test_an_archive_is_read(file: Path, tmp_path: Path) -> None:
    with SqliteArchive(unpacked(file, tmp_path)) as archive:
        assert archive.verify() == []
        [compaction] = archive.history(fixtures.SESSION)
        assert archive.load(compaction.ref) == fixtures.messages()
        assert archive.search("parser")
        cm = trimtab.Compactor(fixtures.MODEL, archive=archive)
        cm.session(fixtures.SESSION).compact(fixtures.messages(), target_share=0.3)
        assert len(archive.history(fixtures.SESSION)) == 2


@pytest.mark.parametrize("file", STORED["plan"], ids=lambda file: file.name)
def test_a_plan_is_read_and_applied(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    plan = trimtab.Plan.from_json(text)
    assert json.loads(plan.to_json()) | {"version": 0} == json.loads(text) | {"version": 0}
    cm = trimtab.Compactor(fixtures.MODEL, archive="memory")
    done = cm.session(fixtures.SESSION).compact(fixtures.messages(), plan=plan)
    assert done.tokens_after <= plan.tokens_after
    assert trimtab.validate(done.messages, provider="anthropic") == []


@pytest.mark.parametrize("file", STORED["state"], ids=lambda file: file.name)
def test_a_state_is_gone_on_from(file: Path) -> None:
    state = json.loads(file.read_text(encoding="utf-8"))
    cm = trimtab.Compactor(fixtures.MODEL, archive="memory")
    session = cm.session(fixtures.SESSION, state)
    stored = {"crowded": 0, "pressed": False, "resting": False} | state | {"version": 0}  # what it may lack
    stored["view"] = stored["view"] and {"strips": False} | stored["view"]
    assert session.state() | {"version": 0} == stored
    fitted = session.fit(fixtures.messages())
    assert len(fitted.messages) < len(fixtures.messages())


def test_what_a_later_version_stored_is_refused(tmp_path: Path) -> None:
    path = unpacked(STORED["archive"][-1], tmp_path)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(trimtab.ArchiveError, match=f"version 99, trimtab knows {NEWEST}: update trimtab"):
        SqliteArchive(path)
    plan = json.loads(STORED["plan"][-1].read_text(encoding="utf-8")) | {"version": 99}
    with pytest.raises(trimtab.PlanError, match=f"version 99, this trimtab reads version {trimtab.Plan.version}"):
        trimtab.Plan.from_json(json.dumps(plan))
    state = json.loads(STORED["state"][-1].read_text(encoding="utf-8")) | {"version": 99}
    with pytest.raises(trimtab.ConfigError, match=f"version 99; this trimtab reads version {VERSION}"):
        trimtab.Compactor(fixtures.MODEL, archive="memory").session(fixtures.SESSION, state)
