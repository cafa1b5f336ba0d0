"""Fault injection into archives, few cases of each scenario; ``make reliability`` runs many."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from faults.concurrency import concurrent
from faults.connection import dropped
from faults.disk import faulted, filled, flipped
from faults.hostile import hostile
from faults.sigkill import killed_postgres, killed_sqlite, migrated
from support.archives import first_archive
from support.scale import scaled
from trimtab.archive import SqliteArchive

pytestmark = pytest.mark.filterwarnings("default")  # processes that are killed close nothing


def test_acknowledged_compactions_survive_sigkill_of_the_writer() -> None:
    kills = scaled(100)
    outcome = killed_sqlite(kills)
    assert outcome.failures == []
    assert outcome.cases == kills
    assert outcome.counts["inside"] >= kills // 3
    assert outcome.counts["acknowledged"] > kills


def test_acknowledged_compactions_survive_sigkill_of_the_server() -> None:
    from support.postgres import Server, binaries

    server = Server(binaries())
    try:
        outcome = killed_postgres(server, scaled(30))
    finally:
        server.stop()
    assert outcome.failures == []
    assert outcome.counts["inside"] >= scaled(30) // 3
    assert outcome.counts["acknowledged"] > scaled(30)


def test_a_failed_file_operation_is_reported_and_leaves_the_archive_whole() -> None:
    outcome = faulted(every=31)
    assert outcome.failures == []
    assert outcome.cases > 18
    assert outcome.counts["reported"] > 14


def test_a_full_disk_is_reported_and_loses_nothing() -> None:
    outcome = filled()
    if outcome is None:
        pytest.skip("no tmpfs can be mounted here")
    assert outcome.failures == []
    assert outcome.cases == 5
    assert outcome.counts["kept"] > 3


def test_a_flipped_bit_is_found_or_has_no_effect() -> None:
    outcome = flipped(60)
    assert outcome.failures == []
    assert outcome.cases == 60
    assert outcome.counts["found by verify"] + outcome.counts["refused to open"] > 5


def test_a_hostile_archive_gives_what_was_stored_or_an_archive_error() -> None:
    outcome = hostile(100)
    assert outcome.failures == []
    assert outcome.cases == 100
    assert outcome.counts["refused"] > 100
    assert outcome.counts["answered"] > 1_000


def test_concurrent_compactions_of_a_session_lose_nothing_sqlite(tmp_path: Path) -> None:
    outcome = concurrent(partial(SqliteArchive, tmp_path / "archive.db"), scaled(256))
    assert outcome.failures == []
    assert outcome.cases == scaled(256)
    assert outcome.counts["conflicts"] > 0


def test_concurrent_compactions_of_a_session_lose_nothing_postgres(postgres: object) -> None:
    from trimtab.archive import PostgresArchive

    outcome = concurrent(partial(PostgresArchive, postgres.url, schema="concurrent"), scaled(256))
    assert outcome.failures == []
    assert outcome.cases == scaled(256)
    assert outcome.counts["conflicts"] > 0


def test_a_dropped_connection_around_a_commit_doubles_and_loses_nothing(postgres: object) -> None:
    outcome = dropped(postgres, 12)
    assert outcome.failures == []
    assert outcome.counts == {"before": 4, "in": 4, "after": 4}


def test_a_killed_migration_leaves_the_old_schema(postgres: object) -> None:
    outcome = migrated(first_archive, postgres)
    assert outcome.failures == []
    assert outcome.cases > 70
