"""An archive in one SQLite file, or in memory."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._fork import OwnLock
from .._log import log
from ..errors import ArchiveError
from .archive import SqlArchive
from .sql.statements import UNREADABLE, Dialect, Row, Statement, Steps, T, migrations, pending, run_steps

if TYPE_CHECKING:
    from collections.abc import Callable

WAL_FIXED_IN = (3, 51, 3)
"""First SQLite version whose write-ahead log cannot be corrupted by a reset (release notes of 3.51.3)."""

APPLICATION_ID = 0x7472_696D
"""``application_id`` of an archive's file: "trim" in ASCII."""

CACHE_KB = 32_768
"""Page cache in KB: large enough that a compaction of a full window is written only at its commit."""

LOCK_TIMEOUT = 120.0
"""Seconds to wait for the transactions of other processes. SQLite has no queue for writers: with sixteen processes that
write without pause, one transaction in 6,000 waited longer than 30 seconds."""

BUSY_TIMEOUT_MS = 5_000
"""Milliseconds of one wait inside SQLite, in which Python handles no signal."""

DIALECT = Dialect(
    name="sqlite",
    next_id="SELECT coalesce(max(id), 0) + 1 FROM message_archive",
    last_id="SELECT coalesce(max(id), 0) FROM message_archive",
    parts="json_each(?) AS part",
    compresses=True,
    search_id="rowid",
    index="INSERT INTO search (rowid, words) VALUES (?, ?)",
    unindex="INSERT INTO search (search, rowid, words) VALUES ('delete', ?, ?)",
    matches="search MATCH ?",
    match_value=lambda words: " ".join(f'"{word}"' for word in words),
    size=(
        "SELECT (page_count - freelist_count) * page_size"
        " FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
    ),
    purge="INSERT INTO search (search) VALUES ('optimize')",
    integrity_check=(
        "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok' UNION ALL"
        " SELECT \"table\" || ' row ' || rowid || ' refers to a ' || parent || ' that does not exist'"
        " FROM pragma_foreign_key_check"
    ),
    newest="SELECT coalesce(max(id), 0) FROM messages",
    drop_index="DROP INDEX idx_messages_digest",
    has_index="SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = 'idx_messages_digest'",
    create_index="CREATE UNIQUE INDEX idx_messages_digest ON messages (digest)",
)


class Driver:
    """The ``sqlite3`` module; tests that inject faults replace it."""

    error: type[Exception] = sqlite3.Error
    version: tuple[int, ...] = sqlite3.sqlite_version_info

    def connect(self, path: str) -> Any:
        """Open an existing file, without implicit transactions and for use by several threads."""
        return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


class SqliteArchive(SqlArchive):
    """An archive in one SQLite file, mode 0600, or in memory with the path ``:memory:``.

    ``synchronous=FULL``: a committed transaction survives a crash of the process and, if the disk honours flushes, of
    the machine. The journal is a write-ahead log from SQLite 3.51.3 on, and a rollback journal before. Threads take
    turns on one connection; a forked child opens its own.
    """

    dialect = DIALECT

    def __init__(self, path: str | os.PathLike[str], driver: Driver | None = None) -> None:
        """Open the file; create it if it does not exist.

        Raises:
            ArchiveError: the file cannot be opened, is no archive, or has a newer version.
        """
        self.path = str(path)
        self.durable = self.path != ":memory:"
        self._driver = driver or Driver()
        self._closed = False
        self._abandoned: list[object] = []
        self._remains = False
        self._own = OwnLock()
        self._open()

    def _open(self) -> None:
        try:
            self._db = self._connect()
            try:
                self._configure()
            except BaseException:
                self._db.close()
                raise
        except (OSError, self._driver.error, *UNREADABLE) as error:
            raise ArchiveError(f"cannot open the archive {self.path}: {_with_advice(error)}") from error
        self._pid = os.getpid()

    def _connect(self) -> Any:
        if self.path != ":memory:":
            file = Path(self.path)
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Opening and closing an existing file would drop the locks of this process's other connections.
            with suppress(FileExistsError):
                os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        return self._driver.connect(self.path)

    def _configure(self) -> None:
        """Set up connection and schema. Opening an archive of the current version waits for no writer."""
        for setting in (
            f"busy_timeout = {BUSY_TIMEOUT_MS}",
            f"cache_size = -{CACHE_KB}",
            "foreign_keys = ON",
            "secure_delete = ON",
            "synchronous = FULL",
            "trusted_schema = OFF",  # a file of somebody else runs no function of ours
        ):
            self._execute(f"PRAGMA {setting}")
        [(version,)] = self._execute("PRAGMA user_version")
        if version != max(migrations("sqlite")):
            if not self._execute("SELECT 1 FROM sqlite_master LIMIT 1"):
                self._execute("PRAGMA auto_vacuum = FULL")  # only possible before the first table
            self._run(self._migrate, write=True)
        mode = "WAL" if self._driver.version >= WAL_FIXED_IN else "DELETE"
        self._execute(f"PRAGMA journal_mode = {mode}")  # last, so that a file of another program stays unchanged
        self._wal = f"{self.path}-wal"
        with suppress(OSError, self._driver.error):
            if Path(self._wal).stat().st_size:  # of a running process, or of a killed one that had removed text
                self._empty_log(wait=False)

    def _empty_log(self, *, wait: bool) -> bool:
        """Write the log to the file and truncate it; return whether another connection prevented it."""
        self._execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS if wait else 0}")
        try:
            [(busy, *_)] = self._execute("PRAGMA wal_checkpoint(TRUNCATE)")  # without a log, it does nothing
        finally:
            self._execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        return bool(busy)

    def erase(self) -> str:
        """Remove deleted text from the write-ahead log; return the log's path if another connection reads it.

        Later transactions, and closing the last connection, remove what remains.
        """
        with self._own.lock:
            try:
                self._remains = self._empty_log(wait=True)
                cause = "another connection reads it"
            except self._driver.error as error:
                self._remains, cause = True, str(error)
        if self._remains:
            log.warning("removed text remains in %s until a later transaction: %s", self._wal, cause)
        return self._wal if self._remains else ""

    def _migrate(self) -> Steps[None]:
        """Create or upgrade the schema; refuse a database of another program."""
        [(version,)] = yield "PRAGMA user_version", ()
        if version == 0 and (yield "SELECT 1 FROM sqlite_master LIMIT 1", ()):
            raise ArchiveError(f"{self.path} is a database of another program: name another file")
        newest, steps = pending("sqlite", version, self.path)
        for step in steps:  # noqa: UP028 - a list takes no answer
            yield step
        if newest > version:
            yield f"PRAGMA user_version = {newest}", ()
            yield f"PRAGMA application_id = {APPLICATION_ID}", ()

    def transact(self, operation: Callable[[], Steps[T]], *, write: bool = True, dry_run: bool = False) -> T:
        """Run an operation as one transaction.

        Raises:
            ArchiveError: SQLite fails; the file is unchanged.
        """
        if self._closed:
            raise ArchiveError(f"the archive {self.path} is closed")
        with self._own.lock:
            if self._pid != os.getpid():
                self._abandon()
            try:
                answer = self._run(operation, write=write, dry_run=dry_run)
            except (self._driver.error, UnicodeError) as error:  # SQLite's own message may be no UTF-8
                raise ArchiveError(f"archive {self.path}: {_with_advice(error)}") from error
            if self._remains:
                with suppress(self._driver.error):
                    self._remains = self._empty_log(wait=False)
            return answer

    def _abandon(self) -> None:
        """Open a connection of this process's own, in a forked one: to close the parent's could drop its locks."""
        self._abandoned.append(self._db)
        if self.path == ":memory:":
            self._pid = os.getpid()
        else:
            self._open()

    def _run(self, operation: Callable[[], Steps[T]], *, write: bool, dry_run: bool = False) -> T:
        try:
            self._execute("BEGIN IMMEDIATE" if write else "BEGIN")  # an interrupt may come behind it
            answer = run_steps(operation(), self._run_statement)
            self._execute("ROLLBACK" if dry_run else "COMMIT")
        except BaseException:
            with suppress(self._driver.error):  # SQLite rolls back by itself on a full disk
                self._db.execute("ROLLBACK")
            raise
        return answer

    def _execute(self, sql: str) -> list[Row]:
        return self._run_statement((sql, ()))

    def _run_statement(self, statement: Statement) -> list[Row]:
        """Run a statement; retry it while another process holds the lock: a refused statement has no effect."""
        sql, values = statement
        if not isinstance(values, tuple):
            self._db.executemany(sql, values)
            return []
        until = time.monotonic() + LOCK_TIMEOUT
        while True:
            try:
                return list(self._db.execute(sql, values))
            except self._driver.error as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise

    def close(self) -> None:
        """Close the file."""
        with self._own.lock:
            if not self._closed and self._pid == os.getpid():
                with suppress(self._driver.error):  # committed data is on the disk, even if closing fails
                    self._db.close()
            self._closed = True


def _with_advice(error: Exception) -> str:
    """Return the error's text with advice."""
    text = str(error)
    if isinstance(error, UNREADABLE) or any(word in text for word in ("malformed", "not a database", "corrupt")):
        return f"{text}; the file is damaged or no archive: run trimtab archive verify, or restore a backup"
    if "full" in text:
        return f"{text}; nothing was changed: free some space and try again"
    if getattr(error, "sqlite_errorname", "") == "SQLITE_READONLY_DBMOVED":
        return "the file was moved, replaced or removed while it was open; nothing was changed: open the archive anew"
    return text
