"""Where messages go that leave the context."""

from ._archive import Archive, Record, digest_of, dump
from .memory import MemoryArchive

__all__ = ["Archive", "MemoryArchive", "Record", "digest_of", "dump", "open_archive"]


def open_archive(url: str | Archive) -> Archive:
    """The archive of that address.

    Args:
        url: ``memory``, ``sqlite:///PATH``, or an archive of your own.

    Raises:
        ValueError: an address of no known kind.
        ArchiveError: the file cannot be opened.
    """
    if not isinstance(url, str):
        return url
    if url == "memory":
        return MemoryArchive()
    if url.startswith("sqlite:///"):
        from .sqlite import SqliteArchive  # noqa: PLC0415 - sqlite3 costs 11 ms, paid by those who use it

        return SqliteArchive(url.removeprefix("sqlite:///"))
    msg = f"unknown archive {url!r}: use 'memory' or 'sqlite:///PATH'"
    raise ValueError(msg)
