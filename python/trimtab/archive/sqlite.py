"""An archive in one SQLite file."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import ArchiveError
from ._archive import Record, digest_of, dump

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._messages import Message

VERSION = 1
"""Of the schema, in ``PRAGMA user_version``."""

SCHEMA = """
CREATE TABLE message (digest TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE compaction (
    ref TEXT PRIMARY KEY,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    tokens_before INTEGER NOT NULL,
    tokens_after INTEGER NOT NULL,
    plan TEXT NOT NULL,
    summary TEXT,
    summarizer TEXT
);
CREATE TABLE original (
    ref TEXT NOT NULL REFERENCES compaction (ref) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    digest TEXT NOT NULL REFERENCES message (digest),
    PRIMARY KEY (ref, position)
) WITHOUT ROWID;
"""

FIXED = (3, 51, 3)
"""The first SQLite whose write-ahead log cannot be corrupted by a reset (release notes of 3.51.3)."""


class SqliteArchive:
    """Originals and compactions in one file, mode 0600; every method is one transaction.

    ``synchronous=FULL``: what a call acknowledged survives the process. A rollback journal unless the library is
    fixed for WAL. Threads share the connection, one at a time.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Opens the file, and makes it where there is none.

        Raises:
            ArchiveError: it cannot be opened, is no archive, or is one of a newer version.
        """
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            if str(path) != ":memory:":
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(self.path, timeout=10, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA foreign_keys = ON")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute(f"PRAGMA journal_mode = {'WAL' if sqlite3.sqlite_version_info >= FIXED else 'DELETE'}")
            self._migrate()
        except (OSError, sqlite3.Error) as error:
            raise ArchiveError(f"cannot open the archive {self.path}: {error}") from error

    def _migrate(self) -> None:
        with self._transaction() as db:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise ArchiveError(
                    f"the archive {self.path} has version {version}, this trimtab knows {VERSION}: update trimtab"
                )
            if version == 0 and db.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise ArchiveError(f"{self.path} is a database of another program: name another file")
            if version == 0:
                for statement in filter(str.strip, SCHEMA.split(";")):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {VERSION}")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; SQLite's errors become ours."""
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:  # locked for too long, or closed
                raise ArchiveError(f"archive {self.path}: {error}") from error
            try:
                yield self._db
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                self._rollback()
                raise ArchiveError(f"archive {self.path}: {error}") from error
            except BaseException:
                self._rollback()
                raise

    def _rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def store(self, messages: Sequence[Message]) -> tuple[str, ...]:
        """Keeps each message's JSON once."""
        texts = [dump(message) for message in messages]
        rows = [(digest_of(text), text) for text in texts]
        with self._transaction() as db:
            db.executemany("INSERT OR IGNORE INTO message VALUES (?, ?)", rows)
        return tuple(digest for digest, _ in rows)

    def commit(self, record: Record) -> None:
        """Remembers a compaction."""
        r = record
        with self._transaction() as db:
            added = db.execute(
                "INSERT OR IGNORE INTO compaction (ref, tokens_before, tokens_after, plan, summary, summarizer)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (r.ref, r.tokens_before, r.tokens_after, r.plan, _clean(r.summary), r.summarizer),
            )
            if added.rowcount:
                rows = [(r.ref, position, digest) for position, digest in enumerate(r.digests)]
                db.executemany("INSERT INTO original VALUES (?, ?, ?)", rows)

    def load(self, ref: str) -> list[dict[str, Any]]:
        """The original list of a compaction."""
        with self._transaction() as db:
            if not db.execute("SELECT 1 FROM compaction WHERE ref = ?", (ref,)).fetchone():
                raise ArchiveError(f"no compaction {ref!r} in the archive {self.path}")
            query = "SELECT body FROM original JOIN message USING (digest) WHERE ref = ? ORDER BY position"
            return [json.loads(body) for (body,) in db.execute(query, (ref,))]

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._db.close()


def _clean(text: str | None) -> str | None:
    """Text that SQLite can store: lone surrogates have no UTF-8. The summary's envelope in the messages keeps them."""
    return text.encode("utf-8", "replace").decode() if text else text
