"""An archive that lives as long as its owner."""

from __future__ import annotations

from .sqlite import SqliteArchive


class MemoryArchive(SqliteArchive):
    """A SQLite database without a file: everything that an archive can do, until the object goes."""

    def __init__(self) -> None:
        """Starts empty."""
        super().__init__(":memory:")
