"""Archives for tests: one of each kind, and compactions to put into them."""

from __future__ import annotations

import hashlib
import sqlite3
from typing import TYPE_CHECKING
from uuid import uuid4

from trimtab.archive import Record, SqliteArchive, open_archive
from trimtab.archive.sql.statements import migrations

if TYPE_CHECKING:
    from pathlib import Path

    from trimtab.archive import SqlArchive
    from trimtab.archive.sql.statements import Steps

KINDS = ("memory", "sqlite", "postgres")


def opened(kind: str, folder: Path, url: str | None = None) -> SqlArchive:
    """A new, empty archive of that kind; ``url`` is the server of a PostgreSQL one."""
    if kind == "memory":
        return open_archive("memory")
    if kind == "sqlite":
        return SqliteArchive(folder / "a" / "archive.db")
    from trimtab.archive import PostgresArchive

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


COLUMNS = {
    "sqlite": "SELECT name FROM pragma_table_info(?)",
    "postgres": (
        "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped"
        " ORDER BY attnum"
    ),
}
INDEXES = {
    "sqlite": (
        'SELECT i.name, c.name, c."desc" FROM pragma_index_list(?) i, pragma_index_xinfo(i.name) c'
        " WHERE i.origin = 'c' AND c.key ORDER BY i.name, c.seqno"
    ),
    "postgres": (
        "SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid, k, true), i.indoption[k - 1] & 1"
        " FROM pg_index i, generate_series(1, i.indnkeyatts) k WHERE i.indrelid = to_regclass(?)"
        " AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid) ORDER BY 1, k"
    ),
}


def query(archive: SqlArchive, sql: str, *values: object) -> list[tuple]:
    """The rows of one statement."""

    def operation() -> Steps[list[tuple]]:
        return (yield sql, values)

    return archive.transact(operation)


def columns(archive: SqlArchive, table: str) -> list[str]:
    """The names of a table's columns."""
    return [name for (name,) in query(archive, COLUMNS[archive.dialect.name], table)]


def indexes(archive: SqlArchive, table: str) -> list[list[str]]:
    """The columns of each index that belongs to no constraint; `` DESC`` marks descending ones."""
    found: dict[str, list[str]] = {}
    for name, column, down in query(archive, INDEXES[archive.dialect.name], table):
        found.setdefault(name, []).append(f"{column} DESC" if down else column)
    return list(found.values())
