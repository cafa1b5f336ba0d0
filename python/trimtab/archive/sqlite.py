"""An archive in one SQLite file, or in memory."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ArchiveError
from .archive import SqlArchive
from .sql.migrate import migrate, migrations
from .sql.statements import Dialect, Many, T

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from .sql.statements import Row, Steps

FIXED = (3, 51, 3)
"""The first SQLite whose write-ahead log cannot be corrupted by a reset (release notes of 3.51.3)."""

OURS = 0x7472_696D
"""``application_id`` of an archive's file: "trim"."""

CACHE = 32_768
"""Kilobytes of pages that are held at most: a compaction of a full window is written at its end, and not before."""

PATIENCE = 120.0
"""Seconds that a transaction waits for those of other processes. SQLite has no queue: who asks at the right moment is
next, and of sixteen that write without a pause one in six thousand was not in 30 seconds."""

SLICE = 5_000
"""Milliseconds of it in which no signal is heard."""

DIALECT = Dialect(
    name="sqlite",
    first="SELECT coalesce(max(id), 0) + 1 FROM message_archive",
    last="SELECT coalesce(max(id), 0) FROM message_archive",
    parts="json_each(?) AS part",
    packs=True,
    message="rowid",
    index="INSERT INTO search (rowid, words) VALUES (?, ?)",
    unindex="INSERT INTO search (search, rowid, words) VALUES ('delete', ?, ?)",
    matching="search MATCH ?",
    asking=lambda words: " ".join(f'"{word}"' for word in words),
    size=(
        "SELECT (page_count - freelist_count) * page_size"
        " FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
    ),
    purge=("INSERT INTO search (search) VALUES ('optimize')",),
)


class Connection(Protocol):
    """What is used of a driver's connection; the standard library's and apsw's both have it."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Iterable[Any]:
        """Runs a statement."""
        ...

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> Iterable[Any]:
        """Runs it for each row of values."""
        ...

    def close(self) -> object:
        """Closes the file."""
        ...


class Driver(Protocol):
    """A library that speaks to SQLite: here the fault lane puts its own."""

    error: type[Exception]
    version: tuple[int, ...]

    def connect(self, path: str) -> Connection:
        """Opens a file that exists; statements begin and end transactions, and threads may share it."""
        ...


class Stdlib:
    """The standard library's SQLite."""

    error: type[Exception] = sqlite3.Error
    version: tuple[int, ...] = sqlite3.sqlite_version_info

    def connect(self, path: str) -> Connection:
        """Opens a file."""
        return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


class SqliteDatabase:
    """One file, mode 0600; every operation is one transaction.

    ``synchronous=FULL``: what was acknowledged survives the process, and the machine as far as its disk keeps its word.
    A rollback journal unless the library is fixed for WAL. Threads share the connection, one at a time; a forked child
    opens its own.
    """

    dialect = DIALECT

    def __init__(self, path: str | os.PathLike[str], driver: Driver | None = None) -> None:
        """Opens the file, and makes it where there is none.

        Raises:
            ArchiveError: it cannot be opened, is no archive, or is one of a newer version.
        """
        self.path = str(path)
        self._driver: Driver = driver or Stdlib()
        self._closed = False
        self._abandoned: list[Connection] = []
        self._open()

    def _open(self) -> None:
        self._lock = threading.Lock()
        self._pid = os.getpid()
        try:
            self._db = self._connect()
            try:
                self._settle()
            except BaseException:
                self._db.close()
                raise
        except (OSError, self._driver.error) as error:
            raise ArchiveError(f"cannot open the archive {self.path}: {_advised(error)}") from error

    def _connect(self) -> Connection:
        if self.path != ":memory:":
            file = Path(self.path)
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # To open and close a file that is there would take the locks of this process's other connections away.
            with suppress(FileExistsError):
                os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        return self._driver.connect(self.path)

    def _settle(self) -> None:
        """Brings connection and schema to what they are to be. Those who only open wait for no writer."""
        for setting in (
            f"busy_timeout = {SLICE}",
            f"cache_size = -{CACHE}",
            "foreign_keys = ON",
            "secure_delete = ON",
            "synchronous = FULL",
        ):
            self._execute(f"PRAGMA {setting}")
        [(version,)] = self._execute("PRAGMA user_version")
        if version != max(migrations("sqlite")):
            if not self._execute("SELECT 1 FROM sqlite_master LIMIT 1"):
                self._execute("PRAGMA auto_vacuum = FULL")  # in front of the first table, and a write
            self._run(self._migrate, write=True)
        mode = "WAL" if self._driver.version >= FIXED else "DELETE"
        self._execute(f"PRAGMA journal_mode = {mode}")  # last: another program's file stays as it is

    def _migrate(self) -> Steps[None]:
        """Makes or mends the schema; leaves the databases of others alone."""
        [(version,)] = yield "PRAGMA user_version", ()
        if version == 0 and (yield "SELECT 1 FROM sqlite_master LIMIT 1", ()):
            raise ArchiveError(f"{self.path} is a database of another program: name another file")
        newest = yield from migrate("sqlite", version, self.path)
        if newest > version:
            yield f"PRAGMA user_version = {newest}", ()
            yield f"PRAGMA application_id = {OURS}", ()

    def run(self, make: Callable[[], Steps[T]], *, write: bool = True) -> T:
        """Runs an operation as one transaction.

        Raises:
            ArchiveError: SQLite refused it; the file is as it was.
        """
        if self._closed:
            raise ArchiveError(f"archive {self.path}: it is closed")
        if self._pid != os.getpid():
            # Closing the parent's connection here could take its locks and its journal away.
            self._abandoned.append(self._db)
            if self.path == ":memory:":
                self._lock, self._pid = threading.Lock(), os.getpid()
            else:
                self._open()
        with self._lock:
            try:
                return self._run(make, write=write)
            except self._driver.error as error:
                raise ArchiveError(f"archive {self.path}: {_advised(error)}") from error

    def _run(self, make: Callable[[], Steps[T]], *, write: bool) -> T:
        self._execute("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            answer = self._steps(make())
            self._execute("COMMIT")
        except BaseException:
            with suppress(self._driver.error):  # SQLite may have rolled back by itself, as it does on a full disk
                self._db.execute("ROLLBACK")
            raise
        return answer

    def _steps(self, steps: Generator[tuple[str, Row] | Many, list[Row], T]) -> T:
        rows: list[Row] | None = None
        while True:
            try:
                statement = next(steps) if rows is None else steps.send(rows)
            except StopIteration as done:
                answer: T = done.value
                return answer
            if isinstance(statement, Many):
                self._db.executemany(statement.sql, statement.rows)
                rows = []
            else:
                rows = self._execute(*statement)

    def _execute(self, sql: str, values: Row = ()) -> list[Row]:
        """Runs a statement, and again while others hold the file: one that was refused for that has done nothing."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return list(self._db.execute(sql, values))
            except self._driver.error as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise

    async def arun(self, make: Callable[[], Steps[T]], *, write: bool = True) -> T:
        """The same, in a thread."""
        import asyncio  # noqa: PLC0415 - 24 ms, paid by those who have a loop running anyway

        return await asyncio.to_thread(self.run, make, write=write)

    def columns(self, table: str) -> Steps[list[str]]:
        """Names of a table's columns."""
        return [name for (name,) in (yield "SELECT name FROM pragma_table_info(?)", (table,))]

    def indexes(self, table: str) -> Steps[list[list[str]]]:
        """Columns of each index that is no constraint's."""
        names = yield "SELECT name FROM pragma_index_list(?) WHERE origin = 'c' ORDER BY name", (table,)
        found = []
        for (name,) in names:
            columns = yield 'SELECT name, "desc" FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno', (name,)
            found.append([f"{column} DESC" if down else column for column, down in columns])
        return found

    def check(self) -> Steps[list[str]]:
        """What SQLite finds wrong with the file."""
        pages = yield "PRAGMA integrity_check", ()
        references = yield "PRAGMA foreign_key_check", ()
        faults = [text for (text,) in pages if text != "ok"]
        return faults + [
            f"{table} row {row} refers to a {parent} that is not there" for table, row, parent, _ in references
        ]

    async def aclose(self) -> None:
        """Nothing is held for an event loop."""

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            if not self._closed and self._pid == os.getpid():
                with suppress(self._driver.error):  # what was acknowledged is on the disk, whatever closing meets
                    self._db.close()
            self._closed = True


def _advised(error: Exception) -> str:
    """What went wrong, and what to do."""
    what = str(error)
    if any(sign in what for sign in ("malformed", "not a database", "decode", "corrupt")):
        return f"{what}; it is damaged, or no archive: see trimtab archive verify, or put a copy of it back"
    if "full" in what:
        return f"{what}; nothing was changed: free some space and try again"
    return what


class SqliteArchive(SqlArchive):
    """Everything in one file."""

    def __init__(self, path: str | os.PathLike[str], driver: Driver | None = None) -> None:
        """Opens the file, and makes it where there is none.

        Raises:
            ArchiveError: it cannot be opened, is no archive, or is one of a newer version.
        """
        super().__init__(SqliteDatabase(path, driver))
