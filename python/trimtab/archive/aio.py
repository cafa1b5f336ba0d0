"""The same archive for those who await: what is asked while an agent runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .sql import read as _read
from .sql import retain as _retain
from .sql import search as _search
from .sql import write as _write
from .sql.chain import restored, verify
from .sql.codec import dumped, loaded
from .sql.statements import named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..messages.types import Message
    from .sql.statements import Database
    from .values import Fault, Hit, Original, Past, Pruned, Record, Session, Stored, Totals


class AsyncArchive:
    """An archive whose methods are awaited; each means what ``SqlArchive``'s of the same name means."""

    def __init__(self, database: Database, now: Callable[[], str]) -> None:
        """Takes an open database and its clock."""
        self._database = database
        self._now = now

    async def store(self, messages: Sequence[Message], session: str) -> Stored:
        """Transaction 1: the originals."""
        bodies, now, dialect = dumped(messages), self._now(), self._database.dialect
        return await self._database.arun(lambda: _write.store(*bodies, named(session), now, dialect))

    async def commit(self, stored: Stored, record: Record) -> None:
        """Transaction 2: event, references, summary and version."""
        now = self._now()
        await self._database.arun(lambda: _write.commit(stored, record, now))

    async def load(self, ref: str) -> list[dict[str, Any]]:
        """The original list of a compaction."""
        return await self._database.arun(lambda: restored(ref), write=False)

    async def pin(self, session: str, kind: str, value: str) -> None:
        """Remembers that a session keeps something."""
        now = self._now()
        await self._database.arun(lambda: _write.pin("pins", named(session), kind, dumped([value])[0], now))

    async def pins(self, session: str) -> list[tuple[str, str]]:
        """Kinds and values of what a session keeps."""
        found = await self._database.arun(lambda: _read.pins(session), write=False)
        return [(kind, loaded(value)) for kind, value in found]

    async def sessions(self) -> list[Session]:
        """Every session that is known."""
        return await self._database.arun(_read.sessions, write=False)

    async def history(self, session: str | None = None, *, limit: int | None = 10) -> list[Past]:
        """The compactions of a session, or of all, the latest first."""
        return await self._database.arun(lambda: _read.history(session, limit), write=False)

    async def totals(self, session: str | None = None) -> Totals:
        """What the compactions of a session, or of all, came to."""
        return await self._database.arun(lambda: _read.totals(session), write=False)

    async def archived(self, ref: str) -> list[Original]:
        """The messages that left a list, or were changed in it."""
        return await self._database.arun(lambda: _read.archived(ref), write=False)

    async def search(self, query: str, *, session: str | None = None, limit: int = 10) -> list[Hit]:
        """Archived messages with the words of ``query``."""
        database = self._database
        await database.arun(lambda: _search.index(database.dialect))
        return await database.arun(lambda: _search.search(database.dialect, query, session, limit), write=False)

    async def fetch(self, number: int, *, session: str | None = None) -> dict[str, Any]:
        """One archived message, whole."""
        body = await self._database.arun(lambda: _search.fetch(number, session), write=False)
        message: dict[str, Any] = loaded(body)
        return message

    async def verify(self, session: str | None = None) -> list[Fault]:
        """Where the digests and the hash chain do not fit what was stored."""
        return await self._database.arun(lambda: verify(self._database, session), write=False)

    async def forget(self, session: str) -> Pruned:
        """Removes everything that a session has here."""
        return await self._database.arun(lambda: _retain.forget(self._database.dialect, session))

    async def close(self) -> None:
        """Closes the connections of this event loop."""
        await self._database.aclose()
