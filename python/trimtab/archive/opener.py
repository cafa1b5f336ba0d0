"""Opens archives by their address, at the first need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._fork import OwnLock
from .._mask import mask
from ..errors import ArchiveError

if TYPE_CHECKING:
    from .archive import Archive


def open_archive(url: str | Archive) -> Archive:
    """Open the archive at an address.

    Args:
        url: ``memory``, ``sqlite:///PATH``, ``postgresql://...``, or an ``Archive`` object, which is returned.

    Raises:
        ValueError: the address has an unknown scheme, or names no file.
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
        ValueError: the address has an unknown scheme, or names no file.
    """
    if url == "sqlite:///":  # SQLite would keep the originals in a temporary file, which goes with the process
        raise ValueError("the archive sqlite:/// names no file: use sqlite:///PATH, or 'memory' for none")
    if url != "memory" and not url.startswith(("sqlite:///", "postgresql://", "postgres://")):
        raise ValueError(f"unknown archive {mask(repr(url))}: use 'memory', 'sqlite:///PATH' or 'postgresql://...'")


class Opener:
    """Opens the archive at an address once, for all sessions of a Compactor.

    Attributes:
        where: the address, or an archive that the caller has opened.
        opened: the archive; None until somebody needs it.
    """

    def __init__(self, where: str | Archive) -> None:
        """Open nothing.

        Raises:
            ValueError: the address has an unknown scheme, or names no file.
            TypeError: it is neither an address nor an Archive.
        """
        if not isinstance(where, str):
            from .archive import Archive  # noqa: PLC0415 - for those who bring one

            if not isinstance(where, Archive):
                raise TypeError(f"archive must be a URL or a trimtab.archive.Archive, got {type(where).__name__}")
        self.where = where
        self.opened = None if isinstance(where, str) else where
        self._own = OwnLock()
        if isinstance(where, str):
            check_url(where)

    def open(self) -> Archive:
        """Return the archive, opened.

        Raises:
            ArchiveError: the archive cannot be opened.
        """
        with self._own.lock:
            if self.opened is None:
                self.opened = open_archive(self.where)
            return self.opened

    @property
    def waits(self) -> bool:
        """Whether a first question may take long: it opens the archive, or goes over a network."""
        return self.where != "memory" if self.opened is None else self.opened.remote

    def known(self) -> Archive | None:
        """Return the archive, opened; None for one in memory that nobody has opened: it holds nothing.

        Raises:
            ArchiveError: the archive cannot be opened.
        """
        return self.opened if self.where == "memory" else self.open()

    def close(self) -> None:
        """Close the archive if it is open."""
        if self.opened is not None:
            self.opened.close()
