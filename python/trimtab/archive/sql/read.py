"""Queries: sessions, history, totals, archived messages and pins."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...errors import ArchiveError
from ..names import check_session, is_ref, may_read
from ..values import ArchivedCompaction, Changes, Original, Overview, StoredSession, Totals
from .codec import decode, load, texts_in
from .statements import MANY, Database, Row, Steps, check_count, damaged, parse_ids, parse_time, transaction, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable

HEAD, REQUEST = 8, 400
"""Messages of a list among which its first request is looked for; characters of a request."""


class Queries(Database):
    """Queries for what is archived."""

    @transaction(write=False)
    def sessions(self) -> Steps[list[StoredSession]]:
        """Return all sessions, oldest first."""
        query = (
            "SELECT id, version, created_at,"
            " (SELECT count(*) FROM compaction_events e WHERE e.session_id = sessions.id),"
            " (SELECT count(*) FROM message_archive a WHERE a.session_id = sessions.id) FROM sessions"
            " ORDER BY created_at, id"
        )
        rows = yield query, ()
        return [value_of(StoredSession, *row[:2], parse_time(row[2]), *row[3:]) for row in rows]

    @transaction(write=False)
    def overview(self) -> Steps[list[Overview]]:
        """Return the sessions that have compactions, latest first, with what people know them by."""
        query = (
            "SELECT e.session_id, e.id, e.original_tokens, e.compacted_tokens, e.created_at FROM compaction_events e"
            " LEFT JOIN commits c ON c.event_id = e.id ORDER BY e.created_at, c.version, e.id"
        )
        events: dict[str, list[Row]] = {}
        for session, *event in (yield query, ()):
            events.setdefault(session, []).append(tuple(event))
        query = "SELECT session_id, file, model FROM origins"
        origins = {session: tuple(names) for session, *names in (yield query, ())}
        query = (
            "SELECT session_id, count(*), sum(size) FROM (SELECT DISTINCT a.session_id AS session_id, m.id, m.size"
            " FROM message_archive a JOIN messages m ON m.id = a.original_message) AS stored GROUP BY session_id"
        )
        sizes = {session: (many, int(size)) for session, many, size in (yield query, ())}
        found = []
        for session, (*_, last) in events.items():
            first = events[session][0]
            request = yield from _first_request(first[0])
            file, model = origins.get(session, ("", ""))
            times = (parse_time(first[3]), parse_time(last[3]))
            tokens, stored = (len(events[session]), first[1], last[2]), sizes.get(session, (0, 0))
            found.append(value_of(Overview, session, last[0], file, model, request, *tokens, *stored, *times))
        return sorted(found, key=lambda each: each.last_at, reverse=True)

    @transaction(write=False)
    def matching(self, prefix: str) -> Steps[list[str]]:
        """Return up to ten refs that begin with a text, in order."""
        query = "SELECT id FROM compaction_events WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT 10"
        rows = (yield query, (len(prefix), prefix)) if is_ref(prefix) and prefix else []
        return [ref for (ref,) in rows]

    @transaction(write=False)
    def changes(self, ref: str) -> Steps[Changes]:
        """Return what a compaction did to its list.

        Raises:
            ArchiveError: there is no such compaction, or its row is damaged.
        """
        query = (
            "SELECT e.session_id, e.preserved_message_ids, c.plan, coalesce((SELECT p.event_id FROM commits p"
            " JOIN compaction_events b ON b.id = p.event_id WHERE p.session_id = e.session_id AND p.version < c.version"
            " AND b.strategy <> 'ingest' ORDER BY p.version DESC LIMIT 1), '')"
            " FROM compaction_events e LEFT JOIN commits c ON c.event_id = e.id WHERE e.id = ?"
        )
        events = (yield query, (ref,)) if is_ref(ref) else []
        if not events:
            raise ArchiveError(f"no compaction {ref!r} in this archive")
        [(session, preserved, plan, before)] = events
        query = "SELECT id FROM message_archive WHERE compaction_event_id = ? ORDER BY id"
        positions = {number: at for at, (number,) in enumerate((yield query, (ref,)))}
        kept = sorted(positions[number] for number in parse_ids(preserved) if number in positions)
        return value_of(Changes, ref, session, before, tuple(kept), plan or "")

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
        texts = all(isinstance(text, str) for pin in pins for text in pin)
        if not texts or not all(value.isascii() for kind, value in pins if kind == "message"):  # a digest
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
    def stands(self, ref: str, session: str) -> Steps[bool]:
        """Return whether a compaction's result is still its session's latest: no pin, undo or later one ended it."""
        return bool((yield "SELECT 1 FROM views WHERE session_id = ? AND event_id = ?", (session, ref)))

    @transaction(write=False)
    def recognize(self, refs: Iterable[str], session: str) -> Steps[dict[str, bool]]:
        """Return for each ref that the archive knows whether the session may read it; retention forgets none."""
        query = (
            f"SELECT part.value, coalesce(c.session_id, e.session_id) FROM {self.dialect.parts}"  # noqa: S608
            " LEFT JOIN commits c ON c.event_id = part.value LEFT JOIN compaction_events e ON e.id = part.value"
        )
        rows = yield query, (json.dumps(list(refs)),)
        return {ref: may_read(session, owner, ref) for ref, owner in rows if isinstance(owner, str)}

    @transaction(write=False)
    def owner(self, ref: str) -> Steps[str | None]:
        """Return the session of a compaction; ``""`` where retention removed it, None where the archive knows none."""
        query = (
            "SELECT coalesce((SELECT session_id FROM compaction_events WHERE id = ?),"
            " (SELECT CAST('' AS TEXT) FROM commits WHERE event_id = ?))"
        )
        rows = (yield query, (ref, ref)) if is_ref(ref) else []
        return str(rows[0][0]) if rows and rows[0][0] is not None else None


def _first_request(ref: str) -> Steps[str]:
    """Return the first text of the user among the first originals of a compaction, on one line.

    A text that opens with a tag is an agent's own: it is taken where no other follows.
    """
    query = (
        "SELECT m.body, m.digest FROM message_archive a JOIN messages m ON m.id = a.original_message"
        " WHERE a.compaction_event_id = ? ORDER BY a.id LIMIT ?"
    )
    texts = []
    for body, digest in (yield query, (ref, HEAD)):
        message = load(body, digest)
        if message.get("role") == "user":
            rest = {name: part for name, part in message.items() if name in {"content", "parts"}}
            texts.append(" ".join(" ".join(texts_in(rest))[:REQUEST].split()))
    said = [text for text in texts if text]
    return next((text for text in said if not text.startswith("<")), next(iter(said), ""))
