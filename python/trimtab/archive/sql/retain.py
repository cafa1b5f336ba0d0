"""Retention: remove compactions that no current summary refers to, and forget sessions completely."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import SessionError
from ..values import Pruned
from .codec import unpack
from .words import index_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .statements import Dialect, Row, Steps

OLDEST = (
    "SELECT e.id FROM compaction_events e WHERE NOT EXISTS (SELECT 1 FROM summaries s WHERE s.event_id = e.id)"
    " AND (? = '' OR e.session_id = ?)"
)
"""Query for the compactions that no current summary refers to."""


def prune(
    dialect: Dialect, now: str, *, before: str | None, keep: int | None, max_bytes: int | None, session: str | None
) -> Steps[Pruned]:
    """Remove compactions by age, by number in their session and by size, oldest first.

    Removes unreferenced messages too, and with an age the stored originals whose compaction was never committed.
    """
    of_session = (session or "",) * 2
    refs, removed = [], (yield from sweep(dialect, before or now)) if before else (0, 0)
    chosen: list[Row] = []
    if before is not None:
        chosen += yield f"{OLDEST} AND e.created_at < ? ORDER BY e.created_at, e.id", (*of_session, before)
    if keep is not None:
        newer = (
            "SELECT count(*) FROM compaction_events n WHERE n.session_id = e.session_id AND n.created_at > e.created_at"
        )
        chosen += yield f"{OLDEST} AND ({newer}) >= ? ORDER BY e.created_at, e.id", (*of_session, keep)
    for (ref,) in dict.fromkeys(chosen):
        removed = _sum(removed, (yield from _remove(dialect, ref, now)))
        refs.append(ref)
    if max_bytes is not None:
        more, size = yield from _shrink(dialect, now, max_bytes, of_session)
        refs, removed = refs + more, _sum(removed, size)
    if removed[0]:
        yield from _purge(dialect)
    return Pruned(tuple(refs), *removed)


def _shrink(
    dialect: Dialect, now: str, max_bytes: int, of_session: tuple[str, str]
) -> Steps[tuple[list[str], tuple[int, int]]]:
    """Remove the oldest compactions until the archive is small enough; return them, and messages and bytes removed."""
    refs: list[str] = []
    removed, last = (0, 0), 0
    size = yield from _size(dialect, max_bytes)
    [(held,)] = yield "SELECT coalesce(sum(size), 0) FROM messages", ()
    for (ref,) in (yield f"{OLDEST} ORDER BY e.created_at, e.id", of_session):
        if size <= max_bytes:
            break
        removed = _sum(removed, (yield from _remove(dialect, ref, now)))
        refs.append(ref)
        # Only a purge makes the file smaller, and it takes time in proportion to the index: purge once the share of
        # the removed messages suggests that it is enough.
        if size * (held - removed[1]) <= max_bytes * (held - last):
            size, last = (yield from _size(dialect, max_bytes)), removed[1]
    return refs, removed


def _size(dialect: Dialect, max_bytes: int) -> Steps[int]:
    """Return the archive's size in bytes; purge first if it is over ``max_bytes``."""
    [(size,)] = yield dialect.size, ()
    if size > max_bytes:
        yield from _purge(dialect)
        [(size,)] = yield dialect.size, ()
    return int(size)


def _purge(dialect: Dialect) -> Steps[None]:
    """Remove the remains of deleted rows from the files."""
    for statement in dialect.purge:
        yield statement, ()


def _sum(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return a[0] + b[0], a[1] + b[1]


def _remove(dialect: Dialect, ref: str, now: str) -> Steps[tuple[int, int]]:
    """Remove one compaction; its link in the chain stays."""
    messages = yield "SELECT DISTINCT original_message FROM message_archive WHERE compaction_event_id = ?", (ref,)
    yield "UPDATE commits SET pruned_at = ?, plan = NULL WHERE event_id = ?", (now, ref)
    yield "DELETE FROM compaction_events WHERE id = ?", (ref,)
    return (yield from _delete_unreferenced(dialect, messages))


def sweep(dialect: Dialect, before: str) -> Steps[tuple[int, int]]:
    """Remove originals stored before a time whose compaction was never committed."""
    orphans = "FROM message_archive WHERE compaction_event_id IS NULL AND archived_at < ?"
    messages = yield f"SELECT DISTINCT original_message {orphans}", (before,)
    yield f"DELETE {orphans}", (before,)
    return (yield from _delete_unreferenced(dialect, messages))


def forget(dialect: Dialect, session: str) -> Steps[Pruned]:
    """Remove a session: its events, originals, pins, marks and chain, and the messages that no other session has.

    Raises:
        SessionError: there is no such session.
    """
    if not (yield "SELECT 1 FROM sessions WHERE id = ?", (session,)):
        raise SessionError(f"no session {session!r} in this archive")
    events = yield "SELECT id FROM compaction_events WHERE session_id = ? ORDER BY created_at, id", (session,)
    messages = yield "SELECT DISTINCT original_message FROM message_archive WHERE session_id = ?", (session,)
    yield "DELETE FROM sessions WHERE id = ?", (session,)
    removed = yield from _delete_unreferenced(dialect, messages)
    if removed[0]:
        yield from _purge(dialect)
    return Pruned(tuple(ref for (ref,) in events), *removed)


def _delete_unreferenced(dialect: Dialect, ids: Sequence[Row]) -> Steps[tuple[int, int]]:
    """Delete the unreferenced ones among these messages, with their words; return their number and bytes."""
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
                yield dialect.unindex, (*row, index_words(unpack(body)))
            yield "DELETE FROM messages WHERE id = ?", row
            count, size = count + 1, size + length
    return count, size
