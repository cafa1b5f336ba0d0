"""The archive protocol, and its implementation in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

from .sql.chain import Integrity
from .sql.read import Queries
from .sql.retain import Retention
from .sql.search import Search
from .sql.write import Writes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..messages.types import Message
    from .values import Record, Stored


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

    def load(self, ref: str, *, session: str | None = None) -> list[dict[str, Any]]:
        """Return the original messages of a compaction.

        Args:
            ref: the compaction.
            session: the session that asks: one with a given name reads its own compactions, one without a name those
                of all sessions without a name. None reads all.
        """

    def pin(self, session: str, kind: str, value: str) -> None:
        """Add a pin to a session: a ``message`` by its digest, or all messages that contain a ``text``."""

    def pins(self, session: str) -> list[tuple[str, str]]:
        """Return kind and value of each pin of a session, in the order of pinning."""

    def close(self) -> None:
        """Close files and connections."""


class SqlArchive(Writes, Queries, Search, Integrity, Retention):
    """An archive in an SQL database; the databases share all statements.

    Attributes:
        durable: whether it outlives its process, and so knows every compaction that its sessions made.
    """

    durable: bool = True

    def close(self) -> None:
        """Close files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
