"""The hash chain over a session's compactions: each link covers a compaction's data and the link before it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import ArchiveError, SessionError
from ..values import Fault
from .codec import load
from .statements import format_time, parse_time

if TYPE_CHECKING:
    from .statements import Database, Row, Steps

EVENT = (
    "SELECT e.id, e.session_id, c.version, e.strategy, e.original_tokens, e.compacted_tokens, e.messages_removed,"
    " e.summary_content, e.preserved_message_ids, e.model_used, e.duration_ms, e.created_at, c.plan, c.content"
    " FROM compaction_events e LEFT JOIN commits c ON c.event_id = e.id"
)


@dataclass(frozen=True, slots=True)
class Event:
    """The data that a link of the chain covers."""

    ref: str
    session: str
    version: int
    numbers: tuple[Any, ...]
    summary: str | None
    preserved: tuple[int, ...]
    model: str | None
    duration_ms: int
    created_at: str
    plan: str | None
    digests: tuple[str, ...]

    @classmethod
    def of(cls, row: Row, digests: tuple[str, ...]) -> Event:
        """Make an event from its database row and the digests of its originals."""
        ref, session, version, *numbers, summary, preserved, model, duration, created, plan, _ = row
        kept = json.loads(preserved) if isinstance(preserved, str) else preserved
        created = format_time(parse_time(created))
        fields = (tuple(numbers), summary, tuple(kept or ()), model, duration, created, plan, digests)
        return cls(ref, session, version, *fields)

    def digest(self) -> str:
        """Return the SHA-256 of the fields as JSON, in their order."""
        values = [getattr(self, name) for name in self.__slots__]  # astuple would copy every digest
        return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def link(before: str, content: str) -> str:
    """Return the link of an event's digest to the link before it, which is empty for the first event."""
    return hashlib.sha256(f"{before}\n{content}".encode()).hexdigest()


def originals(ref: str) -> Steps[list[Row]]:
    """Return body and digest of each original of a compaction, in order."""
    return (
        yield (
            (
                "SELECT m.body, m.digest FROM message_archive a JOIN messages m ON m.id = a.original_message"
                " WHERE a.compaction_event_id = ? ORDER BY a.id"
            ),
            (ref,),
        )
    )


def restore(ref: str) -> Steps[list[dict[str, Any]]]:
    """Return the original messages of a compaction, checked against their digests.

    Raises:
        ArchiveError: there is no such compaction, or its data is damaged.
    """
    events = yield f"{EVENT} WHERE e.id = ?", (ref,)
    if not events:
        gone = yield "SELECT pruned_at FROM commits WHERE event_id = ?", (ref,)
        reason = f"; retention removed it at {format_time(parse_time(gone[0][0]))}" if gone and gone[0][0] else ""
        raise ArchiveError(f"no compaction {ref!r} in this archive{reason}")
    rows = yield from originals(ref)
    [event] = events
    if faults := list(_faults(event, rows)):
        raise ArchiveError(f"compaction {ref} is damaged: {faults[0]}; see trimtab archive verify")
    return [load(body, digest) for body, digest in rows]


def _faults(event: Row, rows: list[Row]) -> list[str]:
    """Return the faults of an event and its originals."""
    faults = []
    for position, (body, digest) in enumerate(rows):
        try:
            load(body, digest)
        except (ArchiveError, ValueError) as error:
            faults.append(f"message {position}: {error}")
    content = event[-1]
    if content is not None:  # the first archives had no chain
        try:
            same = Event.of(event, tuple(digest for _, digest in rows)).digest() == content
        except (ArchiveError, ValueError, TypeError) as error:
            faults.append(f"the event cannot be read: {error}")
        else:
            if not same:
                faults.append("the event or the order of its messages changed after the commit")
    return faults


def verify(database: Database, session: str | None) -> Steps[list[Fault]]:
    """Recompute the chain from the messages on; return each place that does not match."""
    faults = [Fault("database", what) for what in (yield from database.check())]
    sessions = yield "SELECT id, version FROM sessions WHERE ? = '' OR id = ? ORDER BY id", (session or "",) * 2
    if session is not None and not sessions:
        raise SessionError(f"no session {session!r} in this archive")
    for name, version in sessions:
        faults += yield from _verify_session(name, version)
    return faults


def _verify_session(session: str, version: int) -> Steps[list[Fault]]:
    faults = []
    events = {row[0]: row for row in (yield f"{EVENT} WHERE e.session_id = ?", (session,))}
    commits = yield (
        "SELECT version, event_id, content, link, pruned_at FROM commits WHERE session_id = ? ORDER BY version",
        (session,),
    )
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
        rows = yield from originals(ref)
        where = f"session {session}, compaction {event[2] or 1} ({ref})"
        if event[-1] is None and ref != session:
            faults.append(Fault(where, "its commit is missing"))
        faults += [Fault(where, what) for what in _faults(event, rows)]
    return faults
