"""The log of an archive: what ran, was skipped, failed or was refused, and why; nothing of a text."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_hook import SESSION, compacting, hook, until

import trimtab
from support.archives import KINDS, commit, opened, query, said
from trimtab.archive import Receipt, SqliteArchive, open_archive
from trimtab.archive.sql.statements import migrations
from trimtab.cli import main
from trimtab.compaction.effects import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trimtab.archive import SqlArchive

PAST = datetime(2026, 3, 4, 5, 6, 7, 800_000, UTC)
SECRET = "the password is marzipan"


@pytest.fixture(params=KINDS)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlArchive]:
    """An archive of each kind."""
    url = request.getfixturevalue("postgres").url if request.param == "postgres" else None
    with opened(request.param, tmp_path, url) as made:
        yield made


def entry(session: str = "s", why: str = "nothing to give back", **fields: Any) -> Receipt:
    """Return an entry of a hook."""
    return Receipt(session, "hook session-start", "skipped", why, **fields)


def test_entries_and_compactions_are_listed_latest_first(archive: SqlArchive) -> None:
    commit(archive, "r1", [said("one")])
    commit(archive, "r2", [said("two")], strategy="copy")
    archive.note([entry(at=PAST, id="a"), entry("t")])
    found = archive.log(limit=None)
    assert [(each.what, each.outcome, each.why, each.session, each.ref) for each in found] == [
        ("hook session-start", "skipped", "nothing to give back", "t", ""),
        ("copy", "ran", "100 tokens", "s", "r2"),
        ("compaction", "ran", "100 -> 40 tokens", "s", "r1"),
        ("hook session-start", "skipped", "nothing to give back", "s", ""),
    ]
    assert (found[-1].at, found[-1].id) == (PAST, "a")
    assert [each.session for each in archive.log("t")] == ["t"]
    assert len(archive.log(limit=2)) == 2
    assert archive.verify() == []


def test_an_entry_is_stored_once_by_its_id(archive: SqlArchive) -> None:
    for _ in range(2):
        archive.note([entry(id="a", at=PAST), entry(id="b", at=PAST)])
    assert [each.id for each in archive.log()] == ["b", "a"]


def test_retention_and_forget_remove_entries(archive: SqlArchive) -> None:
    archive.note([entry(at=PAST), entry("t", at=PAST), entry("t")])
    archive.prune(older_than=timedelta(days=1), session="t", dry_run=True)
    assert len(archive.log()) == 3
    archive.prune(older_than=timedelta(days=1), session="t")
    assert [each.session for each in archive.log()] == ["t", "s"]
    archive.prune_log(older_than=timedelta(days=1), what="summarizer")
    assert len(archive.log()) == 2
    archive.prune_log(older_than=timedelta(days=1), what="hook ")
    assert [each.session for each in archive.log()] == ["t"]
    assert [each.id for each in archive.sessions()] == ["t"], "of s nothing is left"
    archive.pin("u", "text", "keep")
    archive.prune_log(older_than=timedelta(0))
    assert [each.id for each in archive.sessions()] == ["u"]
    archive.note([entry("t")])
    archive.forget("t")
    assert archive.log() == []


def test_a_session_without_a_name_is_rejected(archive: SqlArchive) -> None:
    with pytest.raises(ValueError, match="printable"):
        archive.note([entry(" ")])
    with pytest.raises(ValueError, match="printable"):
        archive.log("")


def test_an_archive_of_the_version_before_the_log_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    before = max(migrations("sqlite")) - 1
    archive = SqliteArchive(path)
    commit(archive, "r1", [said("one")])
    archive.close()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("DROP TABLE receipts")
    db.execute(f"PRAGMA user_version = {before}")
    db.execute("DELETE FROM schema_version")
    db.close()
    archive = SqliteArchive(path)
    assert [each.ref for each in archive.log()] == ["r1"]
    archive.note([entry()])
    assert len(archive.log()) == 2
    assert archive.load("r1") == [said("one")]
    assert archive.verify() == []


def test_a_schema_of_the_version_before_the_log_is_migrated(postgres: Any) -> None:
    from trimtab.archive import PostgresArchive

    archive = PostgresArchive(postgres.url, schema="before_log")
    commit(archive, "r1", [said("one")])
    for statement in ("DROP TABLE receipts", f"UPDATE schema_version SET version = {max(migrations('postgres')) - 1}"):
        archive.transact(lambda: _run(statement))  # noqa: B023 - it runs at once
    archive.close()
    archive = PostgresArchive(postgres.url, schema="before_log")
    archive.note([entry()])
    assert len(archive.log()) == 2
    assert archive.load("r1") == [said("one")]
    archive.close()


def _run(statement: str) -> Any:
    """Run a statement that returns no rows."""
    yield statement, ()


MESSAGES = [said(f"step {n}: {SECRET} " + "word " * 80, ("user", "assistant")[n % 2]) for n in range(40)]


def refuses(_: object) -> trimtab.Verdict:
    """A hook that refuses, in words that quote a message."""
    return trimtab.Verdict(refuse=SECRET)


def fails(*_: object, **__: object) -> str:
    """A summarizer that fails, in words that quote a message."""
    raise RuntimeError(SECRET)


def logged(tmp_path: Path, **settings: Any) -> list[tuple[str, str, str]]:
    """Compact in a session, and return what the log says of it; no word of a message is in the archive's log."""
    path = tmp_path / "archive.db"
    cm = trimtab.Compactor("claude-sonnet-5-5", archive=f"sqlite:///{path}", **settings)
    cm.session("deploy").compact(MESSAGES, target_share=0.3)
    found = cm.archive.log("deploy")
    assert "marzipan" not in str(query(cm.archive, "SELECT * FROM receipts"))
    cm.close()
    return [(each.what, each.outcome, each.why) for each in found if each.outcome != "ran"]


def test_a_refusal_of_a_hook_is_an_entry(tmp_path: Path) -> None:
    assert logged(tmp_path, pre_compact=refuses) == [("compaction", "refused", "a hook refused")]


def test_a_summarizer_that_fails_is_an_entry(tmp_path: Path) -> None:
    assert ("summarizer", "failed", "offline instead") in logged(tmp_path, summarizer=fails)


def test_a_log_that_cannot_be_written_stops_nothing() -> None:
    class Full(SqliteArchive):
        def note(self, receipts: Any) -> None:  # type: ignore[override]
            raise trimtab.ArchiveError("the disk is full")

    cm = trimtab.Compactor("claude-sonnet-5-5", archive=Full(":memory:"), pre_compact=refuses)
    assert cm.compact(MESSAGES, target_share=0.3).messages == MESSAGES
    cm.close()


def test_an_archive_of_ones_own_keeps_no_log_and_needs_none() -> None:
    assert trimtab.archive.Archive.note(open_archive("memory"), [entry()]) is None
    assert Note(entry()).receipt.session == "s"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data and a session file."""
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "data"))
    (tmp_path / "project").mkdir()
    (tmp_path / "s-1.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in SESSION))
    return tmp_path


def test_each_run_of_a_hook_is_an_entry(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hook("session-start", event={"session_id": "s-1", "source": "startup"})
    hook("post-tool-use", event={"session_id": "s-1", "tool_name": "Bash", "tool_response": SECRET})
    hook("pre-compact", event={"session_id": "s-1", "transcript_path": f"/no/such/file of {SECRET}"})
    hook("pre-compact", event=compacting(home))
    until((home / "data/claude-code/sessions/s-1.json").exists)
    until(lambda: not list((home / "data/claude-code/receipts").glob("*.jsonl")))
    hook("session-start", event={"session_id": "s-1", "source": "compact"})
    assert main(["archive", "log", "--session", "s-1", "--json"]) == 0
    out = capsys.readouterr().out
    found = [(each["what"], each["outcome"], each["why"]) for each in json.loads(out)]
    messages = trimtab.read(home / "s-1.jsonl").messages
    tokens = trimtab.Counter.for_model("claude-sonnet-5-5").per_message(messages).sum()
    assert sorted(found) == [
        ("copy", "ran", f"{tokens} tokens"),
        ("hook post-tool-use", "skipped", "no text is over the limit"),
        ("hook pre-compact", "failed", "FileNotFoundError"),
        ("hook pre-compact", "ran", "the session file is copied"),
        ("hook session-start", "ran", "rules, tasks and pins are given back"),
        ("hook session-start", "skipped", "nothing to give back"),
    ]
    assert "marzipan" not in out
    assert main(["archive", "log", "--limit", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("ran      hook session-start: rules, tasks and pins are given back, s-1")
    assert main(["archive", "log", "--session", "s-2"]) == 1


def test_damaged_entries_are_left_out(home: Path) -> None:
    hook("session-start", event={"session_id": "s-1", "source": "startup"})
    path = home / "data/claude-code/receipts/log.jsonl"
    whole = json.loads(path.read_text())
    odd = [{**whole, "id": 5}, {**whole, "at": "now"}, {**whole, "session": "unnamed-x", "id": "u"}, [], None]
    path.write_text(path.read_text() + "".join(f"{json.dumps(each)}\n" for each in odd) + '{"id": "half')
    hook("pre-compact", event=compacting(home))
    until((home / "data/claude-code/sessions/s-1.json").exists)
    until(lambda: not list((home / "data/claude-code/receipts").glob("*.jsonl")))
    with open_archive(f"sqlite:///{home}/data/archive.db") as archive:
        assert {each.session for each in archive.log()} == {"s-1"}  # type: ignore[attr-defined]
