"""Queries: sessions, history, totals, archived messages and pins."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...errors import ArchiveError
from ..names import check_session, is_ref, may_read
from ..values import ArchivedCompaction, Original, Session, Totals
from .codec import decode, load
from .statements import MANY, Database, Steps, check_count, damaged, parse_ids, parse_time, transaction, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable


class Queries(Database):
    """Queries for what is archived."""

    @transaction(write=False)
    def sessions(self) -> Steps[list[Session]]:
        """Return all sessions, oldest first."""
        query = (
            "SELECT id, version, created_at,"
            " (SELECT count(*) FROM compaction_events e WHERE e.session_id = sessions.id),"
            " (SELECT count(*) FROM message_archive a WHERE a.session_id = sessions.id) FROM sessions"
            " ORDER BY created_at, id"
        )
        rows = yield query, ()
        return [value_of(Session, *row[:2], parse_time(row[2]), *row[3:]) for row in rows]

    @transaction(write=False)
    def history(self, session: str | None = None, *, limit: int | None = 10) -> Steps[list[ArchivedCompaction]]:
        """Return the compactions of one session or of all, latest first; ``limit=None`` returns all of them.

        Raises:
            ValueError: the session's name is empty, blank or not printable, or the limit is negative.
        """
        values = (check_session(session), session, MANY if limit is None else check_count("limit", limit))
        query = (
            "SELECT e.id, e.session_id, e.strategy, e.original_tokens, e.compacted_tokens, e.messages_removed,"
            " e.summary_content, e.preserved_message_ids, e.model_used, e.duration_ms, e.created_at"
            " FROM compaction_events e LEFT JOIN commits c ON c.event_id = e.id"
            " WHERE (CAST(? AS TEXT) IS NULL OR e.session_id = ?)"
            " ORDER BY e.created_at DESC, c.version DESC, e.id LIMIT ?"
        )
        rows = yield query, values
        return [
            value_of(ArchivedCompaction, *row[:7], parse_ids(row[7]), *row[8:10], parse_time(row[10])) for row in rows
        ]

    @transaction(write=False)
    def totals(self, session: str | None = None) -> Steps[Totals]:
        """Return sums over the compactions of one session or of all.

        Raises:
            ValueError: the session's name is empty, blank or not printable.
        """
        query = (
            "SELECT coalesce(sum(original_tokens - compacted_tokens), 0), coalesce(sum(messages_removed), 0), count(*)"
            " FROM compaction_events WHERE (CAST(? AS TEXT) IS NULL OR session_id = ?)"
        )
        [sums] = yield query, (check_session(session), session)
        return Totals(*map(int, sums))

    @transaction(write=False)
    def archived(self, ref: str) -> Steps[list[Original]]:
        """Return the messages that a compaction removed or changed, in order; ``load`` returns the whole list.

        Raises:
            ArchiveError: there is no such compaction, or a message is damaged.
        """
        query = "SELECT session_id, preserved_message_ids, messages_removed FROM compaction_events WHERE id = ?"
        events = (yield query, (ref,)) if is_ref(ref) else []
        if not events:
            raise ArchiveError(f"no compaction {ref!r} in this archive")
        [(session, preserved, removed)] = events
        ids = set(parse_ids(preserved))
        query = (
            "SELECT a.id, m.body, m.digest, a.archived_at FROM message_archive a"
            " JOIN messages m ON m.id = a.original_message WHERE a.compaction_event_id = ? ORDER BY a.id"
        )
        originals = [
            value_of(Original, number, ref, session, load(body, digest), parse_time(when))
            for number, body, digest, when in (yield query, (ref,))
            if number not in ids
        ]
        if len(originals) != removed:
            raise damaged(ref, f"{len(originals):,} of the {removed:,} removed messages are stored")
        return originals

    @transaction(write=False)
    def pins(self, session: str) -> Steps[list[tuple[str, str]]]:
        """Return kind and value of each pin of a session, in the order of pinning."""
        rows = yield "SELECT kind, value FROM pins WHERE session_id = ? ORDER BY pinned_at, kind, value", (session,)
        pins = [(kind, decode(value)) for kind, value in rows]
        if not all(isinstance(text, str) for pin in pins for text in pin):
            raise ArchiveError(f"a pin of session {session} is damaged; see trimtab archive verify")
        return pins

    @transaction(write=False)
    def marks(self, session: str) -> Steps[list[str]]:
        """Return the marks of the notices and acknowledgements in a session's latest result."""
        rows = yield "SELECT digest FROM marks WHERE session_id = ? AND kind = 'filler' ORDER BY digest", (session,)
        return [mark for (mark,) in rows if isinstance(mark, str)]

    @transaction(write=False)
    def view(self, session: str) -> Steps[dict[str, Any] | None]:
        """Return a session's latest result, told by the list that it was made of; None without one."""
        rows = yield "SELECT view FROM views WHERE session_id = ?", (session,)
        return decode(rows[0][0]) if rows else None

    @transaction(write=False)
    def recognize(self, refs: Iterable[str], session: str) -> Steps[dict[str, bool]]:
        """Return for each ref that the archive knows whether the session may read it; retention forgets none."""
        query = (
            f"SELECT part.value, coalesce(c.session_id, e.session_id) FROM {self.dialect.parts}"  # noqa: S608
            " LEFT JOIN commits c ON c.event_id = part.value LEFT JOIN compaction_events e ON e.id = part.value"
        )
        rows = yield query, (json.dumps(list(refs)),)
        return {ref: may_read(session, owner, ref) for ref, owner in rows if isinstance(owner, str)}
