"""SIGKILL: to those who write, to the server, and to a migration at every statement."""

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

from _lane import Lane, record, round_of

from trimtab.archive.sqlite import SqliteArchive, Stdlib

if TYPE_CHECKING:
    from collections.abc import Callable

    from trimtab.archive import SqlArchive


class Marking(Stdlib):
    """A driver that tells when it is inside a transaction, and waits there to be killed."""

    def __init__(self, tell: Callable[[bytes], object], chance: random.Random) -> None:
        self.tell, self.chance, self.left = tell, chance, chance.randrange(40, 120)

    def connect(self, path: str) -> Marking:
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
            self.tell(b"!\n")
            time.sleep(30)

    def close(self) -> None:
        self.db.close()


def killed_sqlite(kills: int, seed: int = 7) -> Lane:
    """SIGKILL to a process that writes; a third of the time in a transaction. Another process hears it."""
    lane, chance = Lane(), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(kills):
            path = Path(folder) / f"{number // 25}.db"
            hear, tell = os.pipe()
            inside = number % 3 == 0
            child = os.fork()
            if child == 0:
                try:
                    driver = Marking(partial(os.write, tell), chance) if inside else None
                    _write(SqliteArchive(path, driver), number, partial(os.write, tell))
                finally:
                    os._exit(1)  # a writer that fails must not go on as a second copy of its caller
            os.close(tell)
            heard = _listen(hear, inside, chance.uniform(0.0, 0.12))
            os.kill(child, signal.SIGKILL)
            while more := os.read(hear, 65536):
                heard += more
            os.close(hear)
            os.waitpid(child, 0)
            lane.notes["inside"] += b"!" in heard
            archive = SqliteArchive(path)
            _audit(lane, archive, number, _acknowledged(heard))
            archive.close()
    return lane


def _listen(hear: int, inside: bool, wait: float) -> bytes:  # noqa: FBT001
    """Hears a writer out, until the moment to kill it."""
    heard = b""
    if inside:
        while b"!" not in heard:
            heard += _some(hear)
        return heard
    while b"\n" not in heard:  # it has begun
        heard += _some(hear)
    time.sleep(wait)
    return heard


def _some(hear: int) -> bytes:
    """Read what the writer says next.

    Raises:
        RuntimeError: the writer ended before it was killed.
    """
    if not (more := os.read(hear, 65536)):
        raise RuntimeError("the writer ended before it was killed")
    return more


def _audit(lane: Lane, archive: SqlArchive, number: int, acknowledged: list[str]) -> None:
    """Whether what was acknowledged is there, and nothing is torn."""
    lane.points += 1
    lane.notes["acknowledged"] += len(acknowledged)
    there = {past.ref for past in archive.history(f"s{number}", limit=None)}
    lane.check(set(acknowledged) <= there, f"round {number}: lost {set(acknowledged) - there}")
    lane.check(len(there) <= len(acknowledged) + 1, f"round {number}: {len(there)} of {len(acknowledged)} acknowledged")
    if there:
        lane.check(not (faults := archive.verify(f"s{number}")), f"round {number}: {faults[:1]}")
    for ref in there:
        k = int(ref.partition("-")[2])
        lane.check(archive.load(ref) == round_of(number, k), f"{ref} is not what was stored")


def _acknowledged(lines: bytes) -> list[str]:
    """Refs that the writer reported, up to the last whole line."""
    return [line.decode() for line in lines.split(b"\n")[:-1] if line != b"!"]


def _write(archive: SqlArchive, number: int, tell: Callable[[bytes], object]) -> None:
    """Compacts until it is killed; acknowledges what was committed."""
    for k in range(10**6):
        ref = f"k{number}-{k}"
        archive.commit(archive.store(round_of(number, k), f"s{number}"), record(ref))
        tell(ref.encode() + b"\n")


def killed_postgres(server: Any, kills: int, seed: int = 7) -> Lane:
    """SIGKILL to the server with all its processes, and to the client: a third of the time inside a transaction."""
    from trimtab.archive import postgres

    lane, chance = Lane(), random.Random(seed)
    postgres.PostgresArchive(server.url, schema="kills").close()
    for number in range(kills):
        hear, tell = os.pipe()
        inside = number % 3 == 0
        child = os.fork()
        if child == 0:
            if inside:
                _mark(postgres, partial(os.write, tell), chance)
            try:
                _write(postgres.PostgresArchive(server.url, schema="kills"), number, partial(os.write, tell))
            finally:
                os._exit(1)
        os.close(tell)
        heard = _listen(hear, inside, chance.uniform(0.0, 0.12))
        if number % 2:
            os.kill(child, signal.SIGKILL)
        server.kill()
        if not number % 2:
            os.kill(child, signal.SIGKILL)
        while more := os.read(hear, 65536):
            heard += more
        os.close(hear)
        os.waitpid(child, 0)
        lane.notes["inside"] += b"!" in heard
        server.start()
        archive = postgres.PostgresArchive(server.url, schema="kills")
        _audit(lane, archive, number, _acknowledged(heard))
        archive.close()
    return lane


def _mark(postgres: Any, tell: Callable[[bytes], object], chance: random.Random) -> None:
    """Makes operations tell that they are inside a transaction, and wait there to be killed."""
    spelled, left = postgres._placeholders, [chance.randrange(25, 90)]

    def waiting(sql: str) -> bytes:
        left[0] -= 1
        if left[0] < 0 and sql.startswith(("INSERT", "UPDATE")):
            tell(b"!\n")
            time.sleep(30)
        return bytes(spelled(sql))

    postgres._placeholders = waiting


class Suicidal(Stdlib):
    """A driver whose process is killed before its n-th statement."""

    def __init__(self, at: int) -> None:
        self.left = at

    def connect(self, path: str) -> Suicidal:
        self.db = sqlite3.connect(path, isolation_level=None)
        return self

    def execute(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.db.execute(sql, values)

    def close(self) -> None:
        self.db.close()


def _in_child(work: Callable[[], object]) -> bool:
    """Whether a process that does this is killed by itself."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _open_and_die(path: Path, at: int) -> None:
    SqliteArchive(path, Suicidal(at))


def migrated(old: Callable[[Path], None], server: Any = None) -> Lane:
    """SIGKILL before every statement of a migration, of a new file, of an old one, and of PostgreSQL's schema."""
    lane = Lane()
    with tempfile.TemporaryDirectory() as folder:
        for name, make in (("new", lambda _: None), ("old", old)):
            at = 1
            path = Path(folder) / f"{name}.db"
            make(path)
            while _in_child(partial(_open_and_die, path, at)):
                at += 1
                lane.points += 1
                if name == "old":
                    first = sqlite3.connect(path).execute("SELECT count(*) FROM sqlite_master WHERE name = 'message'")
                    version = sqlite3.connect(path).execute("PRAGMA user_version").fetchone()
                    lane.check((first.fetchone()[0] == 1) == (version == (1,)), f"{name} {at}: torn")
            archive = SqliteArchive(path)
            lane.check(not archive.verify(), f"{name}: not intact")
            lane.check(len(archive.history()) == (name == "old"), f"{name}: not all there")
            archive.close()
    if server:
        _migrated_postgres(lane, server)
    return lane


def _migrated_postgres(lane: Lane, server: Any) -> None:
    from trimtab.archive import postgres

    schema, at = f"m{os.getpid()}", 1

    def work(at: int) -> None:
        spelled, left = postgres._placeholders, [at]

        def killing(sql: str) -> bytes:
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return bytes(spelled(sql))

        postgres._placeholders = killing
        postgres.PostgresArchive(server.url, schema=schema)

    while _in_child(partial(work, at)):
        at += 1
        lane.points += 1
    archive = postgres.PostgresArchive(server.url, schema=schema)
    archive.commit(archive.store(round_of(1, 1), "s"), record("r1"))
    lane.check(not archive.verify(), "postgres: not intact")
    archive.close()
