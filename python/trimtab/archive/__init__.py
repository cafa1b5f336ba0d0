"""Archives: storage for the messages that leave the context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import loader
from .._mask import mask
from ..errors import ArchiveError

if TYPE_CHECKING:
    from .archive import Archive, SqlArchive
    from .postgres import PostgresArchive
    from .recall import Recall
    from .sqlite import SqliteArchive
    from .values import (
        ArchivedCompaction,
        Changes,
        Fault,
        Hit,
        Original,
        Overview,
        Pruned,
        Receipt,
        Record,
        Stored,
        StoredSession,
        Totals,
    )

__all__ = [
    "Archive",
    "ArchivedCompaction",
    "Changes",
    "Fault",
    "Hit",
    "Original",
    "Overview",
    "PostgresArchive",
    "Pruned",
    "Recall",
    "Receipt",
    "Record",
    "SqlArchive",
    "SqliteArchive",
    "Stored",
    "StoredSession",
    "Totals",
    "open_archive",
]

__getattr__ = loader(
    __name__,
    {
        "archive": "Archive SqlArchive",
        "postgres": "PostgresArchive",
        "recall": "Recall",
        "sqlite": "SqliteArchive",
        "values": (
            "ArchivedCompaction Changes Fault Hit Original Overview Pruned Receipt Record Stored StoredSession Totals"
        ),
    },
)


def open_archive(url: str | Archive) -> Archive:
    """Open the archive at an address.

    Args:
        url: ``memory``, ``sqlite:///PATH``, ``postgresql://...``, or an ``Archive`` object, which is returned.

    Raises:
        ValueError: the address has an unknown scheme.
        ArchiveError: the archive cannot be opened.
    """
    if not isinstance(url, str):
        return url
    check_url(url)
    if url == "memory" or url.startswith("sqlite:///"):
        from .sqlite import SqliteArchive  # noqa: PLC0415 - importing sqlite3 takes 11 ms

        return SqliteArchive(":memory:" if url == "memory" else url.removeprefix("sqlite:///"))
    try:
        from .postgres import PostgresArchive  # noqa: PLC0415
    except ImportError as error:
        raise ArchiveError(f"PostgreSQL needs the extra: pip install 'trimtab[postgres]' ({error})") from error
    return PostgresArchive(url)


def check_url(url: str) -> None:
    """Reject an address of no archive.

    Raises:
        ValueError: the address has an unknown scheme.
    """
    if url != "memory" and not url.startswith(("sqlite:///", "postgresql://", "postgres://")):
        raise ValueError(f"unknown archive {mask(repr(url))}: use 'memory', 'sqlite:///PATH' or 'postgresql://...'")
