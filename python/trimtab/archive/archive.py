"""What a compaction asks of an archive, and the archive that does it in SQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, Self

from .aio import AsyncArchive
from .sql import read as _read
from .sql import retain as _retain
from .sql import search as _search
from .sql import write as _write
from .sql.chain import restored, verify
from .sql.codec import dumped, loaded
from .sql.statements import named, stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..messages.types import Message
    from .sql.statements import Database, Steps
    from .values import Fault, Hit, Original, Past, Pruned, Record, Session, Stored, Totals

GRACE = timedelta(hours=1)
"""How long a copy waits for its compaction before it is swept: longer than any model takes to answer."""


class Archive(Protocol):
    """Keeps originals by content, and what was done to them. Each call is a transaction of its own.

    Every method raises ArchiveError where it cannot do what it says.
    """

    def store(self, messages: Sequence[Message], session: str) -> Stored:
        """Keeps each message once, and the list in its order, before a model is asked."""
        ...

    def commit(self, stored: Stored, record: Record) -> None:
        """Remembers a compaction; the same ref twice is remembered once.

        Raises:
            ConflictError: the session was compacted since its originals were stored.
        """
        ...

    def load(self, ref: str) -> list[dict[str, Any]]:
        """The original list of a compaction."""
        ...

    def pin(self, session: str, kind: str, value: str) -> None:
        """Remembers that a session keeps something: a ``message`` by its digest, or what holds a ``text``."""
        ...

    def pins(self, session: str) -> list[tuple[str, str]]:
        """Kinds and values of what a session keeps, in the order of pinning."""
        ...

    def close(self) -> None:
        """Lets go of what is held open."""
        ...


class SqlArchive:
    """An archive in a database: what every kind of it can do."""

    def __init__(self, database: Database, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """Takes an open database; ``clock`` says when something is stored."""
        self._database = database
        self._clock = clock

    @property
    def aio(self) -> AsyncArchive:
        """The same archive, awaited: PostgreSQL's on connections of the running event loop, others in a thread."""
        return AsyncArchive(self._database, self._now)

    def _now(self, ago: timedelta = timedelta()) -> str:
        return stamp(self._clock() - ago)

    def store(self, messages: Sequence[Message], session: str) -> Stored:
        """Keeps each message once, and the list in its order: transaction 1.

        Raises:
            ArchiveError: JSON cannot say a message, or the database cannot take it.
        """
        bodies, now, dialect = dumped(messages), self._now(), self._database.dialect
        return self._database.run(lambda: _write.store(*bodies, named(session), now, dialect))

    def commit(self, stored: Stored, record: Record) -> None:
        """Remembers a compaction, its references, its summary and the session's new version: transaction 2.

        Raises:
            ConflictError: the session was compacted since its originals were stored.
            ArchiveError: the originals are no longer there, or the database cannot take it.
        """
        now = self._now()
        self._database.run(lambda: _write.commit(stored, record, now))

    def load(self, ref: str) -> list[dict[str, Any]]:
        """The original list of a compaction, equal to what it was and the same as JSON.

        Raises:
            ArchiveError: there is no such compaction, or it is not what was stored.
        """
        return self._database.run(lambda: restored(ref), write=False)

    def pin(self, session: str, kind: str, value: str) -> None:
        """Remembers that a session keeps something: a ``message`` by its digest, or what holds a ``text``."""
        now = self._now()
        self._database.run(lambda: _write.pin("pins", named(session), kind, dumped([value])[0], now))

    def unpin(self, session: str, kind: str, value: str) -> None:
        """Forgets a pin; one that there is not is no error."""
        self._database.run(lambda: _write.unpin(session, kind, *dumped([value])[0]))

    def pins(self, session: str) -> list[tuple[str, str]]:
        """Kinds and values of what a session keeps, in the order of pinning."""
        found = self._database.run(lambda: _read.pins(session), write=False)
        return [(kind, loaded(value)) for kind, value in found]

    def mark(self, session: str, kind: str, digests: Iterable[str]) -> None:
        """Remembers something about messages by their digests, such as that their results are ``compacted``."""
        now, values = self._now(), list(digests)
        self._database.run(lambda: _write.pin("marks", named(session), kind, values, now))

    def marks(self, session: str, kind: str) -> frozenset[str]:
        """Digests of a session's messages that have a mark."""
        return self._database.run(lambda: _read.marks(session, kind), write=False)

    def sessions(self) -> list[Session]:
        """Every session that is known, the oldest first."""
        return self._database.run(_read.sessions, write=False)

    def history(self, session: str | None = None, *, limit: int | None = 10) -> list[Past]:
        """The compactions of a session, or of all, the latest first; ``limit=None`` for every one."""
        return self._database.run(lambda: _read.history(session, limit), write=False)

    def totals(self, session: str | None = None) -> Totals:
        """What the compactions of a session, or of all, came to."""
        return self._database.run(lambda: _read.totals(session), write=False)

    def archived(self, ref: str) -> list[Original]:
        """The messages that left a list, or were changed in it, in order; ``load`` gives those that stayed as well.

        Raises:
            ArchiveError: there is no such compaction.
        """
        return self._database.run(lambda: _read.archived(ref), write=False)

    def search(self, query: str, *, session: str | None = None, limit: int = 10) -> list[Hit]:
        """Archived messages with the words of ``query``: those with all of them first, the newest first.

        The first search after a compaction indexes what was archived since.
        """
        database = self._database
        database.run(lambda: _search.index(database.dialect))
        return database.run(lambda: _search.search(database.dialect, query, session, limit), write=False)

    def fetch(self, number: int, *, session: str | None = None) -> dict[str, Any]:
        """One archived message, whole.

        Args:
            number: the id of a ``Hit`` or an ``Original``.
            session: where given, the message must be of it.

        Raises:
            ArchiveError: there is no such message.
        """
        message: dict[str, Any] = loaded(self._database.run(lambda: _search.fetch(number, session), write=False))
        return message

    def verify(self, session: str | None = None) -> list[Fault]:
        """Derives every digest and the hash chain anew; where they do not fit what was stored. Empty if all is well.

        Raises:
            ArchiveError: there is no such session, or the database cannot be read at all.
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
        """Removes compactions, the oldest first; never one whose summary stands in its session's list.

        Args:
            older_than: those of at least this age.
            keep: all but so many of each session.
            max_bytes: until the file has no more bytes than that; in PostgreSQL, whose files shrink when it vacuums
                them, until the messages that stay have no more as JSON.
            session: only those of this session; the bytes are those of all.
            dry_run: says what would go, and removes nothing.
        """
        now, before = self._now(), None if older_than is None else self._now(older_than)
        dialect = self._database.dialect
        return self._perhaps(
            lambda: _retain.prune(dialect, now, before=before, keep=keep, max_bytes=max_bytes, session=session),
            dry_run=dry_run,
        )

    def sweep(self, older_than: timedelta = GRACE) -> int:
        """Removes copies whose compaction never came to be; answers the number of messages that were only theirs."""
        before = self._now(older_than)
        return self._database.run(lambda: _retain.sweep(self._database.dialect, before))[0]

    def forget(self, session: str, *, dry_run: bool = False) -> Pruned:
        """Removes everything that a session has here, in the search index too; its live summaries lose their originals.

        Raises:
            ArchiveError: there is no such session.
        """
        return self._perhaps(lambda: _retain.forget(self._database.dialect, session), dry_run=dry_run)

    def _perhaps(self, make: Callable[[], Steps[Pruned]], *, dry_run: bool) -> Pruned:
        """Runs it, or runs it and takes it back."""

        def undone() -> Steps[Pruned]:
            raise _Undone((yield from make()))

        try:
            return self._database.run(undone if dry_run else make)
        except _Undone as stop:
            return stop.pruned

    def columns(self, table: str) -> list[str]:
        """Names of a table's columns, as the database has them."""
        return self._database.run(lambda: self._database.columns(table), write=False)

    def indexes(self, table: str) -> list[list[str]]:
        """Columns of each of a table's indexes beside keys and constraints, with `` DESC`` where it runs downwards."""
        return self._database.run(lambda: self._database.indexes(table), write=False)

    def close(self) -> None:
        """Lets go of what is held open."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Undone(Exception):  # noqa: N818 - no error: it takes a transaction back
    """Carries an answer out of a transaction that is not to be."""

    def __init__(self, pruned: Pruned) -> None:
        super().__init__()
        self.pruned = pruned
