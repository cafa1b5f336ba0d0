"""The log: what ran, was skipped, failed or was refused, with the compactions, and nothing of a text."""

from __future__ import annotations

import os
from operator import attrgetter
from typing import TYPE_CHECKING

from ..names import check_name, check_session
from ..values import Receipt
from .statements import MANY, Database, Row, Steps, check_count, clean, format_time, parse_time, transaction, value_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

COMPACTION = "compaction"
"""What an entry of a compaction is about."""

STRATEGIES = {"copy": "copy", "ingest": "cut output"}
"""What the other rows of ``compaction_events`` are, by strategy."""


EMPTY = (
    "DELETE FROM sessions WHERE version = 0"
    " AND NOT EXISTS (SELECT 1 FROM receipts WHERE session_id = sessions.id)"
    " AND NOT EXISTS (SELECT 1 FROM message_archive WHERE session_id = sessions.id)"
    " AND NOT EXISTS (SELECT 1 FROM compaction_events WHERE session_id = sessions.id)"
    " AND NOT EXISTS (SELECT 1 FROM pins WHERE session_id = sessions.id)"
)
"""Statement that removes the sessions of which nothing is stored."""


class Log(Database):
    """The log of an archive."""

    @transaction(write=True)
    def note(self, receipts: Sequence[Receipt]) -> Steps[None]:
        """Add entries to the log; each once by its id. The session of a new one is created.

        Raises:
            ValueError: a session's name is empty, blank or not printable.
        """
        names = [check_name(receipt.session) for receipt in receipts]
        now = self.now()
        times = [now if receipt.at is None else format_time(receipt.at) for receipt in receipts]
        sessions = "INSERT INTO sessions (id, created_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING"
        yield sessions, [*dict(zip(names, zip(names, times, strict=True), strict=True)).values()]
        insert = (
            "INSERT INTO receipts (id, session_id, what, outcome, why, created_at) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO NOTHING"
        )
        yield insert, [*map(_row, receipts, times)]

    @transaction(write=False)
    def log(self, session: str | None = None, *, limit: int | None = 20) -> Steps[list[Receipt]]:
        """Return the entries of one session or of all, and their compactions, latest first; None returns all of them.

        Raises:
            ValueError: the session's name is empty, blank or not printable, or the limit is negative.
        """
        most = MANY if limit is None else check_count("limit", limit)
        values = (check_session(session), session, most)
        of_session = " WHERE (CAST(? AS TEXT) IS NULL OR session_id = ?) ORDER BY created_at DESC, id LIMIT ?"
        query = "SELECT session_id, strategy, original_tokens, compacted_tokens, created_at, id FROM compaction_events"
        found = [_of_event(row) for row in (yield query + of_session, values)]
        query = "SELECT session_id, what, outcome, why, created_at, id FROM receipts"
        found += [
            value_of(Receipt, *row[:4], parse_time(row[4]), "", row[5]) for row in (yield query + of_session, values)
        ]
        return sorted(found, key=attrgetter("at", "id"), reverse=True)[:most]

    @transaction(write=True)
    def prune_log(self, *, older_than: timedelta, what: str = "") -> Steps[None]:
        """Remove the entries of at least this age that are about what begins with a text, and sessions without data."""
        values = (self.now(older_than), len(what), what)
        yield "DELETE FROM receipts WHERE created_at < ? AND substr(what, 1, ?) = ?", values
        yield EMPTY, ()


def _row(receipt: Receipt, at: str) -> Row:
    texts = (receipt.what, receipt.outcome, receipt.why)
    return (receipt.id or os.urandom(10).hex(), receipt.session, *map(clean, texts), at)


def _of_event(row: Row) -> Receipt:
    """Return the entry of a compaction."""
    session, strategy, before, after, at, ref = row
    if not isinstance(before, int) or not isinstance(after, int):
        raise TypeError("tokens of a compaction are no numbers")
    why = f"{before:,} -> {after:,} tokens" if strategy not in STRATEGIES else f"{before:,} tokens"
    what = STRATEGIES.get(strategy, COMPACTION)
    return value_of(Receipt, session, what, "ran", why, parse_time(at), ref, ref)
