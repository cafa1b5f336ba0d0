"""The originals that summaries stand for, back through the summaries among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ArchiveError
from ..messages.envelope import enveloped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..messages.types import Message
    from .archive import Archive

MOST = 4
"""Compactions whose originals are read: each took what the one before it had lost, so older ones have nothing more."""


def originals(archive: Archive, refs: Iterable[str], session: str) -> tuple[list[Message], list[str]]:
    """Return the originals of compactions and of those before them, oldest first, and the session's pinned texts.

    A compaction that the archive forgot, or that is not the session's, gives none.
    """
    found: list[Message] = []
    left = list(refs)
    seen: set[str] = set()
    while left and len(seen) < MOST:
        ref = left.pop()
        if ref in seen:
            continue
        seen.add(ref)
        try:
            loaded = archive.load(ref, session=session)
        except ArchiveError:
            continue
        found = [*loaded, *found]
        left += [one.ref for message in loaded if (one := enveloped(message))]
    return found, [value for kind, value in archive.pins(session) if kind == "text"]
