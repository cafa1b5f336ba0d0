"""Queries: sessions, history, totals, archived messages, pins and marks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...errors import ArchiveError
from ..values import Original, Past, Session, Totals
from .codec import load
from .statements import parse_time

if TYPE_CHECKING:
    from .statements import Steps


def sessions() -> Steps[list[Session]]:
    """Return all sessions, oldest first."""
    rows = yield (
        (
            "SELECT id, version, created_at,"
            " (SELECT count(*) FROM compaction_events e WHERE e.session_id = sessions.id),"
            " (SELECT count(*) FROM message_archive a WHERE a.session_id = sessions.id) FROM sessions"
            " ORDER BY created_at, id"
        ),
        (),
    )
    return [Session(name, version, parse_time(created), *counts) for name, version, created, *counts in rows]


def history(session: str | None, limit: int | None) -> Steps[list[Past]]:
    """Return compactions, latest first."""
    rows = yield (
        (
            "SELECT e.id, e.session_id, e.strategy, e.original_tokens, e.compacted_tokens, e.messages_removed,"
            " e.summary_content, e.preserved_message_ids, e.model_used, e.duration_ms, e.created_at"
            " FROM compaction_events e LEFT JOIN commits c ON c.event_id = e.id WHERE (? = '' OR e.session_id = ?)"
            " ORDER BY e.created_at DESC, c.version DESC, e.id LIMIT ?"
        ),
        (session or "", session or "", 2**62 if limit is None else limit),
    )
    return [_past(*row) for row in rows]


def _past(*row: Any) -> Past:
    """Return a row of ``compaction_events`` as a value."""
    ref, session, strategy, original, compacted, removed, summary, preserved, model, duration, created = row
    ids, when = _ids(preserved), parse_time(created)
    return Past(ref, session, strategy, original, compacted, removed, summary, ids, model, duration, when)


def _ids(ids: object) -> tuple[int, ...]:
    """Return the ids of a list, or of its JSON text.

    Raises:
        ArchiveError: the text is not JSON.
    """
    try:
        found = json.loads(ids) if isinstance(ids, str) else ids
    except ValueError as error:
        raise ArchiveError(f"a stored list of ids is damaged: {error}; see trimtab archive verify") from error
    return tuple(found) if isinstance(found, list) else ()


def totals(session: str | None) -> Steps[Totals]:
    """Return sums over the compactions of one session or of all."""
    [(saved, removed, count)] = yield (
        (
            "SELECT coalesce(sum(original_tokens - compacted_tokens), 0), coalesce(sum(messages_removed), 0), count(*)"
            " FROM compaction_events WHERE (? = '' OR session_id = ?)"
        ),
        (session or "", session or ""),
    )
    return Totals(int(saved), int(removed), int(count))


def archived(ref: str) -> Steps[list[Original]]:
    """Return the messages that a compaction removed or changed.

    Raises:
        ArchiveError: there is no such compaction, or a message is damaged.
    """
    events = yield "SELECT session_id, preserved_message_ids FROM compaction_events WHERE id = ?", (ref,)
    if not events:
        raise ArchiveError(f"no compaction {ref!r} in this archive")
    [(session, preserved)] = events
    ids = set(_ids(preserved))
    rows = yield (
        (
            "SELECT a.id, m.body, m.digest, a.archived_at FROM message_archive a"
            " JOIN messages m ON m.id = a.original_message WHERE a.compaction_event_id = ? ORDER BY a.id"
        ),
        (ref,),
    )
    return [
        Original(number, ref, session, load(body, digest), parse_time(when))
        for number, body, digest, when in rows
        if number not in ids
    ]


def pins(session: str) -> Steps[list[tuple[str, str]]]:
    """Return kind and value of each pin of a session, in the order of pinning."""
    rows = yield "SELECT kind, value FROM pins WHERE session_id = ? ORDER BY pinned_at, kind, value", (session,)
    return [(kind, value) for kind, value in rows]


def marks(session: str, kind: str) -> Steps[frozenset[str]]:
    """Return the digests of a session's messages that have a mark."""
    rows = yield "SELECT digest FROM marks WHERE session_id = ? AND kind = ?", (session, kind)
    return frozenset(digest for (digest,) in rows)
