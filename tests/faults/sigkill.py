"""SIGKILL of a writer, of the database server, and of a migration before each of its statements."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faults.outcome import Outcome, numbered
from support.archives import record
from trimtab.archive import SqliteArchive
from trimtab.archive.sqlite import Driver

if TYPE_CHECKING:
    from collections.abc import Callable

    from trimtab.archive import SqlArchive


class Waiting(Driver):
    """A driver that reports when it is inside a transaction, and waits there to be killed."""

    def __init__(self, report: Callable[[bytes], object], rng: random.Random) -> None:
        self.report, self.rng, self.left = report, rng, rng.randrange(40, 120)

    def connect(self, path: str) -> Waiting:
        self.db = sqlite3.connect(path, isolation_level=None)
        return self

    def execute(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        self._wait()
        return self.db.execute(sql, values)

    def executemany(self, sql: str, rows: Any) -> Any:
        self._wait()
        return self.db.executemany(sql, rows)

    def _wait(self) -> None:
        self.left -= 1
        if self.left < 0 and self.db.in_transaction:
            self.report(b"!\n")
            time.sleep(30)

    def close(self) -> None:
        self.db.close()


def killed_sqlite(kills: int, seed: int = 7) -> Outcome:
    """SIGKILL of a writing process, every third time inside a transaction.

    The writer reports each commit, and with ``!`` that it waits inside a transaction, as lines of a pipe.
    """
    outcome, rng = Outcome(), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(kills):
            path = Path(folder) / f"{number // 25}.db"
            read_end, write_end = os.pipe()
            inside = number % 3 == 0
            child = os.fork()
            if child == 0:
                try:
                    driver = Waiting(partial(os.write, write_end), rng) if inside else None
                    _write(SqliteArchive(path, driver), number, partial(os.write, write_end))
                finally:
                    os._exit(1)  # a writer that fails must not go on as a second copy of its caller
            os.close(write_end)
            reported = _read_until(read_end, inside, rng.uniform(0.0, 0.12))
            os.kill(child, signal.SIGKILL)
            while more := os.read(read_end, 65536):
                reported += more
            os.close(read_end)
            os.waitpid(child, 0)
            outcome.counts["inside"] += b"!" in reported
            archive = SqliteArchive(path)
            _audit(outcome, archive, number, _acknowledged(reported))
            archive.close()
    return outcome


def _read_until(pipe: int, inside: bool, wait: float) -> bytes:
    """Read the writer's reports until it is inside a transaction, or for ``wait`` seconds after a commit."""
    reported = b""
    while (b"!" if inside else b"\n") not in reported:
        reported += _read(pipe)
    if not inside:
        time.sleep(wait)
    return reported


def _read(pipe: int) -> bytes:
    """Read the writer's next report.

    Raises:
        RuntimeError: the writer ended before it was killed.
    """
    if not (more := os.read(pipe, 65536)):
        raise RuntimeError("the writer ended before it was killed")
    return more


def _audit(outcome: Outcome, archive: SqlArchive, number: int, acknowledged: list[str]) -> None:
    """Checks that every acknowledged compaction is stored, whole."""
    outcome.cases += 1
    outcome.counts["acknowledged"] += len(acknowledged)
    stored = {past.ref for past in archive.history(f"s{number}", limit=None)}
    outcome.check(set(acknowledged) <= stored, f"kill {number}: lost {set(acknowledged) - stored}")
    outcome.check(
        len(stored) <= len(acknowledged) + 1, f"kill {number}: {len(stored)} of {len(acknowledged)} acknowledged"
    )
    if stored:
        outcome.check(not (faults := archive.verify(f"s{number}")), f"kill {number}: {faults[:1]}")
    for ref in stored:
        k = int(ref.partition("-")[2])
        outcome.check(archive.load(ref) == numbered(number, k), f"{ref} came back changed")


def _acknowledged(lines: bytes) -> list[str]:
    """Refs of the commits that the writer reported in whole lines."""
    return [line.decode() for line in lines.split(b"\n")[:-1] if line != b"!"]


def _write(archive: SqlArchive, number: int, report: Callable[[bytes], object]) -> None:
    """Compacts until it is killed, and reports each commit."""
    for k in range(10**6):
        ref = f"k{number}-{k}"
        archive.commit(archive.store(numbered(number, k), f"s{number}"), record(ref))
        report(ref.encode() + b"\n")


def killed_postgres(server: Any, kills: int, seed: int = 7) -> Outcome:
    """SIGKILL of the server with all its processes and of the client, every third time inside a transaction."""
    from trimtab.archive import postgres

    outcome, rng = Outcome(), random.Random(seed)
    postgres.PostgresArchive(server.url, schema="kills").close()
    for number in range(kills):
        read_end, write_end = os.pipe()
        inside = number % 3 == 0
        child = os.fork()
        if child == 0:
            if inside:
                _wait_inside(postgres, partial(os.write, write_end), rng)
            try:
                _write(postgres.PostgresArchive(server.url, schema="kills"), number, partial(os.write, write_end))
            finally:
                os._exit(1)
        os.close(write_end)
        reported = _read_until(read_end, inside, rng.uniform(0.0, 0.12))
        if number % 2:
            os.kill(child, signal.SIGKILL)
        server.kill()
        if not number % 2:
            os.kill(child, signal.SIGKILL)
        while more := os.read(read_end, 65536):
            reported += more
        os.close(read_end)
        os.waitpid(child, 0)
        outcome.counts["inside"] += b"!" in reported
        server.start()
        archive = postgres.PostgresArchive(server.url, schema="kills")
        _audit(outcome, archive, number, _acknowledged(reported))
        archive.close()
    return outcome


def _wait_inside(postgres: Any, report: Callable[[bytes], object], rng: random.Random) -> None:
    """Makes a later statement of this process report that it is inside a transaction, and wait there to be killed."""
    placeholders, left = postgres._placeholders, [rng.randrange(25, 90)]

    def waiting(sql: str) -> bytes:
        left[0] -= 1
        if left[0] < 0 and sql.startswith(("INSERT", "UPDATE")):
            report(b"!\n")
            time.sleep(30)
        return bytes(placeholders(sql))

    postgres._placeholders = waiting


class KilledBefore(Driver):
    """A driver that kills its process before the n-th statement."""

    def __init__(self, at: int) -> None:
        self.left = at

    def connect(self, path: str) -> KilledBefore:
        self.db = sqlite3.connect(path, isolation_level=None)
        return self

    def execute(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.db.execute(sql, values)

    def close(self) -> None:
        self.db.close()


def _is_killed(work: Callable[[], object]) -> bool:
    """Runs ``work`` in a child process; whether a signal ended it."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _open_killed(path: Path, at: int) -> None:
    SqliteArchive(path, KilledBefore(at))


def migrated(old: Callable[[Path], None], server: Any = None) -> Outcome:
    """SIGKILL before each statement of a migration: a new file, an old one, and PostgreSQL's schema."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        for name, make in (("new", lambda _: None), ("old", old)):
            at = 1
            path = Path(folder) / f"{name}.db"
            make(path)
            while _is_killed(partial(_open_killed, path, at)):
                at += 1
                outcome.cases += 1
                if name == "old":
                    first = sqlite3.connect(path).execute("SELECT count(*) FROM sqlite_master WHERE name = 'message'")
                    version = sqlite3.connect(path).execute("PRAGMA user_version").fetchone()
                    outcome.check((first.fetchone()[0] == 1) == (version == (1,)), f"{name} {at}: torn")
            archive = SqliteArchive(path)
            outcome.check(not archive.verify(), f"{name}: not intact")
            outcome.check(len(archive.history()) == (name == "old"), f"{name}: not complete")
            archive.close()
    if server:
        _migrated_postgres(outcome, server)
    return outcome


def _migrated_postgres(outcome: Outcome, server: Any) -> None:
    from trimtab.archive import postgres

    schema, at = f"m{os.getpid()}", 1

    def work(at: int) -> None:
        placeholders, left = postgres._placeholders, [at]

        def killing(sql: str) -> bytes:
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return bytes(placeholders(sql))

        postgres._placeholders = killing
        postgres.PostgresArchive(server.url, schema=schema)

    while _is_killed(partial(work, at)):
        at += 1
        outcome.cases += 1
    archive = postgres.PostgresArchive(server.url, schema=schema)
    archive.commit(archive.store(numbered(1, 1), "s"), record("r1"))
    outcome.check(not archive.verify(), "postgres: not intact")
    archive.close()
