"""One suite for both archives, and what only a file can do."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab
from transcripts import transcript
from trimtab.archive import Archive, MemoryArchive, Record, open_archive
from trimtab.archive.sqlite import SqliteArchive

RECORD = {"tokens_before": 10, "tokens_after": 5, "plan": "{}"}


@pytest.fixture(params=["memory", "sqlite"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Archive:
    return MemoryArchive() if request.param == "memory" else SqliteArchive(tmp_path / "a" / "archive.db")


def commit(archive: Archive, ref: str, messages: list) -> None:
    archive.commit(Record(ref=ref, digests=archive.store(messages), **RECORD))


def test_a_list_comes_back_in_its_order_with_its_repeats(archive: Archive) -> None:
    messages = [*transcript("u:5 c1 r1:9 a:5", provider="anthropic"), {"role": "user", "content": "again"}] * 2
    commit(archive, "r1", messages)
    assert archive.load("r1") == messages
    assert json.dumps(archive.load("r1")) == json.dumps(messages)


def test_later_changes_of_the_callers_objects_do_not_reach_the_archive(archive: Archive) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "before"}]}]
    commit(archive, "r1", messages)
    messages[0]["content"][0]["text"] = "after"
    assert archive.load("r1")[0]["content"][0]["text"] == "before"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=()), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300)
@given(st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": JSON}), max_size=6))
def test_whatever_json_can_say_comes_back_the_same(messages: list) -> None:
    for archive in (MemoryArchive(), SqliteArchive(":memory:")):
        commit(archive, "r", messages)
        assert json.dumps(archive.load("r")) == json.dumps(messages)


@pytest.mark.parametrize("value", [{1: "int key"}, {1: "NaN"}, {1, 2}, b"bytes", object()])
def test_what_would_not_come_back_is_refused(archive: Archive, value: object) -> None:
    with pytest.raises(trimtab.ArchiveError, match="archived as JSON|come back"):
        archive.store([{"role": "user", "content": value}])


def test_the_same_ref_twice_is_remembered_once(archive: Archive) -> None:
    commit(archive, "r1", [{"role": "user", "content": "first"}])
    commit(archive, "r1", [{"role": "user", "content": "second"}])
    assert archive.load("r1") == [{"role": "user", "content": "first"}]


def test_an_unknown_ref_is_said(archive: Archive) -> None:
    with pytest.raises(trimtab.ArchiveError, match="no compaction 'nope'"):
        archive.load("nope")


def test_a_commit_without_its_originals_is_refused(archive: Archive) -> None:
    with pytest.raises(trimtab.ArchiveError):
        archive.commit(Record(ref="r1", digests=("missing",), **RECORD))
    with pytest.raises(trimtab.ArchiveError, match="no compaction"):
        archive.load("r1")


def test_tuples_and_mappings_come_back_as_lists_and_dicts(archive: Archive) -> None:
    messages = [MappingProxyType({"role": "user", "content": ({"type": "text", "text": "NaN", "n": float("nan")},)})]
    commit(archive, "r1", messages)
    assert json.dumps(archive.load("r1")) == json.dumps([{"role": "user", "content": list(messages[0]["content"])}])


def test_threads_share_an_archive(archive: Archive) -> None:
    def work(n: int) -> None:
        for k in range(20):
            commit(archive, f"r{n}-{k}", [{"role": "user", "content": f"{n} {k % 3}"}])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(archive.load(f"r{n}-{k}")[0]["content"] == f"{n} {k % 3}" for n in range(4) for k in range(20))


def test_a_file_is_private_and_another_process_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "archive.db"
    cm = trimtab.Compactor("claude-sonnet-4-5", archive=f"sqlite:///{path}")
    messages = transcript(" ".join("u:60 a:90" for _ in range(30)), provider="anthropic")
    done = cm.compact(messages, target=0.5)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    child = os.fork()
    if child == 0:
        os._exit(0 if open_archive(f"sqlite:///{path}").load(done.ref) == messages else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_equal_messages_are_stored_once(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    archive = SqliteArchive(path)
    for n in range(10):
        commit(archive, f"r{n}", [{"role": "user", "content": "same " * 1000}] * 5)
    (count,) = sqlite3.connect(path).execute("SELECT count(*) FROM message").fetchone()
    assert count == 1


def test_a_newer_schema_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    SqliteArchive(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(trimtab.ArchiveError, match="version 99.*update trimtab"):
        SqliteArchive(path)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, " * 100)
    before = path.read_bytes()
    with pytest.raises(trimtab.ArchiveError, match="cannot open|not a database"):
        SqliteArchive(path)
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(trimtab.ArchiveError, match="cannot open the archive"):
        SqliteArchive(tmp_path / "file" / "archive.db")


def test_a_failed_write_leaves_the_archive_as_it_was(tmp_path: Path) -> None:
    archive = SqliteArchive(tmp_path / "archive.db")
    commit(archive, "r1", [{"role": "user", "content": "kept"}])
    archive._db.execute("CREATE TRIGGER full BEFORE INSERT ON original BEGIN SELECT raise(ABORT, 'disk full'); END")
    with pytest.raises(trimtab.ArchiveError, match="disk full"):
        commit(archive, "r2", [{"role": "user", "content": "lost"}])
    archive._db.execute("DROP TRIGGER full")
    assert archive.load("r1") == [{"role": "user", "content": "kept"}]
    with pytest.raises(trimtab.ArchiveError, match="no compaction 'r2'"):
        archive.load("r2")


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE theirs (x)")
    with pytest.raises(trimtab.ArchiveError, match="database of another program"):
        SqliteArchive(path)
    assert sqlite3.connect(path).execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
