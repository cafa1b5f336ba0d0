"""What an archive does for sessions, and its implementation in SQL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from ..errors import ArchiveError
from .sql.chain import Integrity
from .sql.log import Log
from .sql.read import Queries
from .sql.retain import Retention
from .sql.search import Search
from .sql.write import Writes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..messages.types import Message
    from .values import ArchivedCompaction, Hit, Receipt, Record, Stored


class Archive(ABC):
    """Stores original messages by content, and a record of each compaction. Each call is one transaction.

    An archive of your own is a subclass with the six abstract methods. Without the others its sessions find no notices,
    summaries and results of earlier processes again. Every method raises ArchiveError on failure.

    Attributes:
        durable: whether it outlives its process, so that ``recognize`` knows every compaction of its sessions.
        remote: whether its answers come over a network: ``afit`` of a named session asks it in a thread.
    """

    durable: bool = False
    remote: bool = False

    @abstractmethod
    def store(self, messages: Sequence[Message], session: str) -> Stored:
        """Store each distinct message once, and the order of the list, before a model is called."""

    @abstractmethod
    def commit(self, stored: Stored, record: Record) -> None:
        """Record a compaction. Idempotent by ref.

        Raises:
            ConflictError: the session was compacted since its originals were stored.
        """

    @abstractmethod
    def load(self, ref: str, *, session: str | None = None) -> list[dict[str, Any]]:
        """Return the original messages of a compaction.

        Args:
            ref: the compaction.
            session: the session that asks: one with a given name reads its own compactions, one without a name those
                of all sessions without a name. None reads all.
        """

    @abstractmethod
    def pin(self, session: str, kind: str, value: str) -> None:
        """Add a pin to a session: a ``message`` by its digest, or all messages that contain a ``text``."""

    @abstractmethod
    def pins(self, session: str) -> list[tuple[str, str]]:
        """Return kind and value of each pin of a session, in the order of pinning."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections."""

    def recognize(self, refs: Iterable[str], session: str) -> dict[str, bool]:  # noqa: ARG002 - what others are given
        """Return for each ref that the archive knows whether the session may read it."""
        return {}

    def owner(self, ref: str) -> str | None:  # noqa: ARG002
        """Return the session of a compaction; ``""`` where retention removed it, None where the archive knows none."""
        return None

    def marks(self, session: str) -> list[str]:  # noqa: ARG002
        """Return the marks of the notices and acknowledgements in a session's latest result."""
        return []

    def view(self, session: str) -> dict[str, Any] | None:  # noqa: ARG002
        """Return a session's latest result, told by the list that it was made of; None without one."""
        return None

    def stands(self, ref: str, session: str) -> bool:  # noqa: ARG002 - what others are given
        """Return whether a compaction's result is still its session's latest: no pin, undo or later one ended it."""
        return True

    def end_view(self, session: str) -> None:  # noqa: B027 - there is none to forget
        """Forget that a session's latest result stands in for the list that it was made of."""

    def history(self, session: str | None = None, *, limit: int | None = 10) -> list[ArchivedCompaction]:  # noqa: ARG002
        """Return the compactions of a session, or of all, the newest first."""
        raise ArchiveError(f"{type(self).__name__} has no history")

    def note(self, receipts: Sequence[Receipt]) -> None:  # noqa: B027 - an archive may keep no log
        """Add entries to the log; each once by its id. The session of a new one is created."""

    def search(self, query: str, *, session: str | None = None, limit: int = 10) -> list[Hit]:  # noqa: ARG002
        """Return the messages with the words of a query."""
        raise ArchiveError(f"{type(self).__name__} cannot search: it needs search and fetch")

    def fetch(self, number: int, *, session: str | None = None) -> dict[str, Any]:  # noqa: ARG002
        """Return the message with a number that ``search`` found."""
        raise ArchiveError(f"{type(self).__name__} cannot search: it needs search and fetch")


class SqlArchive(Log, Writes, Queries, Search, Integrity, Retention, Archive):
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
