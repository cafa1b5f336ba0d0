"""Archives for tests: one of each kind, and compactions to put into them."""

from __future__ import annotations

import hashlib
import sqlite3
from typing import TYPE_CHECKING
from uuid import uuid4

from trimtab.archive import MemoryArchive, Record
from trimtab.archive.sql.migrate import migrations
from trimtab.archive.sqlite import SqliteArchive

if TYPE_CHECKING:
    from pathlib import Path

    from trimtab.archive import SqlArchive

KINDS = ("memory", "sqlite", "postgres")


def opened(kind: str, folder: Path, url: str | None = None) -> SqlArchive:
    """A new, empty archive of that kind; ``url`` is the server of a PostgreSQL one."""
    if kind == "memory":
        return MemoryArchive()
    if kind == "sqlite":
        return SqliteArchive(folder / "a" / "archive.db")
    from trimtab.archive.postgres import PostgresArchive

    assert url
    return PostgresArchive(url, schema=f"t{uuid4().hex}")


def record(ref: str, **fields: object) -> Record:
    """A compaction's record; what is not said is made up."""
    told = {"strategy": "hybrid", "tokens_before": 100, "tokens_after": 40, "plan": "{}", **fields}
    return Record(ref=ref, **told)


def commit(archive: SqlArchive, ref: str, messages: list, session: str = "s", **fields: object) -> None:
    """Both transactions of a compaction."""
    archive.commit(archive.store(messages, session), record(ref, **fields))


def said(text: str, role: str = "user") -> dict:
    """A message."""
    return {"role": role, "content": text}


def first_archive(path: Path) -> None:
    """A file as the first version of this library wrote it."""
    db = sqlite3.connect(path)
    for statement in migrations("sqlite")[1]:
        db.execute(statement)
    rows = [("a", '{"role": "user", "content": "one"}'), ("b", '{"role": "user", "content": "two"}')]
    rows = [(hashlib.sha256(body.encode()).hexdigest(), body) for _, body in rows]
    db.executemany("INSERT INTO message VALUES (?, ?)", rows)
    db.execute(
        "INSERT INTO compaction (ref, tokens_before, tokens_after, plan, summary) VALUES ('r1', 9, 5, '{}', 's')"
    )
    db.executemany("INSERT INTO original VALUES ('r1', ?, ?)", [(n, rows[n % 2][0]) for n in range(3)])
    db.execute("PRAGMA user_version = 1")
    db.commit()
    db.close()
