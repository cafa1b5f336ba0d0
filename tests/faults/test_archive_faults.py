"""What befalls an archive, in short: ``make reliability`` does it at length."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest

from support.archives import first_archive
from trimtab.archive.sqlite import SqliteArchive

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))

from _crowds import crowded, disconnected
from _disks import faulted, filled, flipped
from _kills import killed_postgres, killed_sqlite, migrated

pytestmark = pytest.mark.filterwarnings("default")  # processes that are killed close nothing


def test_what_was_acknowledged_survives_the_killing_of_its_writer() -> None:
    lane = killed_sqlite(100)
    assert lane.faults == []
    assert lane.points == 100
    assert lane.notes["inside"] >= 33
    assert lane.notes["acknowledged"] > 100


def test_what_was_acknowledged_survives_the_killing_of_the_server() -> None:
    from support.postgres import Server, binaries

    server = Server(binaries())
    try:
        lane = killed_postgres(server, 30)
    finally:
        server.stop()
    assert lane.faults == []
    assert lane.notes["inside"] >= 10
    assert lane.notes["acknowledged"] > 30


def test_a_file_that_fails_at_any_operation_is_reported_and_whole() -> None:
    lane = faulted(every=11)
    assert lane.faults == []
    assert lane.points > 50
    assert lane.notes["reported"] > 40


def test_a_full_disk_is_reported_and_what_was_there_stays() -> None:
    lane = filled()
    if lane is None:
        pytest.skip("no tmpfs can be mounted here")
    assert lane.faults == []
    assert lane.points == 5
    assert lane.notes["kept"] > 3


def test_a_flipped_bit_is_found_or_does_no_harm() -> None:
    lane = flipped(60)
    assert lane.faults == []
    assert lane.points == 60
    assert lane.notes["found by verify"] + lane.notes["refused to open"] > 5


def test_processes_and_threads_at_one_session_lose_nothing(tmp_path: Path) -> None:
    lane = crowded(partial(SqliteArchive, tmp_path / "archive.db"), 160)
    assert lane.faults == []
    assert lane.points == 160
    assert lane.notes["conflicts"] > 0


def test_processes_and_threads_at_one_session_of_a_server_lose_nothing(postgres: object) -> None:
    from trimtab.archive.postgres import PostgresArchive

    lane = crowded(partial(PostgresArchive, postgres.url, schema="crowd"), 160)
    assert lane.faults == []
    assert lane.points == 160
    assert lane.notes["conflicts"] > 0


def test_a_line_that_is_cut_before_in_or_after_a_commit_doubles_and_loses_nothing(postgres: object) -> None:
    lane = disconnected(postgres, 12)
    assert lane.faults == []
    assert lane.notes == {"before": 4, "in": 4, "after": 4}


def test_a_migration_that_is_killed_before_any_statement_is_as_if_it_had_not_been(postgres: object) -> None:
    lane = migrated(first_archive, postgres)
    assert lane.faults == []
    assert lane.points > 70
