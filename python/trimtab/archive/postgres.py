"""An archive in PostgreSQL, for servers: psycopg 3, pooled, plain and asynchronous."""

from __future__ import annotations

import asyncio
import os
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from ..errors import ArchiveError
from .archive import SqlArchive
from .sql.migrate import migrate
from .sql.statements import Dialect, Many, T

if TYPE_CHECKING:
    from collections.abc import Callable

    from .sql.statements import Row, Steps

TRIES = 4
"""Times that a transaction is run before its failure is told: a connection that was lost in the middle, or two
transactions that waited for each other. An operation that was committed and not acknowledged finds itself done."""

PASSING = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.IntegrityError)
"""What another try may mend: a lost connection, a deadlock, a message that was forgotten since it was looked up."""

PATIENCE = 30.0
"""Seconds that a transaction waits for a connection, or for another that holds its session."""

LOCK = 0x7472_696D
"""Advisory lock of migrations: "trim"."""

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
    size="SELECT coalesce(sum(size), 0) FROM messages",  # what is deleted stays in the files until it is vacuumed
)

_COLUMNS = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped"
_INDEXES = (
    "SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid, k, true), i.indoption[k - 1] & 1"
    " FROM pg_index i, generate_series(1, i.indnkeyatts) k WHERE i.indrelid = to_regclass(?)"
    " AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid) ORDER BY 1, k"
)


class PostgresDatabase:
    """One schema of a PostgreSQL database; every operation is one transaction on a connection of a pool.

    What was acknowledged is as safe as the server makes it (``synchronous_commit`` is left as it is).
    """

    dialect = DIALECT

    def __init__(self, url: str, *, schema: str = "trimtab", most: int = 8) -> None:
        """Connects, and makes or mends the schema.

        Args:
            url: ``postgresql://...``, or any connection string of libpq's.
            schema: where the tables are.
            most: connections that are held open at a time, plain and asynchronous ones each.

        Raises:
            ArchiveError: the server cannot be reached or refuses, or the schema is of a newer version.
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
        told = psycopg.conninfo.conninfo_to_dict(self._url)
        return f"postgresql://{told.get('host', '')}/{told.get('dbname', '')}"

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

    def run(self, make: Callable[[], Steps[T]], *, write: bool = True) -> T:  # noqa: ARG002 - readers block nobody here
        """Runs an operation as one transaction, again where its connection was lost.

        Raises:
            ArchiveError: PostgreSQL refused it, or cannot be reached.
        """
        self._check()
        if self._pid != os.getpid():
            self._open()  # a pool's threads and sockets are the parent's
        for left in reversed(range(TRIES)):
            try:
                with self._pool.connection() as connection, connection.transaction():
                    return _steps(connection, make())
            except PASSING as error:
                if not left:
                    raise self._failure(error) from error
                time.sleep(_pause(left))
            except psycopg.Error as error:
                raise self._failure(error) from error
        raise AssertionError  # the last try has returned or raised

    async def arun(self, make: Callable[[], Steps[T]], *, write: bool = True) -> T:  # noqa: ARG002
        """The same on an asynchronous connection of this event loop's pool."""
        self._check()
        for left in reversed(range(TRIES)):
            try:
                pool = await self._apool()
                async with pool.connection() as connection, connection.transaction():
                    return await _asteps(connection, make())
            except PASSING as error:
                if not left:
                    raise self._failure(error) from error
                await asyncio.sleep(_pause(left))
            except psycopg.Error as error:
                raise self._failure(error) from error
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

    def _failure(self, error: Exception) -> ArchiveError:
        return ArchiveError(f"archive {self.place}: {str(error).strip() or type(error).__name__}")

    def columns(self, table: str) -> Steps[list[str]]:
        """Names of a table's columns."""
        return [name for (name,) in (yield f"{_COLUMNS} ORDER BY attnum", (table,))]

    def indexes(self, table: str) -> Steps[list[list[str]]]:
        """Columns of each index that is no constraint's."""
        found: dict[str, list[str]] = {}
        for name, column, down in (yield _INDEXES, (table,)):
            found.setdefault(name, []).append(f"{column} DESC" if down else column)
        return list(found.values())

    def check(self) -> Steps[list[str]]:
        """Nothing: PostgreSQL checks its pages itself, and a client cannot."""
        yield "SELECT 1", ()
        return []

    def close(self) -> None:
        """Closes the plain connections; those of an event loop are closed by ``aclose`` in it."""
        self._closed = True
        if self._pid == os.getpid():
            self._pool.close()

    async def aclose(self) -> None:
        """Closes this event loop's connections."""
        if pool := self._async.pop(asyncio.get_running_loop(), None):
            await pool.close()


def _pause(left: int) -> float:
    """Seconds before the next try: short at first, long enough in all for a server to restart."""
    return float(0.1 * 4 ** (TRIES - 1 - left))


@lru_cache(maxsize=256)
def _spelled(sql: str) -> bytes:
    return sql.replace("?", "%s").encode()


def _steps(connection: psycopg.Connection[Any], steps: Steps[T]) -> T:
    rows: list[Row] | None = None
    with connection.cursor() as cursor:
        while True:
            try:
                statement = next(steps) if rows is None else steps.send(rows)
            except StopIteration as done:
                answer: T = done.value
                return answer
            if isinstance(statement, Many):
                cursor.executemany(_spelled(statement.sql), statement.rows)
                rows = []
            else:
                cursor.execute(_spelled(statement[0]), statement[1])
                rows = cursor.fetchall() if cursor.description else []


async def _asteps(connection: psycopg.AsyncConnection[Any], steps: Steps[T]) -> T:
    rows: list[Row] | None = None
    async with connection.cursor() as cursor:
        while True:
            try:
                statement = next(steps) if rows is None else steps.send(rows)
            except StopIteration as done:
                answer: T = done.value
                return answer
            if isinstance(statement, Many):
                await cursor.executemany(_spelled(statement.sql), statement.rows)
                rows = []
            else:
                await cursor.execute(_spelled(statement[0]), statement[1])
                rows = await cursor.fetchall() if cursor.description else []


class PostgresArchive(SqlArchive):
    """Everything in one schema of a PostgreSQL database."""

    def __init__(self, url: str, *, schema: str = "trimtab", most: int = 8) -> None:
        """Connects, and makes or mends the schema.

        Raises:
            ArchiveError: the server cannot be reached or refuses, or the schema is of a newer version.
        """
        super().__init__(PostgresDatabase(url, schema=schema, most=most))
