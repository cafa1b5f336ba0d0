"""The interface to a database: an operation is a generator of statements, run in one transaction; the schema's files.

Statements use ``?`` for a value; a ``Dialect`` holds the parts in which databases differ.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, partial, wraps
from importlib.resources import files
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeAlias, TypeVar

from ...errors import ArchiveError

T = TypeVar("T")
P = ParamSpec("P")

Row: TypeAlias = tuple[Any, ...]
Statement: TypeAlias = "tuple[str, Row | Iterable[Row]]"
"""SQL and its values; with rows that are no tuple, the statement runs for each row and returns none."""

MANY = 2**62
"""More rows than any table has, and the largest limit that both databases take as it is."""

Steps: TypeAlias = Generator[Statement, list[Row], T]
"""An operation: yields statements, receives their rows, returns its answer."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The SQL in which one database differs from others.

    Attributes:
        name: ``sqlite`` or ``postgres``.
        next_id: query for a lower bound of the next original's id.
        last_id: query for the id of the last original that this transaction stored.
        parts: table ``part`` with ``key`` and ``value`` of each entry of a JSON list, its one parameter.
        compresses: whether to compress bodies: PostgreSQL does it itself.
        search_id: column of the table ``search`` with the message's id.
        index: insert a message's words; parameters are its id and the words.
        unindex: delete them, with the same parameters. Empty if they are deleted with the message.
        matches: condition that a message contains all words of a query.
        match_value: function from the words to the condition's parameter.
        size: query for the archive's size in bytes, as far as removing messages reduces it.
        purge: statement that removes the remains of deleted rows from the files. Empty if there are none.
        integrity_check: query for the faults that the database finds in its files; by default none.
        newest: query for the id of the newest message, where one transaction writes at a time. Empty elsewhere.
        has_index: query that has a row if the digests' index can be built anew in a transaction. Empty if it never can.
        drop_index: statement that drops that index.
        create_index: statement that builds it.
    """

    name: str
    next_id: str
    last_id: str
    parts: str
    compresses: bool
    search_id: str
    index: str
    unindex: str
    matches: str
    match_value: Callable[[Sequence[str]], str]
    size: str
    purge: str = ""
    integrity_check: str = "SELECT '' WHERE false"
    newest: str = ""
    has_index: str = ""
    drop_index: str = ""
    create_index: str = ""


class Database(ABC):
    """Runs operations: durable once they return, without effect if they raise."""

    dialect: ClassVar[Dialect]

    @abstractmethod
    def transact(self, operation: Callable[[], Steps[T]], *, write: bool = True, dry_run: bool = False) -> T:
        """Run an operation as one transaction.

        Args:
            operation: makes the operation; called again if a lost transaction is repeated.
            write: whether the operation changes data.
            dry_run: roll back at the end.

        Raises:
            ArchiveError: the database fails or cannot be reached.
        """

    def erase(self) -> str:
        """Remove what deleted rows left in log files; return the path of a file that still holds some, or ``""``."""
        return ""

    def now(self, ago: timedelta = timedelta()) -> str:
        """Return the time of a new record, or a time before it, at the earliest that of year 1."""
        now = datetime.now(UTC)
        return format_time(now - min(ago, now - datetime.min.replace(tzinfo=UTC)))


def transaction(
    *, write: bool
) -> Callable[[Callable[Concatenate[Any, P], Steps[T]]], Callable[Concatenate[Any, P], T]]:
    """Decorate an operation of a ``Database``: calling it runs it as one transaction."""

    def decorate(operation: Callable[Concatenate[Any, P], Steps[T]]) -> Callable[Concatenate[Any, P], T]:
        @wraps(operation)
        def method(database: Database, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return database.transact(partial(operation, database, *args, **kwargs), write=write)

        return method

    return decorate


UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError, MemoryError)
"""Errors of code that reads rows which are not as they were written: in a damaged file, any type and any text."""


_TYPES: dict[str, Any] = {"str": str, "int": int, "str | None": str | None}
"""Declared types of fields that come from a row as they are."""


def run_steps(steps: Steps[T], execute: Callable[[Statement], list[Row]]) -> T:
    """Run an operation: execute each of its statements and send it the rows.

    Raises:
        ArchiveError: a row is damaged.
        ValueError: an argument is wrong, which an operation checks before its first statement.
        TypeError: the same.
    """
    reads = False
    try:
        statement = next(steps)
        reads = True
        while True:
            statement = steps.send(execute(statement))
    except StopIteration as done:
        answer: T = done.value
        return answer
    except UNREADABLE as error:
        if not reads:
            raise
        name = type(error).__name__
        raise ArchiveError(f"the archive cannot be read ({name}: {error}); see trimtab archive verify") from error


def damaged(ref: str, fault: str) -> ArchiveError:
    """Return the error of a compaction whose rows are missing or changed."""
    return ArchiveError(f"compaction {ref} is damaged: {fault}; see trimtab archive verify")


def format_time(time: datetime) -> str:
    """Return a time as it is stored: UTC, to the microsecond, so that text order is time order."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(stored: str | datetime) -> datetime:
    """Return a stored time: text in SQLite, a timestamp in PostgreSQL.

    Raises:
        ArchiveError: the value is no time.
    """
    try:
        return stored.astimezone(UTC) if isinstance(stored, datetime) else datetime.fromisoformat(stored)
    except (ValueError, TypeError) as error:
        raise ArchiveError(f"a stored time is damaged: {error}; see trimtab archive verify") from error


def parse_ids(ids: Any) -> tuple[int, ...]:
    """Return a stored list of ids: JSON text in SQLite, a list in PostgreSQL.

    Raises:
        ArchiveError: the value is no list of ids.
    """
    try:
        numbers = tuple(json.loads(ids) if isinstance(ids, str) else ids or ())
    except UNREADABLE as error:
        raise ArchiveError(f"a stored list of ids is damaged: {error}; see trimtab archive verify") from error
    if not {*map(type, numbers)} <= {int}:
        raise ArchiveError("a stored list of ids has other values; see trimtab archive verify")
    return numbers


def value_of(kind: type[T], *values: Any) -> T:
    """Return a dataclass of values from a row, each of the type that its field declares.

    SQLite keeps a value of any type in a column of any type, and a damaged file has such values.

    Raises:
        TypeError: a value is of another type.
    """
    for (field, declared), value in zip(kind.__annotations__.items(), values, strict=True):
        if not isinstance(value, _TYPES.get(declared, object)):
            msg = f"{field} is {type(value).__name__}, not {declared}"
            raise TypeError(msg)
    return kind(*values)


def check_count(what: str, count: int | None) -> int | None:
    """Return a number of rows or bytes, at most ``MANY``; None is no limit.

    Raises:
        TypeError: it is no number.
        ValueError: it is negative.
    """
    if count is not None and count < 0:
        msg = f"{what} must be 0 or more, got {count}"
        raise ValueError(msg)
    return None if count is None else min(count, MANY)


def clean(text: str | None) -> str | None:
    """Replace lone surrogates, which have no UTF-8, and NUL, which PostgreSQL refuses.

    Used for summaries only, as a readable copy; the message with the summary is stored unchanged.
    """
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode() if text else text


@cache
def migrations(name: str) -> dict[int, list[str]]:
    """Return the statements of each version of a database's schema."""
    found = {}
    for file in files(__package__).joinpath("migrations").iterdir():
        kind, _, number = file.name.removesuffix(".sql").partition("_")
        if kind == name:
            # Each statement ends with a semicolon at the end of a line.
            found[int(number)] = [part for part in file.read_text("utf-8").split(";\n") if part.strip()]
    return dict(sorted(found.items()))


def pending(name: str, version: int, place: str) -> tuple[int, list[Statement]]:
    """Return the newest version of a schema, and the statements that upgrade an older one to it.

    Raises:
        ArchiveError: the schema is newer than this code.
    """
    known = migrations(name)
    newest = max(known)
    if version > newest:
        raise ArchiveError(
            f"the archive {place} has version {version}, trimtab knows {newest}: update trimtab or use another archive"
        )
    steps: list[Statement] = [(text, ()) for number, texts in known.items() if number > version for text in texts]
    if version < newest:
        steps.append(("INSERT INTO schema_version (version) VALUES (?)", (newest,)))
    return newest, steps
