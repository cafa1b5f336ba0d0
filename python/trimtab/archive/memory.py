"""An archive in memory, for the lifetime of the object."""

from __future__ import annotations

from .sqlite import SqliteArchive


class MemoryArchive(SqliteArchive):
    """An SQLite database without a file."""

    def __init__(self) -> None:
        """Create an empty archive."""
        super().__init__(":memory:")
