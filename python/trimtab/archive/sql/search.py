"""Full-text search: messages with all words first, newest first; then messages with the rarest words."""

from __future__ import annotations

import re
from math import log
from typing import Any

from ...errors import ArchiveError
from ..names import check_session
from ..values import Hit
from .codec import MIN_CHARS, compress, decompress, index_words, load, texts_in, words
from .statements import Database, Dialect, Row, Steps, check_count, parse_time, transaction, value_of

BATCH = 500
"""Messages that are read and indexed together."""

MAX_CANDIDATES = 2_000
"""Newest messages with a word that are ranked if too few messages have all words."""

MAX_WORDS = 12
"""Words of a query; more are ignored."""

EXCERPT = 240
"""Characters of a message in a search result."""

LATEST = (
    "SELECT a.id, a.compaction_event_id, a.session_id, a.archived_at, m.body, m.digest FROM message_archive a"
    " JOIN messages m ON m.id = a.original_message WHERE a.original_message = ?"
    " AND a.compaction_event_id IS NOT NULL AND (CAST(? AS TEXT) IS NULL OR a.session_id = ?)"
    " ORDER BY a.id DESC LIMIT 1"
)
"""Query for the latest place of a message in a compaction."""


class Search(Database):
    """Full-text search."""

    def search(self, query: str, *, session: str | None = None, limit: int = 10) -> list[Hit]:
        """Return archived messages that contain words of ``query``: messages with all words first, newest first.

        The first search after a compaction indexes the messages archived since.

        Raises:
            ValueError: the session's name is empty, blank or not printable, or the limit is negative.
        """
        most, limited_to = check_count("limit", limit) or 0, check_session(session)
        if self.transact(_unindexed, write=False):  # else it waits for no writer, and reads what nobody may write
            self.transact(lambda: index(self.dialect))
        return self.transact(lambda: search(self.dialect, query, limited_to, most), write=False)

    @transaction(write=False)
    def fetch(self, number: int, *, session: str | None = None) -> Steps[dict[str, Any]]:
        """Return one archived message in full.

        Args:
            number: the id of a ``Hit`` or an ``Original``.
            session: only find a message of this session.

        Raises:
            ArchiveError: there is no such message, or it is damaged.
            ValueError: the session's name is empty, blank or not printable.
        """
        values = (number, check_session(session), session)
        query = (
            "SELECT m.body, m.digest FROM message_archive a JOIN messages m ON m.id = a.original_message"
            " WHERE a.id = ? AND (CAST(? AS TEXT) IS NULL OR a.session_id = ?)"
        )
        # A model may invent a number outside the databases' range.
        rows = (yield query, values) if 0 <= number < 2**63 else []
        if not rows:
            raise ArchiveError(f"no archived message {number}")
        return load(*rows[0])


def _unindexed() -> Steps[list[Row]]:
    """Return a row if a message was stored since the last search."""
    return (yield "SELECT 1 FROM unindexed LIMIT 1", ())


def index(dialect: Dialect) -> Steps[None]:
    """Index and compress the messages stored since the last search."""
    query = "SELECT m.id, m.body FROM unindexed u JOIN messages m ON m.id = u.message_id ORDER BY m.id LIMIT ?"
    while rows := (yield query, (BATCH,)):
        yield dialect.index, [(key, index_words(decompress(body))) for key, body in rows]
        if dialect.compresses:
            packed = [(compress(body), key) for key, body in rows if isinstance(body, str) and len(body) >= MIN_CHARS]
            yield "UPDATE messages SET body = ? WHERE id = ?", packed
        yield "DELETE FROM unindexed WHERE message_id = ?", [(key,) for key, _ in rows]


def search(dialect: Dialect, query: str, session: str | None, limit: int) -> Steps[list[Hit]]:
    """Return the best matches of a query."""
    terms = words(query)[:MAX_WORDS]
    if not terms or limit < 1:
        return []
    found = yield from _matching(dialect, terms, session, limit)
    if len(found) < limit and len(terms) > 1:
        weights: dict[int, float] = {}
        for word in terms:
            having = yield from _matching(dialect, [word], session, MAX_CANDIDATES)
            for key in having:
                weights[key] = weights.get(key, 0.0) + log(1 + MAX_CANDIDATES / len(having))
        ranked = sorted(weights, key=lambda key: (weights[key], key), reverse=True)
        found = list(dict.fromkeys([*found, *ranked]))[:limit]
    hits = []
    for key in found:
        rows = yield LATEST, (key, session, session)
        hits += [_hit(row, terms) for row in rows]
    return hits


def _matching(dialect: Dialect, terms: list[str], session: str | None, limit: int) -> Steps[list[int]]:
    """Return the ids of messages that have all these words and belong to a compaction, newest first."""
    query = (
        f"SELECT {dialect.search_id} FROM search WHERE {dialect.matches} AND EXISTS (SELECT 1 FROM message_archive a"  # noqa: S608 - constants
        f" WHERE a.original_message = search.{dialect.search_id} AND a.compaction_event_id IS NOT NULL"
        f" AND (CAST(? AS TEXT) IS NULL OR a.session_id = ?)) ORDER BY {dialect.search_id} DESC LIMIT ?"
    )
    rows = yield query, (dialect.match_value(terms), session, session, limit)
    return [key for (key,) in rows]


def _hit(row: Row, terms: list[str]) -> Hit:
    """Return a row of ``LATEST`` as a search result."""
    number, ref, session, archived, body, digest = row
    message = load(body, digest)
    role = message.get("role", "")
    text = " ".join(texts_in({name: part for name, part in message.items() if name != "role"}))
    role, excerpt = role if isinstance(role, str) else "", _excerpt(text, terms)
    return value_of(Hit, number, ref, session, role, excerpt, parse_time(archived))


def _excerpt(text: str, terms: list[str]) -> str:
    """Return the text around the first of the words, on one line."""
    at = re.search("|".join(map(re.escape, terms)), text, flags=re.IGNORECASE)
    start = max(at.start() - EXCERPT // 3, 0) if at else 0
    part = " ".join(text[start : start + EXCERPT].split())
    return ("…" if start else "") + part + ("…" if start + EXCERPT < len(text) else "")
