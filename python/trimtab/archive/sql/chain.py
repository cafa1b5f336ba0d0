"""The hash chain over a session's compactions: each link covers a compaction's data and the link before it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ...errors import ArchiveError, SessionError
from ..names import check_session, is_ref, may_read
from ..values import Fault
from .codec import load
from .statements import UNREADABLE, Database, Row, Steps, damaged, format_time, parse_ids, parse_time, transaction

EVENT = (
    "SELECT e.id, e.session_id, c.version, e.strategy, e.original_tokens, e.compacted_tokens, e.messages_removed,"
    " e.summary_content, e.preserved_message_ids, e.model_used, e.duration_ms, e.created_at, c.plan, c.content"
    " FROM compaction_events e LEFT JOIN commits c ON c.event_id = e.id"
)


def digest_event(row: Row, digests: list[str]) -> str:
    """Return the SHA-256 of an event's data as JSON.

    Args:
        row: the columns of ``EVENT``; the last one, the stored digest, is not used.
        digests: digests of the originals, in order.

    Raises:
        ArchiveError: the time or the list of ids is damaged.
    """
    ref, session, version, *numbers, summary, preserved, model, duration, created, plan, _ = row
    ids = parse_ids(preserved)
    time = format_time(parse_time(created))
    data = [ref, session, version, numbers, summary, ids, model, duration, time, plan, digests]
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()


def link(before: str, content: str) -> str:
    """Return the link of an event's digest to the link before it, which is empty for the first event."""
    return hashlib.sha256(f"{before}\n{content}".encode()).hexdigest()


class Integrity(Database):
    """Reading with verification."""

    @transaction(write=False)
    def load(self, ref: str, *, session: str | None = None) -> Steps[list[dict[str, Any]]]:
        """Return the original messages of a compaction, equal to the input, also as JSON text.

        Args:
            ref: the compaction.
            session: the session that asks: one with a given name reads its own compactions, one without a name those
                of all sessions without a name. None reads all.

        Raises:
            ArchiveError: there is no such compaction, the session may not read it, or its data is damaged.
            ValueError: the session's name is empty, blank or not printable.
        """
        check_session(session)
        events = (yield f"{EVENT} WHERE e.id = ?", (ref,)) if is_ref(ref) else []
        if not events or (session is not None and not may_read(session, events[0][1], ref)):
            reason = yield from _why_missing(ref, session)
            raise ArchiveError(f"no compaction {ref!r} in this archive{reason}")
        rows = yield from _originals(ref)
        if faults := _faults(events[0], rows):
            raise damaged(ref, faults[0])
        return [load(body, digest) for body, digest in rows]

    @transaction(write=False)
    def verify(self, session: str | None = None) -> Steps[list[Fault]]:
        """Recompute all digests and the hash chain; return each place that does not match.

        Raises:
            SessionError: there is no such session.
            ArchiveError: the database cannot be read.
            ValueError: the session's name is empty, blank or not printable.
        """
        query = "SELECT id, version FROM sessions WHERE CAST(? AS TEXT) IS NULL OR id = ? ORDER BY id"
        sessions = yield query, (check_session(session), session)
        if session is not None and not sessions:
            raise SessionError(f"no session {session!r} in this archive")
        faults = [Fault("database", what) for (what,) in (yield self.dialect.integrity_check, ())]
        for name, version in sessions:
            faults += yield from _verify_session(name, version)
        return faults


def _why_missing(ref: str, session: str | None) -> Steps[str]:
    """Return what a session may know about a compaction that it cannot read."""
    query = "SELECT pruned_at FROM commits WHERE event_id = ? AND (CAST(? AS TEXT) IS NULL OR session_id = ?)"
    for (pruned,) in (yield query, (ref, session, session)) if is_ref(ref) else []:
        if pruned:
            return f"; retention removed it at {format_time(parse_time(pruned))}"
    return "" if session is None else ", or it is of another session: any_session=True (--any-session) reads those too"


def _originals(ref: str) -> Steps[list[Row]]:
    """Return body and digest of each original of a compaction, in order."""
    query = (
        "SELECT m.body, m.digest FROM message_archive a JOIN messages m ON m.id = a.original_message"
        " WHERE a.compaction_event_id = ? ORDER BY a.id"
    )
    return (yield query, (ref,))


def _faults(event: Row, rows: list[Row]) -> list[str]:
    """Return the faults of an event and its originals: one that lacks a message or its commit is not whole."""
    faults = []
    for position, (body, digest) in enumerate(rows):
        try:
            load(body, digest)
        except (ArchiveError, *UNREADABLE) as error:
            faults.append(f"message {position}: {error}")
    ref, session, content = event[0], event[1], event[-1]
    try:
        expected = event[6] + len(parse_ids(event[8]))
        if len(rows) != expected:
            faults.append(f"{len(rows):,} of its {expected:,} messages are stored")
        if content is not None and digest_event(event, [digest for _, digest in rows]) != content:
            faults.append("the event or the order of its messages changed after the commit")
    except (ArchiveError, *UNREADABLE) as error:
        faults.append(f"the event cannot be read: {error}")
    if content is None and ref != session:  # the first archives named a session as its compaction, and had no chain
        faults.append("its commit is missing")
    return faults


def _verify_session(session: str, version: int) -> Steps[list[Fault]]:
    faults = []
    events = {row[0]: row for row in (yield f"{EVENT} WHERE e.session_id = ?", (session,))}
    query = "SELECT version, event_id, content, link, pruned_at FROM commits WHERE session_id = ? ORDER BY version"
    commits = yield query, (session,)
    before = ""
    for expected, (number, ref, content, stored, pruned) in enumerate(commits, 1):
        where = f"session {session}, compaction {number} ({ref})"
        if number != expected:
            faults.append(Fault(f"session {session}, compaction {expected}", "it is missing"))
            break
        if ref not in events and not pruned:
            faults.append(Fault(where, "its event is missing"))
        if link(before, content) != stored:
            faults.append(Fault(where, "the chain breaks here: the link does not match the one before"))
        before = stored
    if version != len(commits):
        faults.append(Fault(f"session {session}", f"{version} compactions were committed, {len(commits)} are stored"))
    for ref, event in events.items():
        rows = yield from _originals(ref)
        where = f"session {session}, compaction {event[2] or 1} ({ref})"
        faults += [Fault(where, what) for what in _faults(event, rows)]
    return faults
