"""Retention: remove compactions that no current summary refers to, and forget sessions completely."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from ...errors import SessionError
from ..names import check_name, check_session
from ..values import Pruned
from .codec import decompress, index_words
from .statements import Database, Dialect, Row, Steps, check_count, transaction

if TYPE_CHECKING:
    from collections.abc import Callable

ORPHAN_AGE = timedelta(hours=1)
"""Age at which ``sweep`` removes originals without a compaction: longer than any model takes to answer."""

REMOVABLE = (
    "SELECT e.id FROM compaction_events e WHERE NOT EXISTS (SELECT 1 FROM summaries s WHERE s.event_id = e.id)"
    " AND (CAST(? AS TEXT) IS NULL OR e.session_id = ?)"
)
"""Query for the compactions that no current summary refers to."""

NEWER = (
    "SELECT count(*) - CASE e.strategy WHEN 'ingest' THEN 1 ELSE 0 END FROM compaction_events n"
    " WHERE n.session_id = e.session_id AND n.created_at > e.created_at AND n.strategy <> 'ingest'"
)
"""Query for the number of later compactions of the same session: for a truncated output, of those after the next one,
in whose list it stands."""


class Retention(Database):
    """Removal of archived data."""

    def prune(
        self,
        *,
        older_than: timedelta | None = None,
        keep: int | None = None,
        max_bytes: int | None = None,
        session: str | None = None,
        dry_run: bool = False,
    ) -> Pruned:
        """Remove compactions, oldest first; a compaction whose summary is in its session's current list stays.

        Args:
            older_than: remove compactions of at least this age, entries of the log, and originals whose compaction was
                never committed; with ``session``, those of this session.
            keep: remove all but the latest ``keep`` compactions of each session; an output that was truncated goes
                with the compaction after it.
            max_bytes: remove until the file is at most this large. In PostgreSQL, whose files shrink only when it
                vacuums, the limit applies to the remaining messages as JSON.
            session: only remove compactions of this session; ``max_bytes`` still measures the whole archive.
            dry_run: report what would be removed, and remove nothing.

        Raises:
            TypeError: a number is no int.
            ValueError: a number is negative, or the session's name is empty, blank or not printable.
        """
        now, before = self.now(), None if older_than is None else self.now(older_than)
        limits = before, check_count("keep", keep), check_count("max_bytes", max_bytes)
        limited_to = check_session(session)
        return self._remove(lambda: _Removal(self.dialect, now).prune(limited_to, *limits), dry_run=dry_run)

    def sweep(self, older_than: timedelta = ORPHAN_AGE) -> int:
        """Remove stored originals whose compaction was never committed; return the number of messages deleted."""
        now, before = self.now(), self.now(older_than)
        return self._remove(lambda: _Removal(self.dialect, now).sweep_alone(before)).messages

    @transaction(write=False)
    def sizes(self, strategy: str) -> Steps[dict[str, int]]:
        """Return the bytes of the messages of each session with a compaction of a strategy, as JSON.

        The session whose latest one is the oldest is first.
        """
        query = (
            "SELECT stored.session_id, sum(stored.size) FROM (SELECT DISTINCT a.session_id AS session_id, m.id, m.size"
            " FROM message_archive a JOIN messages m ON m.id = a.original_message) AS stored"
            " JOIN (SELECT session_id, max(created_at) AS latest FROM compaction_events WHERE strategy = ?"
            " GROUP BY session_id) AS made ON made.session_id = stored.session_id"
            " GROUP BY stored.session_id, made.latest ORDER BY made.latest, stored.session_id"
        )
        return {session: int(size) for session, size in (yield query, (strategy,))}

    def forget(self, session: str, *, dry_run: bool = False) -> Pruned:
        """Remove all data of a session, also from the search index; later Compactors take its summaries for text.

        In SQLite the removed text is then in no file, unless ``Pruned.remains`` names one. What PostgreSQL keeps in
        its log, its replicas and its backups is for its administrator to remove.

        Raises:
            SessionError: there is no such session.
            ValueError: the session's name is empty, blank or not printable.
        """
        now, name = self.now(), check_name(session)
        return self._remove(lambda: _Removal(self.dialect, now).forget(name), dry_run=dry_run)

    def _remove(self, removal: Callable[[], Steps[Pruned]], *, dry_run: bool = False) -> Pruned:
        """Run a removal, and erase from log files what it removed."""
        removed = self.transact(removal, dry_run=dry_run)
        return removed if dry_run else replace(removed, remains=self.erase())


class _Removal:
    """Removes data in one transaction, and sums what it removed."""

    def __init__(self, dialect: Dialect, now: str) -> None:
        self.dialect, self.now = dialect, now
        self.refs: list[str] = []
        self.messages = self.bytes = 0

    def prune(self, session: str | None, before: str | None, keep: int | None, max_bytes: int | None) -> Steps[Pruned]:
        """Remove compactions by age, by number in their session and by size, oldest first."""
        of_session = (session, session)
        chosen: list[Row] = []
        if before is not None:
            yield from self.sweep(before, session)
            yield from self.shorten_log(before, session)
            chosen += yield f"{REMOVABLE} AND e.created_at < ? ORDER BY e.created_at, e.id", (*of_session, before)
        if keep is not None:
            chosen += yield f"{REMOVABLE} AND ({NEWER}) >= ? ORDER BY e.created_at, e.id", (*of_session, keep)
        for (ref,) in dict.fromkeys(chosen):
            yield from self.remove(ref)
        if max_bytes is not None:
            yield from self.shrink(max_bytes, of_session)
        return (yield from self.end())

    def forget(self, session: str) -> Steps[Pruned]:
        """Remove a session: its events, originals, pins, marks and chain, and the messages that no other session has.

        Raises:
            SessionError: there is no such session.
        """
        if not (yield "SELECT 1 FROM sessions WHERE id = ?", (session,)):
            raise SessionError(f"no session {session!r} in this archive")
        events = yield "SELECT id FROM compaction_events WHERE session_id = ? ORDER BY created_at, id", (session,)
        messages = yield "SELECT DISTINCT original_message FROM message_archive WHERE session_id = ?", (session,)
        yield "DELETE FROM sessions WHERE id = ?", (session,)
        yield from self.delete_unreferenced(messages)
        self.refs = [ref for (ref,) in events]
        return (yield from self.end())

    def sweep_alone(self, before: str) -> Steps[Pruned]:
        """Remove originals stored before a time whose compaction was never committed, and nothing else."""
        yield from self.sweep(before, None)
        return (yield from self.end())

    def sweep(self, before: str, session: str | None) -> Steps[None]:
        """Remove originals stored before a time whose compaction was never committed, of one session or of all."""
        orphans = (
            "FROM message_archive WHERE compaction_event_id IS NULL AND archived_at < ?"
            " AND (CAST(? AS TEXT) IS NULL OR session_id = ?)"
        )
        values = (before, session, session)
        messages = yield f"SELECT DISTINCT original_message {orphans}", values
        yield f"DELETE {orphans}", values
        yield from self.delete_unreferenced(messages)

    def shorten_log(self, before: str, session: str | None) -> Steps[None]:
        """Remove the entries of the log before a time, of one session or of all."""
        values = (before, session, session)
        yield "DELETE FROM receipts WHERE created_at < ? AND (CAST(? AS TEXT) IS NULL OR session_id = ?)", values

    def remove(self, ref: str) -> Steps[None]:
        """Remove one compaction; its link in the chain stays."""
        messages = yield "SELECT DISTINCT original_message FROM message_archive WHERE compaction_event_id = ?", (ref,)
        yield "UPDATE commits SET pruned_at = ?, plan = NULL WHERE event_id = ?", (self.now, ref)
        yield "DELETE FROM compaction_events WHERE id = ?", (ref,)
        yield from self.delete_unreferenced(messages)
        self.refs.append(ref)

    def shrink(self, max_bytes: int, of_session: Row) -> Steps[None]:
        """Remove the oldest compactions until the archive is small enough."""
        [(held,)] = yield "SELECT coalesce(sum(size), 0) FROM messages", ()
        removed_before, purged_at = self.bytes, 0
        size = yield from self.size(max_bytes)
        for (ref,) in (yield f"{REMOVABLE} ORDER BY e.created_at, e.id", of_session):
            if size <= max_bytes:
                break
            yield from self.remove(ref)
            # Only a purge makes the file smaller, and it takes time in proportion to the index: purge once the share
            # of the removed messages suggests that it is enough.
            removed = self.bytes - removed_before
            if size * (held - removed) <= max_bytes * (held - purged_at):
                size, purged_at = (yield from self.size(max_bytes)), removed

    def size(self, max_bytes: int) -> Steps[int]:
        """Return the archive's size in bytes; purge first if it is over ``max_bytes``."""
        [(size,)] = yield self.dialect.size, ()
        if size > max_bytes and self.dialect.purge:
            yield self.dialect.purge, ()
            [(size,)] = yield self.dialect.size, ()
        return int(size)

    def delete_unreferenced(self, ids: list[Row]) -> Steps[None]:
        """Delete the unreferenced ones among these messages, with their words."""
        query = (
            "SELECT m.size, m.body, u.message_id FROM messages m LEFT JOIN unindexed u ON u.message_id = m.id"
            " WHERE m.id = ? AND NOT EXISTS (SELECT 1 FROM message_archive WHERE original_message = m.id)"
        )
        for row in ids:
            for size, body, unindexed in (yield query, row):
                if unindexed is None and self.dialect.unindex:
                    yield self.dialect.unindex, (*row, index_words(decompress(body)))
                yield "DELETE FROM messages WHERE id = ?", row
                self.messages, self.bytes = self.messages + 1, self.bytes + size

    def end(self) -> Steps[Pruned]:
        """Remove the remains of deleted rows from the files, and return what was removed."""
        if self.messages and self.dialect.purge:
            yield self.dialect.purge, ()
        return Pruned(tuple(self.refs), self.messages, self.bytes)
