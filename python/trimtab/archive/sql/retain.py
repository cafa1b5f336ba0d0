"""What may go, and how: never below what a live summary refers to, and a forgotten session leaves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ArchiveError
from ..values import Pruned
from .codec import unpack
from .words import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .statements import Dialect, Row, Steps

OLDEST = (
    "SELECT e.id FROM compaction_events e WHERE NOT EXISTS (SELECT 1 FROM summaries s WHERE s.event_id = e.id)"
    " AND (? = '' OR e.session_id = ?)"
)
"""Compactions that no list's summary refers to."""


def prune(
    dialect: Dialect, now: str, *, before: str | None, keep: int | None, max_bytes: int | None, session: str | None
) -> Steps[Pruned]:
    """Removes compactions by age, by number in their session and by size, the oldest first.

    What nothing refers to any more goes with them, and so do copies whose compaction never came to be.
    """
    whose = (session or "",) * 2
    taken, gone = [], (yield from sweep(dialect, before or now)) if before else (0, 0)
    chosen: list[Row] = []
    if before is not None:
        chosen += yield f"{OLDEST} AND e.created_at < ? ORDER BY e.created_at, e.id", (*whose, before)
    if keep is not None:
        newer = (
            "SELECT count(*) FROM compaction_events n WHERE n.session_id = e.session_id AND n.created_at > e.created_at"
        )
        chosen += yield f"{OLDEST} AND ({newer}) >= ? ORDER BY e.created_at, e.id", (*whose, keep)
    for (ref,) in dict.fromkeys(chosen):
        gone = _sum(gone, (yield from _remove(dialect, ref, now)))
        taken.append(ref)
    if max_bytes is not None:
        refs, more = yield from _shrink(dialect, now, max_bytes, whose)
        taken, gone = taken + refs, _sum(gone, more)
    if gone[0]:
        yield from _purge(dialect)
    return Pruned(tuple(taken), *gone)


def _shrink(
    dialect: Dialect, now: str, max_bytes: int, whose: tuple[str, str]
) -> Steps[tuple[list[str], tuple[int, int]]]:
    """Removes the oldest compactions until the archive is no larger; answers them, and what went with them."""
    taken: list[str] = []
    gone, last = (0, 0), 0
    size = yield from _size(dialect, max_bytes)
    [(held,)] = yield "SELECT coalesce(sum(size), 0) FROM messages", ()
    for (ref,) in (yield f"{OLDEST} ORDER BY e.created_at, e.id", whose):
        if size <= max_bytes:
            break
        gone = _sum(gone, (yield from _remove(dialect, ref, now)))
        taken.append(ref)
        # To purge takes as long as the index is, and before it removing makes no file smaller: so it is done where the
        # messages' share says that it may be enough.
        if size * (held - gone[1]) <= max_bytes * (held - last):
            size, last = (yield from _size(dialect, max_bytes)), gone[1]
    return taken, gone


def _size(dialect: Dialect, max_bytes: int) -> Steps[int]:
    """Bytes that the archive has: without what removed messages left, if that matters."""
    [(size,)] = yield dialect.size, ()
    if size > max_bytes:
        yield from _purge(dialect)
        [(size,)] = yield dialect.size, ()
    return int(size)


def _purge(dialect: Dialect) -> Steps[None]:
    """Takes what deleted rows leave in the files."""
    for statement in dialect.purge:
        yield statement, ()


def _sum(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return a[0] + b[0], a[1] + b[1]


def _remove(dialect: Dialect, ref: str, now: str) -> Steps[tuple[int, int]]:
    """Removes one compaction; the link of the chain stays."""
    loose = yield "SELECT DISTINCT original_message FROM message_archive WHERE compaction_event_id = ?", (ref,)
    yield "UPDATE commits SET pruned_at = ?, plan = NULL WHERE event_id = ?", (now, ref)
    yield "DELETE FROM compaction_events WHERE id = ?", (ref,)
    return (yield from _let_go(dialect, loose))


def sweep(dialect: Dialect, before: str) -> Steps[tuple[int, int]]:
    """Removes copies from before that moment whose compaction never came to be."""
    orphans = "FROM message_archive WHERE compaction_event_id IS NULL AND archived_at < ?"
    loose = yield f"SELECT DISTINCT original_message {orphans}", (before,)
    yield f"DELETE {orphans}", (before,)
    return (yield from _let_go(dialect, loose))


def forget(dialect: Dialect, session: str) -> Steps[Pruned]:
    """Removes a session: its events, originals, pins, marks, chain and copies, and the messages that were only its own.

    Raises:
        ArchiveError: there is no such session.
    """
    if not (yield "SELECT 1 FROM sessions WHERE id = ?", (session,)):
        raise ArchiveError(f"no session {session!r} in this archive")
    events = yield "SELECT id FROM compaction_events WHERE session_id = ? ORDER BY created_at, id", (session,)
    loose = yield "SELECT DISTINCT original_message FROM message_archive WHERE session_id = ?", (session,)
    yield "DELETE FROM sessions WHERE id = ?", (session,)
    gone = yield from _let_go(dialect, loose)
    if gone[0]:
        yield from _purge(dialect)
    return Pruned(tuple(ref for (ref,) in events), *gone)


def _let_go(dialect: Dialect, ids: Sequence[Row]) -> Steps[tuple[int, int]]:
    """Removes those of these messages that nothing refers to, with their words; answers their number and bytes."""
    count = size = 0
    for row in ids:
        found = yield (
            (
                "SELECT m.size, m.body, u.message_id FROM messages m LEFT JOIN unindexed u ON u.message_id = m.id"
                " WHERE m.id = ? AND NOT EXISTS (SELECT 1 FROM message_archive WHERE original_message = m.id)"
            ),
            row,
        )
        for length, body, unindexed in found:
            if unindexed is None and dialect.unindex:
                yield dialect.unindex, (*row, words_of(unpack(body)))
            yield "DELETE FROM messages WHERE id = ?", row
            count, size = count + 1, size + length
    return count, size
