"""Writes: transaction 1 stores the originals, transaction 2 records their compaction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...errors import ArchiveError, ConflictError, SessionError
from ..names import check_name, takes_ref
from ..values import Record, Stored
from .chain import EVENT, digest_event, link
from .codec import MIN_CHARS, compress, encode
from .statements import MANY, Database, Dialect, Row, Steps, clean, transaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...messages.types import Message

MAX_COMPRESSED_NOW = 500_000
"""Characters of new messages to compress at once: 8 ms of work, more than 40 turns of text. A longer list is compressed
when it is indexed."""

MIN_REBUILT = 20_000
"""New messages from which the index of digests is built anew if they are half of the table."""


class Writes(Database):
    """The two transactions of a compaction, and pins."""

    def store(self, messages: Sequence[Message], session: str) -> Stored:
        """Store each distinct message once, and the order of the list: transaction 1.

        Raises:
            ArchiveError: a message is not JSON, or the database fails.
            ValueError: the session's name is empty, blank or not printable.
        """
        texts, digests = encode(messages)  # before the transaction, which locks a SQLite file
        name, now = check_name(session), self.now()
        return self.transact(lambda: store(texts, digests, name, now, self.dialect))

    @transaction(write=True)
    def commit(self, stored: Stored, record: Record) -> Steps[None]:
        """Record a compaction, its references, its summary and the session's new version: transaction 2.

        Idempotent by ref: of a compaction that is stored already, only what tells of the session's list is written.

        Raises:
            ConflictError: the session was compacted since its originals were stored, or retention has removed a
                compaction of this ref, or it is another session's.
            ArchiveError: the originals are gone, or the database fails.
        """
        session, ref, now = stored.session, record.ref, self.now()
        versions = yield "UPDATE sessions SET version = version WHERE id = ? RETURNING version", (session,)
        if not versions:
            raise SessionError(f"session {session!r} was forgotten while it was compacted; nothing was changed")
        [(version,)] = versions
        known = yield from _committed(ref, session)
        if known <= stored.version and record.exclusive and (yield from _compacted_since(stored)):
            raise ConflictError(
                f"session {session!r} was compacted by another process since its originals were stored (version"
                f" {version}, not {stored.version}); nothing was changed: take its latest messages and compact again"
            )
        if known:
            if known <= stored.version and record.strategy != "ingest":  # else its own commit wrote them
                yield from _replace_marks(session, record)
            return
        insert = (
            "INSERT INTO compaction_events (id, session_id, strategy, original_tokens, compacted_tokens,"
            " messages_removed, summary_content, model_used, duration_ms, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        tokens, removed = (record.tokens_before, record.tokens_after), len(stored.digests) - len(record.preserved)
        summary = (clean(record.summary), record.summarizer)
        yield insert, (ref, session, record.strategy, *tokens, removed, *summary, record.duration_ms, now)
        preserved = json.dumps((yield from _assign(stored, record)))
        yield "UPDATE compaction_events SET preserved_message_ids = ? WHERE id = ?", (preserved, ref)
        if record.strategy != "ingest" or record.view is not None:  # an output alone leaves the session's list as it is
            yield from _replace_marks(session, record)
        yield from _append(stored, record, version + 1)
        yield "UPDATE sessions SET version = ? WHERE id = ?", (version + 1, session)

    @transaction(write=True)
    def end_view(self, session: str) -> Steps[None]:
        """Forget that a session's latest result stands in for the list that it was made of."""
        yield "DELETE FROM views WHERE session_id = ?", (session,)

    @transaction(write=True)
    def pin(self, session: str, kind: str, value: str) -> Steps[None]:
        """Add a pin to a session: a ``message`` by its digest, or all messages that contain a ``text``.

        Raises:
            ValueError: the session's name is empty, blank or not printable.
        """
        now, [text] = self.now(), encode([value])[0]
        yield from _touch_session(check_name(session), now)
        yield "INSERT INTO pins VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", (session, kind, text, now)

    @transaction(write=True)
    def describe(self, ref: str, file: str, model: str) -> Steps[None]:
        """Note the file and the model of the session of a compaction, for ``overview``."""
        insert = (
            "INSERT INTO origins (session_id, file, model) SELECT session_id, CAST(? AS TEXT), CAST(? AS TEXT)"
            " FROM compaction_events WHERE id = ?"
            " ON CONFLICT (session_id) DO UPDATE SET file = excluded.file, model = excluded.model"
        )
        yield insert, (clean(file), clean(model), ref)

    @transaction(write=True)
    def unpin(self, session: str, kind: str, value: str) -> Steps[None]:
        """Remove a pin if it exists."""
        values = (session, kind, *encode([value])[0])
        yield "DELETE FROM pins WHERE session_id = ? AND kind = ? AND value = ?", values


def store(texts: Sequence[str], digests: Sequence[str], session: str, now: str, dialect: Dialect) -> Steps[Stored]:
    """Store each distinct message once, and the order of the list."""
    version = yield from _touch_session(session, now)
    bodies = dict(zip(digests, texts, strict=True))
    newest = yield from _newest(dialect)
    ids: dict[str, int | None] = (yield from _ids(bodies, dialect)) if newest or not dialect.newest else {}
    new = {digest: text for digest, text in bodies.items() if digest not in ids} if ids else bodies
    order: Sequence[int | None] = (yield from _insert(new, newest, dialect)) if new else ()
    if len(order) < len(digests):
        ids |= zip(new, order, strict=True)
        order = [ids.get(digest) for digest in digests]
    [(first,)] = yield dialect.next_id, ()
    # If another transaction removed a message since its id was read, the insert fails and the operation runs again.
    query, values = _in_order(order, "?, ?, ", dialect)
    insert = f"INSERT INTO message_archive (session_id, archived_at, original_message) {query}"
    yield insert, (session, now, *values)
    [(last,)] = yield dialect.last_id, ()
    return Stored(session, version, tuple(digests), first, last)


def _insert(new: Mapping[str, str], newest: int, dialect: Dialect) -> Steps[Sequence[int | None]]:
    """Store new messages behind the newest one and queue them for indexing; return their ids in this order."""
    texts = list(new.values())
    packs = dialect.compresses and sum(map(len, texts)) <= MAX_COMPRESSED_NOW
    bodies = [text if len(text) < MIN_CHARS else compress(text) for text in texts] if packs else texts
    rows: Iterable[Row] = zip(new, map(len, texts), bodies, strict=True)
    if dialect.name == "postgres":
        rows = sorted(rows)  # the same order in all transactions prevents deadlocks
    # Most of the table is new: to sort its digests takes half the time of placing one after the other.
    rebuilds = len(new) >= max(newest, MIN_REBUILT) and dialect.has_index and (yield dialect.has_index, ())
    if rebuilds:
        yield dialect.drop_index, ()
    insert = "INSERT INTO messages (digest, size, body) VALUES (?, ?, ?)"
    yield insert if rebuilds else f"{insert} ON CONFLICT (digest) DO NOTHING", rows
    if rebuilds:
        yield dialect.create_index, ()
    ids = yield from _new_ids(new, newest, dialect)
    query, values = _in_order(sorted(filter(None, ids)), "", dialect)
    yield f"INSERT INTO unindexed {query} ON CONFLICT DO NOTHING", values
    return ids


def _in_order(ids: Sequence[int | None], columns: str, dialect: Dialect) -> tuple[str, Row]:
    """Return a query for these columns and each id, in order, with the values of the ids."""
    first = ids[0] if ids else None
    if dialect.newest and first is not None and list(ids) == list(range(first, first + len(ids))):
        # Rows of the table: a list as JSON takes twice the time.
        return f"SELECT {columns} id FROM messages WHERE id BETWEEN ? AND ? ORDER BY id", (first, ids[-1])  # noqa: S608
    query = f"SELECT {columns} CAST(part.value AS BIGINT) FROM {dialect.parts} ORDER BY part.key"  # noqa: S608
    return query, (json.dumps(list(ids)),)


def _newest(dialect: Dialect) -> Steps[int]:
    """Return the id of the newest message; 0 where other transactions write at the same time."""
    return (yield dialect.newest, ())[0][0] if dialect.newest else 0


def _new_ids(new: Mapping[str, str], before: int, dialect: Dialect) -> Steps[Sequence[int | None]]:
    """Return the ids of messages that were just inserted in this order, behind the newest one ``before``.

    Without other writers the ids follow each other: to look each one up would take a fifth of the time to store.
    """
    after = yield from _newest(dialect)
    if after == before + len(new):  # else other transactions write, or the newest messages were removed before
        return range(before + 1, after + 1)
    ids = yield from _ids(new, dialect)
    return [ids.get(digest) for digest in new]


def _ids(digests: Iterable[str], dialect: Dialect) -> Steps[dict[str, int | None]]:
    """Return the ids of the messages that are stored already: most of a list was, in earlier compactions."""
    query = f"SELECT digest, m.id FROM {dialect.parts} CROSS JOIN messages m WHERE digest = part.value"  # noqa: S608
    return dict((yield query, (json.dumps(list(digests)),)))


def _touch_session(session: str, now: str) -> Steps[int]:
    """Return the session's version, and create a new session. PostgreSQL locks its row until the transaction ends."""
    insert = (
        "INSERT INTO sessions (id, created_at) VALUES (?, ?)"
        " ON CONFLICT (id) DO UPDATE SET version = sessions.version RETURNING version"
    )
    [(version,)] = yield insert, (session, now)
    return int(version)


def _assign(stored: Stored, record: Record) -> Steps[list[int]]:
    """Assign the stored originals to their event; return the ids of the unchanged ones."""
    # `|| ''` prevents the use of the session's index, which would read all its originals.
    update = (
        "UPDATE message_archive SET compaction_event_id = ?"
        " WHERE id BETWEEN ? AND ? AND session_id || '' = ? AND compaction_event_id IS NULL"
    )
    yield update, (record.ref, stored.first, stored.last, stored.session)
    ids = yield "SELECT id FROM message_archive WHERE compaction_event_id = ? ORDER BY id", (record.ref,)
    if len(ids) != len(stored.digests):
        gone = len(stored.digests) - len(ids)
        raise ArchiveError(f"{gone} originals of {record.ref} are not stored any more; compact again")
    return [ids[position][0] for position in record.preserved]


def _committed(ref: str, session: str) -> Steps[int]:
    """Return the version that a stored compaction of the session made; 0 where there is none of this ref.

    Of another command's, whose session has its own list: more than any version.

    Raises:
        ConflictError: the ref cannot be this session's any more.
    """
    query = (
        "SELECT c.session_id, c.version, e.id FROM commits c LEFT JOIN compaction_events e ON e.id = c.event_id"
        " WHERE c.event_id = ?"
    )
    for owner, version, event in (yield query, (ref,)):
        if event is None or not takes_ref(session, owner):
            whose = "retention removed it" if event is None else "it is another session's"
            raise ConflictError(f"{ref!r} cannot name a compaction of {session!r} ({whose}): compact again")
        return int(version) if owner == session else MANY
    return 0


def _compacted_since(stored: Stored) -> Steps[bool]:
    """Return whether the session was compacted since; a truncated output changes no list that another one holds."""
    query = (
        "SELECT 1 FROM commits c LEFT JOIN compaction_events e ON e.id = c.event_id"
        " WHERE c.session_id = ? AND c.version > ? AND coalesce(e.strategy, '') <> 'ingest' LIMIT 1"
    )
    return bool((yield query, (stored.session, stored.version)))


def _replace_marks(session: str, record: Record) -> Steps[None]:
    """Replace the summaries, the marks and the view of the session by those of its new list."""
    yield "DELETE FROM summaries WHERE session_id = ?", (session,)
    insert = (
        "INSERT INTO summaries (session_id, event_id) SELECT CAST(? AS TEXT), id FROM compaction_events WHERE id = ?"
    )
    yield insert, [(session, live) for live in dict.fromkeys(record.live)]
    yield "DELETE FROM marks WHERE session_id = ?", (session,)
    insert = "INSERT INTO marks (session_id, kind, digest) VALUES (?, 'filler', ?)"
    yield insert, [(session, mark) for mark in dict.fromkeys(record.marks)]
    yield "DELETE FROM views WHERE session_id = ?", (session,)
    if record.view is not None:
        yield "INSERT INTO views (session_id, event_id, view) VALUES (?, ?, ?)", (session, record.ref, record.view)


def _append(stored: Stored, record: Record, version: int) -> Steps[None]:
    """Append the event to the hash chain."""
    before = yield "SELECT link FROM commits WHERE session_id = ? AND version = ?", (stored.session, version - 1)
    insert = "INSERT INTO commits (session_id, version, event_id, plan, content, link) VALUES (?, ?, ?, ?, '', '')"
    yield insert, (stored.session, version, record.ref, record.plan)
    [event] = yield f"{EVENT} WHERE e.id = ?", (record.ref,)
    content = digest_event(event, list(stored.digests))
    chained = link(before[0][0] if before else "", content)
    yield "UPDATE commits SET content = ?, link = ? WHERE event_id = ?", (content, chained, record.ref)
