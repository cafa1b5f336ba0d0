"""SQLite archives: file mode, migrations, foreign files, locks and size."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import trimtab
from support.archives import commit, first_archive, said
from support.models import CLAUDE
from support.transcripts import transcript
from trimtab.archive import SqliteArchive, open_archive, sqlite
from trimtab.archive.sql.statements import migrations

if TYPE_CHECKING:
    from pathlib import Path


def test_a_new_file_is_private_and_readable_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "archive.db"
    cm = trimtab.Compactor(CLAUDE, archive=f"sqlite:///{path}")
    messages = transcript(" ".join("u:60 a:90" for _ in range(30)), provider="anthropic")
    done = cm.compact(messages, target_share=0.5)
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
    (count,) = sqlite3.connect(path).execute("SELECT count(*) FROM messages").fetchone()
    assert count == 1


def test_ids_of_new_messages_are_not_looked_up_and_survive_a_removal(tmp_path: Path) -> None:
    asked: list[str] = []

    class Traced(sqlite.Driver):
        def connect(self, path: str) -> sqlite3.Connection:
            made = super().connect(path)
            made.set_trace_callback(asked.append)
            return made

    archive = SqliteArchive(tmp_path / "archive.db", Traced())
    lists = [[{"role": "user", "content": f"{ref} {n}"} for n in range(50)] for ref in ("first", "second", "third")]
    commit(archive, "first", lists[0], session="first")
    assert sum("CROSS JOIN messages" in statement for statement in asked) == 0  # an empty archive has none already
    archive.forget("first")  # the next ids do not follow those in the table
    for ref, messages in zip(("second", "third"), (lists[1], lists[1][:25] + lists[2]), strict=True):
        commit(archive, ref, messages, session=ref)
        assert archive.load(ref, session=ref) == messages
    assert archive.verify() == []


def many(start: int) -> list[dict]:
    """So many messages that the index of digests is built anew."""
    return [{"role": "user", "content": f"message {n}"} for n in range(start, start + 20_000)]


def contents(path: Path) -> tuple[list, list]:
    """The messages of an archive's file, and its indexes."""
    with sqlite3.connect(path) as db:
        names = db.execute("SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name").fetchall()
        return db.execute("SELECT * FROM messages ORDER BY id").fetchall(), names


@pytest.mark.parametrize("earlier", [False, True], ids=["an archive", "an archive of an earlier trimtab"])
def test_a_large_list_is_stored_once_and_loaded_in_order(tmp_path: Path, earlier: bool) -> None:
    path = tmp_path / "archive.db"
    SqliteArchive(path).close()
    if earlier:
        with sqlite3.connect(path) as db:
            db.executescript("DROP INDEX idx_messages_digest; CREATE UNIQUE INDEX constrained ON messages (digest)")
    with SqliteArchive(path) as archive:
        some = {"role": "assistant", "content": "the first one"}
        commit(archive, "first", [some])
        commit(archive, "second", [*many(0), some, *many(0)])
        commit(archive, "third", many(10_000))
        assert archive.load("second") == [*many(0), some, *many(0)]
        assert archive.load("third") == many(10_000)
        assert archive.verify() == []
    (messages, indexes) = contents(path)
    assert len(messages) == len({digest for _, digest, *_ in messages}) == 30_001
    assert (("idx_messages_digest",) in indexes) is not earlier


def test_a_large_list_whose_store_fails_changes_nothing(tmp_path: Path) -> None:
    class Failing(sqlite.Driver):
        def connect(self, path: str) -> sqlite3.Connection:
            made = super().connect(path)
            made.set_authorizer(
                lambda action, *_: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_REINDEX else sqlite3.SQLITE_OK
            )
            return made

    path = tmp_path / "archive.db"
    with SqliteArchive(path) as archive:
        commit(archive, "first", [{"role": "user", "content": "first"}])
    before = contents(path)
    with SqliteArchive(path, Failing()) as archive, pytest.raises(trimtab.ArchiveError):
        archive.store(many(0), "other")
    assert contents(path) == before
    with SqliteArchive(path) as archive:
        commit(archive, "second", many(0))
        assert archive.load("second") == many(0)


def test_opening_a_newer_schema_fails_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    SqliteArchive(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(trimtab.ArchiveError, match="version 99.*update trimtab"):
        SqliteArchive(path)


def test_opening_a_file_that_is_no_database_fails_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, " * 100)
    before = path.read_bytes()
    with pytest.raises(trimtab.ArchiveError, match="cannot open|not a database"):
        SqliteArchive(path)
    assert path.read_bytes() == before


def test_opening_a_file_whose_schema_is_no_text_fails_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    SqliteArchive(path).close()
    raw = path.read_bytes()
    assert raw.count(b"CREATE TABLE pins") == 1
    path.write_bytes(raw.replace(b"CREATE TABLE pins", b"CREATE TABLE\xff\xfe\xfds"))
    with pytest.raises(trimtab.ArchiveError, match="cannot open the archive.*the file is damaged"):
        SqliteArchive(path)
    for name in ("a\0b", "a\udcff\ud800"):
        with pytest.raises(trimtab.ArchiveError, match="cannot open the archive"):
            SqliteArchive(tmp_path / name)


def test_opening_fails_if_the_folder_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(trimtab.ArchiveError, match="cannot open the archive"):
        SqliteArchive(tmp_path / "file" / "archive.db")


def test_a_failed_write_changes_nothing(tmp_path: Path) -> None:
    archive = SqliteArchive(tmp_path / "archive.db")
    commit(archive, "r1", [{"role": "user", "content": "kept"}])
    archive._db.execute(
        "CREATE TRIGGER full BEFORE INSERT ON message_archive BEGIN SELECT raise(ABORT, 'disk full'); END"
    )
    with pytest.raises(trimtab.ArchiveError, match="disk full"):
        commit(archive, "r2", [{"role": "user", "content": "lost"}])
    archive._db.execute("DROP TRIGGER full")
    assert archive.load("r1") == [{"role": "user", "content": "kept"}]
    with pytest.raises(trimtab.ArchiveError, match="no compaction 'r2'"):
        archive.load("r2")


def test_opening_the_database_of_another_program_fails_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE theirs (x)")
    with pytest.raises(trimtab.ArchiveError, match="database of another program"):
        SqliteArchive(path)
    assert sqlite3.connect(path).execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]


def test_an_archive_of_the_first_version_is_migrated(tmp_path: Path) -> None:
    first_archive(tmp_path / "old.db")
    archive = SqliteArchive(tmp_path / "old.db")
    assert archive.load("r1") == [said("one"), said("two"), said("one")]
    assert archive.verify() == []
    assert [hit.ref for hit in archive.search("two")] == ["r1"]
    (past,) = archive.history()
    assert (past.session, past.original_tokens, past.compacted_tokens, past.summary) == ("r1", 9, 5, "s")
    commit(archive, "r2", [said("three")], session="r1")
    assert archive.verify() == []


def test_an_archive_of_the_previous_version_is_migrated_and_searchable(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    first_archive(path)
    db = sqlite3.connect(path, isolation_level=None)
    for statement in migrations("sqlite")[2]:
        db.execute(statement)
    db.execute("PRAGMA user_version = 2")
    assert db.execute("SELECT count(*) FROM unindexed").fetchone() == (2,), "nobody has searched it yet"
    db.close()
    archive = SqliteArchive(path)
    commit(archive, "r2", [said("two"), said("three of two")], session="t")
    assert [hit.ref for hit in archive.search("two")] == ["r2", "r2"]
    assert archive.load("r1") == [said("one"), said("two"), said("one")]
    assert archive.verify() == []


class Stopped(sqlite3.OperationalError):
    """The process is gone."""


class StopsAt:
    """A driver that stops at the n-th statement."""

    error = sqlite3.Error
    version = sqlite3.sqlite_version_info

    def __init__(self, at: int) -> None:
        self.left = at
        self.done = 0

    def connect(self, path: str) -> StopsAt:
        self.db = sqlite3.connect(path, isolation_level=None)
        return self

    def execute(self, sql: str, values: tuple = ()) -> sqlite3.Cursor:
        if sql != "ROLLBACK":
            self.left -= 1
            self.done += 1
            if self.left == 0:
                raise Stopped("killed")
        return self.db.execute(sql, values)

    def close(self) -> None:
        self.db.close()


@pytest.mark.parametrize("old", [False, True])
def test_a_migration_that_stops_at_any_statement_changes_nothing(tmp_path: Path, old: bool) -> None:
    path = tmp_path / "archive.db"
    if old:
        first_archive(path)
    counting = StopsAt(-1)
    copy = tmp_path / "copy.db"
    if old:
        copy.write_bytes(path.read_bytes())
    SqliteArchive(copy, counting).close()
    for at in range(1, counting.done):  # the last one sets the journal's mode, behind the migration
        with pytest.raises(trimtab.ArchiveError, match="cannot open the archive.*killed"):
            SqliteArchive(path, StopsAt(at))
        db = sqlite3.connect(path)
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        assert ("message" in names, "messages" in names) == (old, False), at
        db.close()
    archive = SqliteArchive(path)
    assert archive.verify() == []
    assert len(archive.history()) == old


def test_forget_removes_words_from_the_file(tmp_path: Path) -> None:
    archive = SqliteArchive(tmp_path / "archive.db")
    commit(archive, "r1", [said(f"filler {n}") for n in range(500)], session="t")
    commit(archive, "r2", [said("the word is xylophonist"), said("xylophonist " * 400)], summary="of a xylophonist")
    archive.pin("s", "text", "xylophonist")
    assert len(archive.search("xylophonist")) == 2
    archive.close()
    assert b"xylophonist" in (tmp_path / "archive.db").read_bytes()
    archive = SqliteArchive(tmp_path / "archive.db")
    archive.forget("s")
    archive.close()
    assert b"xylophonist" not in (tmp_path / "archive.db").read_bytes()


def test_prune_shrinks_the_file(tmp_path: Path) -> None:
    archive = SqliteArchive(tmp_path / "archive.db")
    commit(archive, "r1", [said("".join(map(chr, range(33 + n, 20_000)))) for n in range(40)])
    before = (tmp_path / "archive.db").stat().st_size
    archive.prune(keep=0)
    assert (tmp_path / "archive.db").stat().st_size < before / 2


def test_prune_to_a_size_measures_the_file(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    archive = SqliteArchive(path)
    for n in range(20):
        words = [f"n{n}x{k}" for k in range(3_000)]
        commit(archive, f"r{n}", [said(" ".join(words)), said("in all")])
    archive.search("n1x1")
    limit = path.stat().st_size // 2
    taken = archive.prune(max_bytes=limit).events
    assert taken == tuple(f"r{n}" for n in range(len(taken)))
    assert limit * 0.8 < path.stat().st_size <= limit
    assert archive.verify() == []


def test_a_transaction_waits_for_a_lock_until_the_timeout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 5)
    archive = SqliteArchive(tmp_path / "archive.db")
    other = sqlite3.connect(tmp_path / "archive.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    let_go = threading.Timer(0.2, other.execute, ["ROLLBACK"])
    let_go.start()
    commit(archive, "r1", [said("served in the end")])
    let_go.join()
    other.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(sqlite, "LOCK_TIMEOUT", 0.05)
    for refused in (lambda: archive.store([said("x")], "s"), archive.history):
        with pytest.raises(trimtab.ArchiveError, match="database is locked"):
            refused()
    with pytest.raises(trimtab.ArchiveError, match="cannot open.*database is locked"):
        SqliteArchive(tmp_path / "archive.db")
    other.execute("ROLLBACK")
    assert archive.load("r1") == [said("served in the end")]
    other.close()


def test_an_interrupt_behind_the_beginning_of_a_transaction_leaves_no_lock(tmp_path: Path) -> None:
    archive = SqliteArchive(tmp_path / "archive.db")
    whole = archive._run_statement

    def interrupted(statement: Any) -> Any:
        whole(statement)
        archive._run_statement = whole  # type: ignore[method-assign]
        raise KeyboardInterrupt

    for write in (lambda: archive.store([said("x")], "s"), archive.history):
        archive._run_statement = interrupted  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            write()
        other = sqlite3.connect(tmp_path / "archive.db", isolation_level=None, timeout=0)
        other.execute("BEGIN EXCLUSIVE")
        other.close()
        commit(archive, "r1", [said("goes on")])
    assert archive.load("r1") == [said("goes on")]


def test_opening_a_file_waits_for_no_writer_and_drops_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    archive = SqliteArchive(path)
    archive._db.execute("BEGIN IMMEDIATE")
    start = time.monotonic()
    SqliteArchive(path).close()
    assert time.monotonic() - start < sqlite.BUSY_TIMEOUT_MS / 1000
    other = f"import sqlite3; sqlite3.connect({os.fspath(path)!r}, timeout=0).execute('BEGIN IMMEDIATE')"
    refused = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True, check=False)
    assert "database is locked" in refused.stderr
    archive._db.execute("ROLLBACK")


def test_a_search_waits_for_no_writer_where_all_is_indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = SqliteArchive(tmp_path / "archive.db")
    commit(archive, "r1", [said("the flag is up")])
    assert len(archive.search("flag")) == 1
    monkeypatch.setattr(sqlite, "LOCK_TIMEOUT", 0.05)
    archive._db.execute("PRAGMA busy_timeout = 5")
    other = sqlite3.connect(tmp_path / "archive.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert len(archive.search("flag")) == 1
    other.close()


def test_a_file_that_was_removed_while_it_was_open_is_named_as_such(tmp_path: Path) -> None:
    driver = sqlite.Driver()
    driver.version = (3, 51, 2)  # SQLite looks for the file where it has a rollback journal
    archive = SqliteArchive(tmp_path / "archive.db", driver)
    commit(archive, "r1", [said("x")])
    (tmp_path / "archive.db").unlink()
    with pytest.raises(trimtab.ArchiveError, match="moved, replaced or removed while it was open"):
        commit(archive, "r2", [said("y")])
    assert archive.load("r1") == [said("x")]


def test_a_forked_child_uses_a_connection_of_its_own(tmp_path: Path) -> None:
    archive = SqliteArchive(tmp_path / "archive.db")
    commit(archive, "r1", [said("parent")])
    child = os.fork()
    if child == 0:
        try:
            commit(archive, "r2", [said("child")])
            os._exit(0 if archive.load("r1") == [said("parent")] else 1)
        finally:
            os._exit(2)
    commit(archive, "r3", [said("parent again")], session="t")
    assert os.waitpid(child, 0)[1] == 0
    assert archive.load("r2") == [said("child")]
    assert archive.verify() == []


def test_a_rollback_journal_is_used_before_the_fixed_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    SqliteArchive(path).close()
    ((mode,),) = sqlite3.connect(path).execute("PRAGMA journal_mode")
    assert mode == ("wal" if sqlite3.sqlite_version_info >= (3, 51, 3) else "delete")
    fixed = StopsAt(-1)
    fixed.version = (3, 51, 3)
    SqliteArchive(tmp_path / "wal.db", fixed).close()
    assert sqlite3.connect(tmp_path / "wal.db").execute("PRAGMA journal_mode").fetchall() == [("wal",)]


def test_commits_are_synced_to_the_disk(tmp_path: Path) -> None:
    archive = SqliteArchive(tmp_path / "archive.db")
    assert list(archive._db.execute("PRAGMA synchronous")) == [(2,)]


def test_a_closed_archive_raises(tmp_path: Path) -> None:
    archive = SqliteArchive(tmp_path / "archive.db")
    archive.close()
    archive.close()
    with pytest.raises(trimtab.ArchiveError, match="closed"):
        archive.history()
