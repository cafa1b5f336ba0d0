"""Forgotten text is gone from every file beside the archive, with either journal of SQLite, and after SIGKILL."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import trimtab
from support.archives import commit, said
from support.models import CLAUDE
from support.transcripts import transcript
from trimtab.archive import SqliteArchive, sqlite
from trimtab.archive.sqlite import Driver
from trimtab.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MODEL = CLAUDE
MARK = "xylophonist"
"""A word in everything that the forgotten session stores."""


class Wal(Driver):
    """A driver that lets the archive keep a write-ahead log, whatever SQLite's version is."""

    version = (3, 51, 3)


class Rollback(Driver):
    version = (3, 40, 1)


@pytest.fixture(params=[Wal, Rollback])
def driver(request: pytest.FixtureRequest) -> Driver:
    return request.param()


def fill(archive: SqliteArchive) -> list[bytes]:
    """Two sessions, one of which is to be forgotten, stored and searched; returns its words and compressed messages."""
    commit(archive, "r1", [said(f"filler {n}") for n in range(200)], session="other")
    messages = transcript(" ".join("u:60 a:90" for _ in range(30)))
    messages[1] = {"role": "assistant", "content": f"the {MARK} said so: " + f"{MARK} and words " * 90}
    call = {"type": "tool_use", "id": f"id-{MARK}", "name": f"Tool-{MARK}", "input": {f"key-{MARK}": f"{MARK}"}}
    messages[3] = {"role": "assistant", "content": [call]}
    messages[4] = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"id-{MARK}", "content": MARK}]}
    cm = trimtab.Compactor(MODEL, archive=archive, summarizer=lambda _: f"about the {MARK}").session(f"of {MARK}")
    cm.pin(f"{MARK} in a pin")
    assert cm.compact(messages, target_share=0.4).ref
    archive.store([said(f"{MARK} whose compaction was never committed")], f"of {MARK}")
    assert archive.search(MARK, session=f"of {MARK}")
    bodies = archive._db.execute("SELECT body FROM messages WHERE typeof(body) = 'blob'").fetchall()
    return [MARK.encode(), *(body[-24:-8] for (body,) in bodies)]


def found(folder: Path, texts: list[bytes]) -> dict[str, list[bytes]]:
    """The texts that stand in each file of a folder."""
    raw = {path.name: path.read_bytes() for path in folder.iterdir()}
    return {
        name: [text for text in texts if text in data] for name, data in raw.items() if any(t in data for t in texts)
    }


def test_forget_leaves_nothing_in_any_file(driver: Driver, tmp_path: Path) -> None:
    archive = SqliteArchive(tmp_path / "a.db", driver)
    texts = fill(archive)
    assert set(found(tmp_path, texts)) == {"a.db-wal" if isinstance(driver, Wal) else "a.db"}
    taken = archive.forget(f"of {MARK}")
    assert taken.messages == 6, "of equal ones one is stored"
    assert taken.remains == ""
    assert found(tmp_path, texts) == {}, "the archive is still open"
    assert len(archive.load("r1")) == 200
    assert archive.verify() == []
    archive.close()
    assert found(tmp_path, texts) == {}


def test_prune_and_sweep_leave_nothing_in_any_file(driver: Driver, tmp_path: Path) -> None:
    archive = SqliteArchive(tmp_path / "a.db", driver)
    commit(archive, "r1", [said(f"{MARK} one"), said(f"{MARK} " * 400)], summary=MARK, plan=json.dumps({"why": MARK}))
    commit(archive, "r2", [said("two")])
    archive.search(MARK)
    assert archive.prune(keep=1).remains == ""
    assert found(tmp_path, [MARK.encode()]) == {}
    archive.store([said(f"{MARK} again")], "s")
    archive.search(MARK)
    assert found(tmp_path, [MARK.encode()])
    assert archive.sweep(timedelta(seconds=-1)) == 1
    assert found(tmp_path, [MARK.encode()]) == {}


def killed(work: Callable[[], object]) -> None:
    """Run in a child process that is then killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL


def test_forget_leaves_nothing_after_sigkill(driver: Driver, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    archive = SqliteArchive(path, driver)
    texts = fill(archive)
    archive.close()
    assert found(tmp_path, texts)
    killed(lambda: SqliteArchive(path, driver).forget(f"of {MARK}"))
    assert found(tmp_path, texts) == {}


def test_an_archive_removes_what_a_process_killed_after_its_commit_left(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    archive = SqliteArchive(path, Wal())
    texts = fill(archive)
    archive.close()

    def work() -> None:
        child = SqliteArchive(path, Wal())
        child.erase = lambda: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
        child.forget(f"of {MARK}")

    killed(work)
    assert found(tmp_path, texts), "the log was not written to the file"
    archive = SqliteArchive(path, Wal())
    assert [each.id for each in archive.sessions()] == ["other"]
    assert found(tmp_path, texts) == {}
    archive.close()


def test_forget_names_the_log_that_a_reader_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 50)
    archive = SqliteArchive(tmp_path / "a.db", Wal())
    texts = fill(archive)
    reader = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM sessions").fetchone() == (2,)
    taken = archive.forget(f"of {MARK}")
    assert taken.remains == f"{tmp_path / 'a.db'}-wal"
    assert "removed text remains in" in caplog.text
    assert found(tmp_path, texts)
    assert archive.prune(keep=5).remains == taken.remains
    archive.history()
    assert found(tmp_path, texts)
    reader.execute("COMMIT")
    archive.history()
    assert found(tmp_path, texts) == {}, "the next transaction removes it"
    assert archive.prune(keep=5).remains == ""
    reader.close()
    archive.close()


def test_the_command_line_says_that_a_reader_keeps_removed_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 50)
    monkeypatch.setattr(Driver, "version", (3, 51, 3))
    url = f"sqlite:///{tmp_path / 'a.db'}"
    archive = SqliteArchive(tmp_path / "a.db")
    fill(archive)
    reader = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM sessions").fetchone()
    line: list[Any] = ["archive", "prune", "--forget", f"of {MARK}", "--archive", url]
    assert main([*line, "--json", "--dry-run"]) == 0
    assert json.loads(capsys.readouterr().out)["remains"] == ""
    assert main(line) == 0
    assert "removed text is still in" in capsys.readouterr().err
    reader.close()
    archive.close()
