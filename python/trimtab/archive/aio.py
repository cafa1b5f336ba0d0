"""The asynchronous archive: the methods of ``SqlArchive`` that a running agent needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .sql import read as _read
from .sql import retain as _retain
from .sql import search as _search
from .sql import write as _write
from .sql.chain import restore, verify
from .sql.codec import decode, encode
from .sql.statements import check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..messages.types import Message
    from .sql.statements import Database
    from .values import Fault, Hit, Original, Past, Pruned, Record, Session, Stored, Totals


class AsyncArchive:
    """An archive with coroutine methods; each does the same as the ``SqlArchive`` method of that name."""

    def __init__(self, database: Database, now: Callable[[], str]) -> None:
        """Wrap an open database and its clock."""
        self._database = database
        self._now = now

    async def store(self, messages: Sequence[Message], session: str) -> Stored:
        """Store the originals: transaction 1."""
        bodies, now, dialect = encode(messages), self._now(), self._database.dialect
        return await self._database.arun(lambda: _write.store(*bodies, check_name(session), now, dialect))

    async def commit(self, stored: Stored, record: Record) -> None:
        """Store event, references, summary and version: transaction 2."""
        now = self._now()
        await self._database.arun(lambda: _write.commit(stored, record, now))

    async def load(self, ref: str) -> list[dict[str, Any]]:
        """Return the original messages of a compaction."""
        return await self._database.arun(lambda: restore(ref), write=False)

    async def pin(self, session: str, kind: str, value: str) -> None:
        """Add a pin to a session."""
        now = self._now()
        await self._database.arun(lambda: _write.pin("pins", check_name(session), kind, encode([value])[0], now))

    async def pins(self, session: str) -> list[tuple[str, str]]:
        """Return kind and value of each pin of a session."""
        found = await self._database.arun(lambda: _read.pins(session), write=False)
        return [(kind, decode(value)) for kind, value in found]

    async def sessions(self) -> list[Session]:
        """Return all sessions."""
        return await self._database.arun(_read.sessions, write=False)

    async def history(self, session: str | None = None, *, limit: int | None = 10) -> list[Past]:
        """Return the compactions of one session or of all, latest first."""
        return await self._database.arun(lambda: _read.history(session, limit), write=False)

    async def totals(self, session: str | None = None) -> Totals:
        """Return sums over the compactions of one session or of all."""
        return await self._database.arun(lambda: _read.totals(session), write=False)

    async def archived(self, ref: str) -> list[Original]:
        """Return the messages that a compaction removed or changed."""
        return await self._database.arun(lambda: _read.archived(ref), write=False)

    async def search(self, query: str, *, session: str | None = None, limit: int = 10) -> list[Hit]:
        """Return archived messages that contain words of ``query``."""
        database = self._database
        await database.arun(lambda: _search.index(database.dialect))
        return await database.arun(lambda: _search.search(database.dialect, query, session, limit), write=False)

    async def fetch(self, number: int, *, session: str | None = None) -> dict[str, Any]:
        """Return one archived message in full."""
        body = await self._database.arun(lambda: _search.fetch(number, session), write=False)
        message: dict[str, Any] = decode(body)
        return message

    async def verify(self, session: str | None = None) -> list[Fault]:
        """Check digests and hash chain; return each place that does not match."""
        return await self._database.arun(lambda: verify(self._database, session), write=False)

    async def forget(self, session: str) -> Pruned:
        """Remove all data of a session."""
        return await self._database.arun(lambda: _retain.forget(self._database.dialect, session))

    async def close(self) -> None:
        """Close the connections of this event loop."""
        await self._database.aclose()
