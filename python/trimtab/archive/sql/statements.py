"""The seam to a database: an operation is a generator of statements, run in one transaction, here or awaited.

Statements are written once, with ``?`` for a value; what the databases say differently stands in their ``Dialect``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, TypeAlias, TypeVar

from ...errors import ArchiveError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Many:
    """One statement for many rows of values; answered with nothing."""

    sql: str
    rows: Sequence[Row]


Statement: TypeAlias = "tuple[str, Row] | Many"
Steps: TypeAlias = Generator[Statement, list[Row], T]
"""An operation: yields statements, is sent their rows, returns its answer."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one database says otherwise than the others.

    Attributes:
        name: ``sqlite`` or ``postgres``.
        first: gives the id that the next original will have at least.
        last: gives the id of the last original that this transaction stored.
        parts: a table ``part`` with the ``key`` and ``value`` of each part of a JSON list, which is its value.
        packs: whether bodies are packed here: PostgreSQL packs by itself.
        message: the column of the table ``search`` that is the message's id.
        index: puts a message's words there; takes its id and its words.
        unindex: takes them out again; takes the same. Empty where they go with the message.
        matching: a condition that a message has all of some words.
        asking: makes the words that condition's value.
        size: gives the bytes that the archive has, as far as removing messages makes them fewer.
        purge: removes what deleted rows leave in the files.
    """

    name: str
    first: str
    last: str
    parts: str
    packs: bool
    message: str
    index: str
    unindex: str
    matching: str
    asking: Callable[[Sequence[str]], str]
    size: str
    purge: tuple[str, ...] = ()


class Database(Protocol):
    """Runs operations. What was acknowledged is durable; what failed has left nothing."""

    dialect: Dialect

    def run(self, make: Callable[[], Steps[T]], *, write: bool = True) -> T:
        """Runs an operation as one transaction.

        Raises:
            ArchiveError: the database refused it, or is not there.
        """
        ...

    async def arun(self, make: Callable[[], Steps[T]], *, write: bool = True) -> T:
        """The same, awaited."""
        ...

    def columns(self, table: str) -> Steps[list[str]]:
        """Names of a table's columns."""
        ...

    def indexes(self, table: str) -> Steps[list[list[str]]]:
        """Columns of each index beside keys and constraints, with `` DESC`` where it runs downwards."""
        ...

    def check(self) -> Steps[list[str]]:
        """What the database finds wrong with itself."""
        ...

    def close(self) -> None:
        """Lets go of what is held open."""
        ...

    async def aclose(self) -> None:
        """Lets go of what the running event loop holds open."""
        ...


def stamp(moment: datetime) -> str:
    """A moment as it is stored: UTC, to the microsecond, so that texts sort as moments do."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment(stored: str | datetime) -> datetime:
    """A stored moment: text in SQLite, a timestamp in PostgreSQL.

    Raises:
        ArchiveError: it is none; the archive is damaged.
    """
    try:
        return stored.astimezone(UTC) if isinstance(stored, datetime) else datetime.fromisoformat(stored)
    except (ValueError, TypeError) as error:
        raise ArchiveError(f"a stored time is damaged: {error}; see trimtab archive verify") from error


def named(session: str) -> str:
    """A session's name, if it is one."""
    if isinstance(session, str) and session.strip() and session.isprintable():
        return session
    raise ArchiveError(f"a session's name is printable text, got {session!r}")


def clean(text: str | None) -> str | None:
    """Text that every database can store: a lone surrogate has no UTF-8, and PostgreSQL takes no NUL.

    Only summaries come this way, for reading; the message that carries one is kept as it is.
    """
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode() if text else text
