"""The archive protocol, and its implementation in SQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, Self

from .aio import AsyncArchive
from .sql import read as _read
from .sql import retain as _retain
from .sql import search as _search
from .sql import write as _write
from .sql.chain import restore, verify
from .sql.codec import decode, encode
from .sql.statements import check_name, format_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..messages.types import Message
    from .sql.statements import Database, Steps
    from .values import Fault, Hit, Original, Past, Pruned, Record, Session, Stored, Totals

GRACE = timedelta(hours=1)
"""Age at which ``sweep`` removes copies without a compaction: longer than any model takes to answer."""


class Archive(Protocol):
    """Stores original messages by content, and a record of each compaction. Each call is one transaction.

    Every method raises ArchiveError on failure.
    """

    def store(self, messages: Sequence[Message], session: str) -> Stored:
        """Store each distinct message once, and the order of the list, before a model is called."""

    def commit(self, stored: Stored, record: Record) -> None:
        """Record a compaction. Idempotent by ref.

        Raises:
            ConflictError: the session was compacted since its originals were stored.
        """

    def load(self, ref: str) -> list[dict[str, Any]]:
        """Return the original messages of a compaction."""

    def pin(self, session: str, kind: str, value: str) -> None:
        """Add a pin to a session: a ``message`` by its digest, or all messages that contain a ``text``."""

    def pins(self, session: str) -> list[tuple[str, str]]:
        """Return kind and value of each pin of a session, in the order of pinning."""

    def close(self) -> None:
        """Close files and connections."""


class SqlArchive:
    """An archive in an SQL database."""

    def __init__(self, database: Database, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """Wrap an open database; ``clock`` gives the time of each record."""
        self._database = database
        self._clock = clock

    @property
    def aio(self) -> AsyncArchive:
        """The asynchronous archive: PostgreSQL uses connections of the running event loop, SQLite a thread."""
        return AsyncArchive(self._database, self._now)

    def _now(self, ago: timedelta = timedelta()) -> str:
        return format_time(self._clock() - ago)

    def store(self, messages: Sequence[Message], session: str) -> Stored:
        """Store each distinct message once, and the order of the list: transaction 1.

        Raises:
            ArchiveError: a message is not JSON, or the database fails.
        """
        bodies, now, dialect = encode(messages), self._now(), self._database.dialect
        return self._database.run(lambda: _write.store(*bodies, check_name(session), now, dialect))

    def commit(self, stored: Stored, record: Record) -> None:
        """Record a compaction, its references, its summary and the session's new version: transaction 2.

        Raises:
            ConflictError: the session was compacted since its originals were stored.
            ArchiveError: the originals are gone, or the database fails.
        """
        now = self._now()
        self._database.run(lambda: _write.commit(stored, record, now))

    def load(self, ref: str) -> list[dict[str, Any]]:
        """Return the original messages of a compaction, equal to the input, also as JSON text.

        Raises:
            ArchiveError: there is no such compaction, or its data is damaged.
        """
        return self._database.run(lambda: restore(ref), write=False)

    def pin(self, session: str, kind: str, value: str) -> None:
        """Add a pin to a session: a ``message`` by its digest, or all messages that contain a ``text``."""
        now = self._now()
        self._database.run(lambda: _write.pin("pins", check_name(session), kind, encode([value])[0], now))

    def unpin(self, session: str, kind: str, value: str) -> None:
        """Remove a pin if it exists."""
        self._database.run(lambda: _write.unpin(session, kind, *encode([value])[0]))

    def pins(self, session: str) -> list[tuple[str, str]]:
        """Return kind and value of each pin of a session, in the order of pinning."""
        found = self._database.run(lambda: _read.pins(session), write=False)
        return [(kind, decode(value)) for kind, value in found]

    def mark(self, session: str, kind: str, digests: Iterable[str]) -> None:
        """Mark messages by their digests, such as with ``compacted`` for a pruned result."""
        now, values = self._now(), list(digests)
        self._database.run(lambda: _write.pin("marks", check_name(session), kind, values, now))

    def marks(self, session: str, kind: str) -> frozenset[str]:
        """Return the digests of a session's messages that have a mark."""
        return self._database.run(lambda: _read.marks(session, kind), write=False)

    def sessions(self) -> list[Session]:
        """Return all sessions, oldest first."""
        return self._database.run(_read.sessions, write=False)

    def history(self, session: str | None = None, *, limit: int | None = 10) -> list[Past]:
        """Return the compactions of one session or of all, latest first; ``limit=None`` returns all of them."""
        return self._database.run(lambda: _read.history(session, limit), write=False)

    def totals(self, session: str | None = None) -> Totals:
        """Return sums over the compactions of one session or of all."""
        return self._database.run(lambda: _read.totals(session), write=False)

    def archived(self, ref: str) -> list[Original]:
        """Return the messages that a compaction removed or changed, in order; ``load`` returns the whole list.

        Raises:
            ArchiveError: there is no such compaction.
        """
        return self._database.run(lambda: _read.archived(ref), write=False)

    def search(self, query: str, *, session: str | None = None, limit: int = 10) -> list[Hit]:
        """Return archived messages that contain words of ``query``: messages with all words first, newest first.

        The first search after a compaction indexes the messages archived since.
        """
        database = self._database
        database.run(lambda: _search.index(database.dialect))
        return database.run(lambda: _search.search(database.dialect, query, session, limit), write=False)

    def fetch(self, number: int, *, session: str | None = None) -> dict[str, Any]:
        """Return one archived message in full.

        Args:
            number: the id of a ``Hit`` or an ``Original``.
            session: only find a message of this session.

        Raises:
            ArchiveError: there is no such message.
        """
        message: dict[str, Any] = decode(self._database.run(lambda: _search.fetch(number, session), write=False))
        return message

    def verify(self, session: str | None = None) -> list[Fault]:
        """Recompute all digests and the hash chain; return each place that does not match.

        Raises:
            SessionError: there is no such session.
            ArchiveError: the database cannot be read.
        """
        return self._database.run(lambda: verify(self._database, session), write=False)

    def prune(
        self,
        *,
        older_than: timedelta | None = None,
        keep: int | None = None,
        max_bytes: int | None = None,
        session: str | None = None,
        dry_run: bool = False,
    ) -> Pruned:
        """Remove compactions, oldest first; a compaction whose summary is in its session's current list stays.

        Args:
            older_than: remove compactions of at least this age.
            keep: remove all but the latest ``keep`` compactions of each session.
            max_bytes: remove until the file is at most this large. In PostgreSQL, whose files shrink only when it
                vacuums, the limit applies to the remaining messages as JSON.
            session: only remove compactions of this session; ``max_bytes`` still measures the whole archive.
            dry_run: report what would be removed, and remove nothing.
        """
        now, before = self._now(), None if older_than is None else self._now(older_than)
        dialect = self._database.dialect
        return self._run(
            lambda: _retain.prune(dialect, now, before=before, keep=keep, max_bytes=max_bytes, session=session),
            dry_run=dry_run,
        )

    def sweep(self, older_than: timedelta = GRACE) -> int:
        """Remove stored originals whose compaction was never committed; return the number of messages deleted."""
        before = self._now(older_than)
        return self._database.run(lambda: _retain.sweep(self._database.dialect, before))[0]

    def forget(self, session: str, *, dry_run: bool = False) -> Pruned:
        """Remove all data of a session, also from the search index; its current summaries lose their originals.

        Raises:
            SessionError: there is no such session.
        """
        return self._run(lambda: _retain.forget(self._database.dialect, session), dry_run=dry_run)

    def _run(self, operation: Callable[[], Steps[Pruned]], *, dry_run: bool) -> Pruned:
        """Run an operation; with ``dry_run``, roll it back and return its answer."""

        def roll_back() -> Steps[Pruned]:
            raise _RolledBack((yield from operation()))

        try:
            return self._database.run(roll_back if dry_run else operation)
        except _RolledBack as rolled_back:
            return rolled_back.pruned

    def columns(self, table: str) -> list[str]:
        """Return the names of a table's columns."""
        return self._database.run(lambda: self._database.columns(table), write=False)

    def indexes(self, table: str) -> list[list[str]]:
        """Return the columns of each index except those of keys and constraints; `` DESC`` marks descending ones."""
        return self._database.run(lambda: self._database.indexes(table), write=False)

    def close(self) -> None:
        """Close files and connections."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _RolledBack(Exception):  # noqa: N818 - control flow, no error
    """Carries the answer of an operation out of a rolled-back transaction."""

    def __init__(self, pruned: Pruned) -> None:
        super().__init__()
        self.pruned = pruned
