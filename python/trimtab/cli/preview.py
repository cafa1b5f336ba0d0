"""The archive of a plan, which stores nothing for good."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from .._home import archive_url
from ..archive.sqlite import DIALECT, SqliteArchive
from .files import archive_path


class Preview(SqliteArchive):
    """An archive in memory that recognizes the summaries of the default archive, as that of ``compact`` does."""

    dialect = replace(DIALECT, compresses=False)

    def __init__(self) -> None:
        """Open the default archive, if there is one, to read it."""
        super().__init__(":memory:")
        self.durable = True
        path = archive_path(archive_url())
        self.known = SqliteArchive(path) if Path(path).is_file() else None

    def recognize(self, refs: Iterable[str], session: str) -> dict[str, bool]:
        """Return for each ref that the default archive knows whether the session may read it."""
        return self.known.recognize(refs, session) if self.known else {}
