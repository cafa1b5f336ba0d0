"""What a compaction did to its list, and the list from before the first of several compactions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..archive.names import given_name, may_read
from ..errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..archive import Changes, SqlArchive

_NAMED = re.compile(r"(?:\bref=\\?\"?|\brestore |\bref\\?\"?: \\?\"?)([0-9a-f]{20})(?![0-9a-f])")
"""A ref in a summary's envelope or in a notice, in a message's JSON."""

MAX_PLACED = 4
"""Messages that a compaction adds at most: a question, a summary, its acknowledgement, and one between two turns."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of the messages of a list, by position.

    Attributes:
        stayed: those that stayed as they were.
        changed: those of which a part was replaced.
        left: those that left the list.
    """

    stayed: list[int]
    changed: list[int]
    left: list[int]


def fate(changes: Changes, messages: int) -> Fate:
    """Return what became of each of so many messages."""
    kept, gone = set(changes.kept), set(_left(changes.plan))
    others = [at for at in range(messages) if at not in kept]
    known = bool(changes.plan)
    return Fate(
        [*changes.kept],
        [at for at in others if known and at not in gone],
        [at for at in others if at in gone or not known],
    )


def _left(plan: str) -> Iterator[int]:
    """Yield the positions of the messages that a plan summarizes or drops."""
    for edit in json.loads(plan or "{}").get("edits", ()):
        if edit["edit"] in {"Summarize", "Drop"}:
            kept = set(edit["keep"])
            yield from (at for at in range(edit["start"], edit["stop"]) if at not in kept)


def first_list(archive: SqlArchive, ref: str, session: str | None) -> tuple[list[Any], list[str]]:
    """Return the messages from before the first compaction up to this one, and the refs that were undone, latest first.

    Args:
        archive: holds the compactions.
        ref: the latest of them.
        session: the session that asks, as in ``load``.

    Raises:
        ArchiveError: a compaction is missing or of another session, or its list was changed before the next one.
    """
    messages = originals = archive.load(ref, session=session)
    undone = [ref]
    while before := _before(archive, undone, originals, session):
        originals = archive.load(before, session=session)
        begins = _length(originals, archive.changes(before), messages)
        if begins is None:
            raise ArchiveError(
                f"the list of {undone[-1]} does not begin with what {before} left\n"
                f"  it was changed in between: restore {before} and {undone[-1]} each by its own ref"
            )
        messages = [*originals, *messages[begins:]]
        undone.append(before)
    return messages, undone


def _before(archive: SqlArchive, undone: list[str], originals: Sequence[Any], session: str | None) -> str:
    """Return the ref of the compaction that made the beginning of the last one's originals; empty without one.

    It is the one before in its session; in a session without a name, which each command has for itself, the first
    that the list's summaries and notices name.
    """
    changes = archive.changes(undone[-1])
    if changes.before:
        return changes.before
    owner = given_name(None) if session is None else session
    for message in originals:
        for named in _NAMED.findall(json.dumps(message)):
            if named not in undone and archive.matching(named) == [named]:
                made = archive.changes(named).session
                if made == changes.session or may_read(owner, made, named):
                    return str(named)
    return ""


def _length(originals: Sequence[Any], changes: Changes, messages: Sequence[Any]) -> int | None:
    """Return how many messages of a list are what a compaction left of its originals; None if it was changed since.

    The messages that stayed are found in their order; those that were changed behind the last of them follow.
    """
    at = 0
    for position in changes.kept:
        while at < len(messages) and messages[at] != originals[position]:
            at += 1
        if at == len(messages):
            return None
        at += 1
    last = changes.kept[-1] if changes.kept else -1
    found = fate(changes, len(originals))
    behind = sum(position > last for position in found.changed)
    placed = bool(found.left) and found.left[0] > last  # the summary stands where the first that left stood
    others = at - len(changes.kept) - (len(found.changed) - behind)
    return None if others > MAX_PLACED else min(at + behind + placed, len(messages))
