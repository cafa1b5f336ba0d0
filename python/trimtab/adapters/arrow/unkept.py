"""The archive of a row: it keeps nothing, because the originals are in the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...archive.archive import Archive
from ...archive.sql.codec import encode
from ...archive.values import Stored
from ...errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...archive.values import Record
    from ...messages.types import Message


class Unkept(Archive):
    """An archive that forgets at once what it is given; a row's compaction is the first of its session and the last."""

    def store(self, messages: Sequence[Message], session: str) -> Stored:
        """Return what an archive would say of the messages; what JSON cannot hold is an ArchiveError, as everywhere."""
        _, digests = encode(messages)
        return Stored(session, 0, tuple(digests), 1, len(digests))

    def commit(self, stored: Stored, record: Record) -> None:
        """Keep no record."""

    def load(self, ref: str, *, session: str | None = None) -> list[dict[str, Any]]:  # noqa: ARG002
        """Raise ArchiveError: nothing is kept."""
        raise ArchiveError(f"no compaction {ref!r}: the originals of a row are in its table")

    def pin(self, session: str, kind: str, value: str) -> None:
        """Keep no pin: nobody can add one to a row."""

    def pins(self, session: str) -> list[tuple[str, str]]:  # noqa: ARG002
        """Return no pin."""
        return []

    def close(self) -> None:
        """Do nothing: nothing is open."""
