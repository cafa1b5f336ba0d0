"""PostgreSQL archives: pooled connections, awaited compactions, migrations and retries."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from typing import TYPE_CHECKING

import psycopg
import pytest

import trimtab
from support.archives import commit, query, record, said
from support.command import run
from support.models import CLAUDE
from support.transcripts import transcript
from trimtab.archive import PostgresArchive, SqlArchive, SqliteArchive, Stored, open_archive
from trimtab.archive import postgres as postgres_module
from trimtab.archive.sql import write as _write
from trimtab.archive.sql.codec import encode
from trimtab.archive.sql.statements import migrations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.postgres import Server
    from trimtab.archive.sql.statements import Steps

MODEL = CLAUDE


@pytest.fixture
def archive(postgres: Server, request: pytest.FixtureRequest) -> Iterator[PostgresArchive]:
    archive = PostgresArchive(postgres.url, schema=f"p{abs(hash(request.node.name))}")
    yield archive
    archive.close()


def talk() -> list[dict]:
    return transcript(" ".join("u:60 a:90" for _ in range(30)))


def test_an_awaited_compaction_uses_its_archive_without_blocking_the_event_loop(archive: PostgresArchive) -> None:
    store, ticks = archive.store, []

    def slow(messages: list, session: str) -> Stored:
        time.sleep(0.2)
        return store(messages, session)

    async def tick() -> None:
        while True:
            ticks.append(len(archive.history("s")))
            await asyncio.sleep(0.01)

    async def work() -> trimtab.Compaction:
        ticking = asyncio.create_task(tick())
        done = await cm.acompact(talk(), target_share=0.5)
        ticking.cancel()
        return done

    archive.store = slow
    cm = trimtab.Compactor(MODEL, archive=archive).session("s")
    done = asyncio.run(work())
    assert len(ticks) > 5
    assert archive.load(done.ref) == talk()
    assert [past.ref for past in archive.history("s")] == [done.ref]


def test_awaited_compactions_of_one_session_are_serialized_or_conflict(
    archive: PostgresArchive, tmp_path: Path
) -> None:
    async def crowd(archive: SqlArchive) -> list:
        async def writer(_: trimtab.summarize.Ask) -> str:
            await asyncio.sleep(chance.uniform(0, 0.02))
            return "a summary"

        chance = random.Random(1)
        made = [trimtab.Compactor(MODEL, archive=archive, summarizer=writer).session("s") for _ in range(8)]
        asked = (cm.acompact([*talk(), said(f"{n}")], target_share=0.3) for n, cm in enumerate(made))
        return await asyncio.gather(*asked, return_exceptions=True)

    for kind in (archive, SqliteArchive(tmp_path / "a.db")):
        done = asyncio.run(crowd(kind))
        refs = {one.ref for one in done if isinstance(one, trimtab.Compaction)}
        assert {type(other) for other in done} <= {trimtab.Compaction, trimtab.ConflictError}
        assert refs
        assert {past.ref for past in kind.history(limit=None)} == refs
        assert kind.sessions()[0].version == len(refs)
        assert kind.verify() == []


def test_a_forked_child_has_connections_of_its_own(archive: PostgresArchive) -> None:
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


def test_a_newer_schema_and_a_closed_archive_raise(postgres: Server) -> None:
    PostgresArchive(postgres.url, schema="newer").close()
    newer = PostgresArchive(postgres.url, schema="newer")
    query(newer, "INSERT INTO schema_version (version) VALUES (99)")
    newer.close()
    with pytest.raises(trimtab.ArchiveError, match="version 99.*update trimtab"):
        PostgresArchive(postgres.url, schema="newer")
    with pytest.raises(trimtab.ArchiveError, match="closed"):
        newer.history()


def test_who_may_not_create_a_schema_opens_one_that_is_there(postgres: Server) -> None:
    with PostgresArchive(postgres.url, schema="made") as archive:
        commit(archive, "r1", [said("one")])
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        for statement in (
            "CREATE ROLE app LOGIN",
            "GRANT USAGE ON SCHEMA made TO app",
            "GRANT ALL ON ALL TABLES IN SCHEMA made TO app",
            "GRANT ALL ON ALL SEQUENCES IN SCHEMA made TO app",
            "CREATE SCHEMA own AUTHORIZATION app",
        ):
            connection.execute(statement)
    as_app = postgres.url.replace("user=tester", "user=app")
    for schema in ("made", "own"):
        with PostgresArchive(as_app, schema=schema) as archive:
            commit(archive, "r2", [said("two")])
            assert archive.load("r2") == [said("two")]
    with PostgresArchive(f"{postgres.url}&options=-cdefault_transaction_read_only%3Don", schema="made") as archive:
        assert archive.load("r1") == [said("one")]
    with pytest.raises(trimtab.ArchiveError, match="permission denied"):
        PostgresArchive(as_app, schema="another")


def test_a_schema_of_the_previous_version_is_migrated_and_searchable(postgres: Server) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as db:
        db.execute("CREATE SCHEMA before")
        db.execute("SET search_path TO before")
        db.execute("CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ DEFAULT now())")
        for statement in migrations("postgres")[1]:
            db.execute(statement.encode())
        db.execute("INSERT INTO schema_version VALUES (1)")
        db.execute("INSERT INTO sessions VALUES ('s')")
        db.execute("INSERT INTO messages (digest, size, body) VALUES (%s, 32, %s)", _stored(said("first")))
        db.execute("INSERT INTO message_archive (session_id, original_message) VALUES ('s', 1)")
    archive = PostgresArchive(postgres.url, schema="before")
    commit(archive, "r1", [said("first"), said("second")])
    assert [hit.ref for hit in archive.search("first")] == ["r1"]
    assert [hit.ref for hit in archive.search("second")] == ["r1"]
    assert archive.verify() == []
    archive.close()


def _stored(message: dict) -> tuple[str, str]:
    (text,), (digest,) = encode([message])
    return digest, text


def test_store_repeats_if_a_message_is_forgotten_meanwhile(archive: PostgresArchive) -> None:
    messages, tries = [said("of both"), said("new")], []
    commit(archive, "r1", messages[:1], session="other")

    def overtaken() -> Steps[Stored]:
        steps = _write.store(*encode(messages), "s", archive.now(), archive.dialect)
        tries.append(steps)
        rows = None
        while True:
            try:
                statement = next(steps) if rows is None else steps.send(rows)
            except StopIteration as done:
                return done.value
            if len(tries) == 1 and "INTO message_archive" in str(statement):
                archive.forget("other")
            rows = yield statement

    archive.commit(archive.transact(overtaken), record("r2"))
    assert len(tries) == 2
    assert archive.load("r2") == messages
    assert archive.verify() == []


def test_a_server_that_is_away_is_told_soon_with_its_reason_and_used_at_once_when_it_is_back(
    archive: PostgresArchive, postgres: Server, caplog: pytest.LogCaptureFixture
) -> None:
    cm = trimtab.Compactor(MODEL, archive=archive).session("s")
    done = cm.compact(talk(), target_share=0.5)
    postgres.kill()
    try:
        began = time.monotonic()
        assert cm.fit(talk()).resumed_ref == done.ref  # an archive that is away stops no call
        for away in (archive.history, lambda: PostgresArchive(postgres.url)):
            with pytest.raises(trimtab.ArchiveError, match="connection to server"):
                away()
        assert time.monotonic() - began < postgres_module.TIMEOUT
    finally:
        postgres.start()
    began = time.monotonic()  # behind the server's start, which recovers what all tests have written
    assert cm.restore(done.ref) == talk()
    assert time.monotonic() - began < postgres_module.TIMEOUT
    assert "connection to server" in caplog.text


def test_open_archive_accepts_a_url_and_errors_hide_its_password(postgres: Server) -> None:
    archive = open_archive(f"{postgres.url}&password=secret")
    assert isinstance(archive, PostgresArchive)
    archive.close()
    assert archive.location == f"postgresql://{postgres.folder}/postgres"
    with pytest.raises(trimtab.ArchiveError, match=f"{postgres.folder}/postgres is closed"):
        archive.history()


def test_no_command_prints_the_password_of_its_archive(postgres: Server, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(talk()))
    words = ("compact", str(tmp_path / "s.json"), "-o", str(tmp_path / "o.json"), "--target-share", "0.5")
    server = ("--archive", f"{postgres.url}&password=secret")
    told = run(*words, *server).stdout
    assert "trimtab restore" in told
    assert "password=[REDACTED]" in told
    listed = run("archive", "list", *server).stdout
    assert "secret" not in told + listed + run(*words, *server, "--json").stdout
