"""An archive in PostgreSQL: psycopg 3 with a connection pool."""

from __future__ import annotations

import os
import time
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg_pool import ConnectionPool

from .._fork import OwnLock
from .._mask import mask
from ..errors import ArchiveError
from .archive import SqlArchive
from .sql.statements import Dialect, Row, Statement, Steps, T, pending, run_steps

if TYPE_CHECKING:
    from collections.abc import Callable

ATTEMPTS = 4
"""Attempts for one transaction, after lost connections and deadlocks. All operations are idempotent, so that one can
run again that was committed but not acknowledged."""

TRANSIENT = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.IntegrityError)
"""Errors worth a retry: a lost connection, a deadlock, a message removed since it was looked up."""

TIMEOUT = 30.0
"""Seconds to wait for a free connection or for a lock on the session."""

CONNECT_TIMEOUT = 10
"""Seconds to wait for a server's answer, unless the address or ``PGCONNECT_TIMEOUT`` states others."""

RECONNECT_TIMEOUT = 5.0
"""Seconds in which the pool tries to replace a lost connection. Each try comes later than the one before; the next
transaction connects at once."""

MIGRATION_LOCK = 0x7472_696D
"""Id of the advisory lock for migrations: "trim" in ASCII."""

DIALECT = Dialect(
    name="postgres",
    next_id="SELECT nextval(pg_get_serial_sequence('message_archive', 'id')) + 1",
    last_id="SELECT currval(pg_get_serial_sequence('message_archive', 'id'))",
    parts="json_array_elements_text(CAST(? AS json)) WITH ORDINALITY AS part (value, key)",
    compresses=False,
    search_id="message_id",
    index=(
        "INSERT INTO search (message_id, words) VALUES (?, array_to_tsvector(string_to_array(?, ' ')))"
        " ON CONFLICT DO NOTHING"
    ),
    unindex="",
    matches="words @@ CAST(? AS tsquery)",
    match_value=lambda words: " & ".join(f"'{word}'" for word in words),
    size="SELECT coalesce(sum(size), 0) FROM messages",  # files shrink only when vacuumed
)


class PostgresArchive(SqlArchive):
    """An archive in one schema of a PostgreSQL database; each transaction uses a pooled connection.

    Durability is the server's: ``synchronous_commit`` is not changed.
    """

    dialect = DIALECT
    remote = True

    def __init__(self, url: str, *, schema: str = "trimtab", max_connections: int = 8) -> None:
        """Connect, and create or upgrade the schema.

        Args:
            url: ``postgresql://...``, or any connection string of libpq.
            schema: the schema of the tables.
            max_connections: maximum number of open connections.

        Raises:
            ArchiveError: the connection string cannot be read, the connection fails, or the schema has a newer version.
        """
        self._url = url
        try:
            psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:  # its text repeats a part of the string, which may be the password
            raise ArchiveError(
                "cannot read the connection string; special characters in a password are percent-encoded"
            ) from None
        self._schema = '"' + schema.replace('"', '""') + '"'
        self._max_connections = max_connections
        self._closed = False
        self._own = OwnLock()
        self._open()
        try:
            self.transact(self._migrate)
        except BaseException:
            self.close()
            raise

    @property
    def _parts(self) -> dict[str, Any]:
        return psycopg.conninfo.conninfo_to_dict(self._url)

    @property
    def location(self) -> str:
        """Host and database, without the password."""
        return f"postgresql://{self._parts.get('host', '')}/{self._parts.get('dbname', '')}"

    def _open(self) -> None:
        self._is_lost = False
        self._pool: ConnectionPool[Any] = ConnectionPool(
            self._url,
            kwargs={"autocommit": True},
            min_size=0,
            max_size=self._max_connections,
            timeout=TIMEOUT,
            reconnect_timeout=RECONNECT_TIMEOUT,
            configure=self._configure,
            open=True,
        )
        self._pid = os.getpid()

    def _configure(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute(f"SET search_path TO {self._schema}; SET lock_timeout = '{TIMEOUT:.0f}s'".encode())

    def _reach(self) -> None:
        """Connect once where no connection is known to be good: a pool tells neither soon nor why it gets none."""
        if self._is_lost or not self._pool.get_stats()["pool_size"]:
            limits: dict[str, Any] = {"connect_timeout": CONNECT_TIMEOUT}
            if "connect_timeout" in self._parts or "PGCONNECT_TIMEOUT" in os.environ:
                limits = {}
            psycopg.connect(self._url, **limits).close()
            self._is_lost = False

    def _migrate(self) -> Steps[None]:
        [(is_known,)] = yield "SELECT to_regclass(?) IS NOT NULL", (f"{self._schema}.schema_version",)
        if is_known and not pending("postgres", (yield from _version()), self.location)[1]:
            return  # a role that may only read and write the tables opens an archive that somebody else made
        yield "SELECT pg_advisory_xact_lock(?)", (MIGRATION_LOCK,)
        [(is_missing,)] = yield "SELECT to_regnamespace(?) IS NULL", (self._schema,)
        if is_missing:  # the statement asks for the right to create one even where there is one
            yield f"CREATE SCHEMA IF NOT EXISTS {self._schema}", ()
        table = (
            "CREATE TABLE IF NOT EXISTS schema_version"
            " (version INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())"
        )
        yield table, ()
        for step in pending("postgres", (yield from _version()), self.location)[1]:  # noqa: UP028 - a list takes no answer
            yield step

    def transact(self, operation: Callable[[], Steps[T]], *, write: bool = True, dry_run: bool = False) -> T:  # noqa: ARG002 - readers do not block here
        """Run an operation as one transaction; retry it after a transient error.

        Retries wait 2.1 s in all, enough for a server to restart.

        Raises:
            ArchiveError: PostgreSQL fails or cannot be reached.
        """
        if self._closed:
            raise ArchiveError(f"the archive {self.location} is closed")
        with self._own.lock:  # after a fork, the pool's threads and sockets belong to the parent
            if self._pid != os.getpid():
                self._open()
        for attempt in range(ATTEMPTS):
            try:
                self._reach()
                with (
                    self._pool.connection() as connection,
                    connection.transaction(force_rollback=dry_run),
                    connection.cursor() as cursor,
                ):
                    return run_steps(operation(), partial(_execute, cursor))
            except psycopg.Error as error:
                self._is_lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
                if attempt == ATTEMPTS - 1 or not isinstance(error, TRANSIENT):
                    text = mask(str(error).strip(), [self._parts.get("password")])
                    raise ArchiveError(f"archive {self.location}: {text or type(error).__name__}") from error
                time.sleep(0.1 * 4**attempt)
        raise AssertionError  # the last attempt has returned or raised

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        if self._pid == os.getpid():
            self._pool.close()


def _version() -> Steps[int]:
    """Return the version of the schema; 0 before the first."""
    [(version,)] = yield "SELECT coalesce(max(version), 0) FROM schema_version", ()
    return int(version)


@lru_cache(maxsize=256)
def _placeholders(sql: str) -> bytes:
    """Return the statement with psycopg's placeholders."""
    return sql.replace("?", "%s").encode()


def _execute(cursor: psycopg.Cursor[Any], statement: Statement) -> list[Row]:
    sql, values = statement
    if isinstance(values, tuple):
        cursor.execute(_placeholders(sql), values)
    else:
        cursor.executemany(_placeholders(sql), values)
    return cursor.fetchall() if cursor.description else []
