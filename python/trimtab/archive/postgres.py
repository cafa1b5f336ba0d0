"""An archive in PostgreSQL: psycopg 3 with connection pools, synchronous and asynchronous."""

from __future__ import annotations

import asyncio
import os
import time
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from ..errors import ArchiveError
from .archive import SqlArchive
from .sql.migrate import migrate
from .sql.statements import Dialect, Many, T, run_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from .sql.statements import Row, Statement, Steps

TRIES = 4
"""Attempts for one transaction, after lost connections and deadlocks. All operations are idempotent, so that one can
run again that was committed but not acknowledged."""

TRANSIENT = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.IntegrityError)
"""Errors worth a retry: a lost connection, a deadlock, a message removed since it was looked up."""

PATIENCE = 30.0
"""Seconds to wait for a connection or for a lock on the session."""

LOCK = 0x7472_696D
"""Id of the advisory lock for migrations: "trim" in ASCII."""

DIALECT = Dialect(
    name="postgres",
    first="SELECT nextval(pg_get_serial_sequence('message_archive', 'id')) + 1",
    last="SELECT currval(pg_get_serial_sequence('message_archive', 'id'))",
    parts="json_array_elements_text(CAST(? AS json)) WITH ORDINALITY AS part (value, key)",
    packs=False,
    message="message_id",
    index=(
        "INSERT INTO search (message_id, words) VALUES (?, array_to_tsvector(string_to_array(?, ' ')))"
        " ON CONFLICT DO NOTHING"
    ),
    unindex="",
    matching="words @@ CAST(? AS tsquery)",
    asking=lambda words: " & ".join(f"'{word}'" for word in words),
    size="SELECT coalesce(sum(size), 0) FROM messages",  # files shrink only when vacuumed
)

_COLUMNS = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped"
_INDEXES = (
    "SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid, k, true), i.indoption[k - 1] & 1"
    " FROM pg_index i, generate_series(1, i.indnkeyatts) k WHERE i.indrelid = to_regclass(?)"
    " AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid) ORDER BY 1, k"
)


class PostgresDatabase:
    """One schema of a PostgreSQL database; each operation is one transaction on a pooled connection.

    Durability is the server's: ``synchronous_commit`` is not changed.
    """

    dialect = DIALECT

    def __init__(self, url: str, *, schema: str = "trimtab", most: int = 8) -> None:
        """Connect, and create or upgrade the schema.

        Args:
            url: ``postgresql://...``, or any connection string of libpq.
            schema: the schema of the tables.
            most: maximum number of open connections, for each of the two pools.

        Raises:
            ArchiveError: the connection fails, or the schema has a newer version.
        """
        self._url = url
        self._schema = schema
        self._most = most
        self._closed = False
        self._async: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncConnectionPool[Any]] = WeakKeyDictionary()
        self._open()
        try:
            self.run(self._migrate)
        except BaseException:
            self.close()
            raise

    @property
    def place(self) -> str:
        """Host and database, without the password."""
        parts = psycopg.conninfo.conninfo_to_dict(self._url)
        return f"postgresql://{parts.get('host', '')}/{parts.get('dbname', '')}"

    def _open(self) -> None:
        self._pid = os.getpid()
        self._pool: ConnectionPool[Any] = ConnectionPool(
            self._url, min_size=0, max_size=self._most, timeout=PATIENCE, configure=self._configure, open=True
        )

    def _settings(self) -> tuple[str, ...]:
        name = '"' + self._schema.replace('"', '""') + '"'
        return f"SET search_path TO {name}", f"SET lock_timeout = '{PATIENCE:.0f}s'"

    def _configure(self, connection: psycopg.Connection[Any]) -> None:
        connection.autocommit = True
        for statement in self._settings():
            connection.execute(statement.encode())

    async def _aconfigure(self, connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.set_autocommit(True)
        for statement in self._settings():
            await connection.execute(statement.encode())

    def _migrate(self) -> Steps[None]:
        yield "SELECT pg_advisory_xact_lock(?)", (LOCK,)
        yield self._settings()[0].replace("SET search_path TO", "CREATE SCHEMA IF NOT EXISTS"), ()
        yield (
            (
                "CREATE TABLE IF NOT EXISTS schema_version"
                " (version INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())"
            ),
            (),
        )
        [(version,)] = yield "SELECT coalesce(max(version), 0) FROM schema_version", ()
        yield from migrate("postgres", version, self.place)

    def run(self, operation: Callable[[], Steps[T]], *, write: bool = True) -> T:  # noqa: ARG002 - readers do not block here
        """Run an operation as one transaction; retry it after a transient error.

        Raises:
            ArchiveError: PostgreSQL fails or cannot be reached.
        """
        self._check()
        if self._pid != os.getpid():
            self._open()  # after a fork, the pool's threads and sockets belong to the parent
        for left in reversed(range(TRIES)):
            try:
                with self._pool.connection() as connection, connection.transaction(), connection.cursor() as cursor:
                    return run_steps(operation(), partial(_execute, cursor))
            except psycopg.Error as error:
                time.sleep(self._pause(error, left))
        raise AssertionError  # the last attempt has returned or raised

    async def arun(self, operation: Callable[[], Steps[T]], *, write: bool = True) -> T:  # noqa: ARG002
        """Run an operation like ``run``, on a connection of this event loop's pool."""
        self._check()
        for left in reversed(range(TRIES)):
            try:
                pool = await self._apool()
                async with pool.connection() as connection, connection.transaction():
                    return await _arun_steps(connection, operation())
            except psycopg.Error as error:
                await asyncio.sleep(self._pause(error, left))
        raise AssertionError

    async def _apool(self) -> AsyncConnectionPool[Any]:
        loop = asyncio.get_running_loop()
        if loop not in self._async:
            self._async[loop] = pool = AsyncConnectionPool(
                self._url, min_size=0, max_size=self._most, timeout=PATIENCE, configure=self._aconfigure, open=False
            )
            await pool.open()
        return self._async[loop]

    def _check(self) -> None:
        if self._closed:
            raise ArchiveError(f"archive {self.place}: it is closed")

    def _pause(self, error: psycopg.Error, left: int) -> float:
        """Return the seconds before the next attempt: 2.1 s in all, enough for a server to restart.

        Raises:
            ArchiveError: the error is not transient, or no attempt is left.
        """
        if not left or not isinstance(error, TRANSIENT):
            raise ArchiveError(f"archive {self.place}: {str(error).strip() or type(error).__name__}") from error
        return float(0.1 * 4 ** (TRIES - 1 - left))

    def columns(self, table: str) -> Steps[list[str]]:
        """Return the names of a table's columns."""
        return [name for (name,) in (yield f"{_COLUMNS} ORDER BY attnum", (table,))]

    def indexes(self, table: str) -> Steps[list[list[str]]]:
        """Return the columns of each index that belongs to no constraint."""
        found: dict[str, list[str]] = {}
        for name, column, down in (yield _INDEXES, (table,)):
            found.setdefault(name, []).append(f"{column} DESC" if down else column)
        return list(found.values())

    def check(self) -> Steps[list[str]]:
        """Return no faults: PostgreSQL checks its pages itself, and a client cannot."""
        yield "SELECT 1", ()
        return []

    def close(self) -> None:
        """Close the synchronous pool; ``aclose`` closes that of an event loop."""
        self._closed = True
        if self._pid == os.getpid():
            self._pool.close()

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        if pool := self._async.pop(asyncio.get_running_loop(), None):
            await pool.close()


@lru_cache(maxsize=256)
def _placeholders(sql: str) -> bytes:
    """Return the statement with psycopg's placeholders."""
    return sql.replace("?", "%s").encode()


def _execute(cursor: psycopg.Cursor[Any], statement: Statement) -> list[Row]:
    if isinstance(statement, Many):
        cursor.executemany(_placeholders(statement.sql), statement.rows)
        return []
    cursor.execute(_placeholders(statement[0]), statement[1])
    return cursor.fetchall() if cursor.description else []


async def _arun_steps(connection: psycopg.AsyncConnection[Any], steps: Steps[T]) -> T:
    async with connection.cursor() as cursor:
        try:
            statement = next(steps)
            while True:
                rows: list[Row] = []
                if isinstance(statement, Many):
                    await cursor.executemany(_placeholders(statement.sql), statement.rows)
                else:
                    await cursor.execute(_placeholders(statement[0]), statement[1])
                    rows = await cursor.fetchall() if cursor.description else []
                statement = steps.send(rows)
        except StopIteration as done:
            answer: T = done.value
            return answer


class PostgresArchive(SqlArchive):
    """An archive in one schema of a PostgreSQL database."""

    def __init__(self, url: str, *, schema: str = "trimtab", most: int = 8) -> None:
        """Connect, and create or upgrade the schema.

        Raises:
            ArchiveError: the connection fails, or the schema has a newer version.
        """
        super().__init__(PostgresDatabase(url, schema=schema, most=most))
