"""An archive that lives as long as its owner."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .._errors import ArchiveError
from ._archive import Record, digest_of, dump

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._messages import Message


class MemoryArchive:
    """Originals and compactions in two dicts."""

    def __init__(self) -> None:
        """Starts empty."""
        self._bodies: dict[str, str] = {}
        self._records: dict[str, Record] = {}

    def store(self, messages: Sequence[Message]) -> tuple[str, ...]:
        """Keeps each message's JSON: the caller's objects may change later."""
        texts = [dump(message) for message in messages]
        bodies = {digest_of(text): text for text in texts}
        self._bodies.update(bodies)
        return tuple(digest_of(text) for text in texts)

    def commit(self, record: Record) -> None:
        """Remembers a compaction."""
        if missing := [digest for digest in record.digests if digest not in self._bodies]:
            raise ArchiveError(f"{len(missing)} originals of {record.ref} are not stored")
        self._records.setdefault(record.ref, record)

    def load(self, ref: str) -> list[dict[str, Any]]:
        """The original list of a compaction."""
        if ref not in self._records:
            raise ArchiveError(f"no compaction {ref!r} in this archive; it lives with its Compactor")
        return [json.loads(self._bodies[digest]) for digest in self._records[ref].digests]

    def close(self) -> None:
        """Nothing is held open; what was archived stays until the object goes."""
