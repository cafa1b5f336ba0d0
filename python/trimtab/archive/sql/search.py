"""Full-text search: messages with all the words first, the newest first; then those with the rarest of them."""

from __future__ import annotations

import re
from math import log
from typing import TYPE_CHECKING

from ...errors import ArchiveError
from ..values import Hit
from .codec import WORTH_PACKING, loaded, pack, unpack
from .statements import Many, moment
from .words import says, words, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .statements import Dialect, Row, Steps

AT_ONCE = 500
"""Messages that are read, and indexed, together."""

DEEP = 2_000
"""Newest messages with a word that are weighed where no message has all the words."""

MOST_WORDS = 12

AROUND = 240
"""Characters of a message that a hit shows."""


def index(dialect: Dialect) -> Steps[int]:
    """Indexes what was stored since the last search, and packs what was in a hurry; answers how many messages."""
    done = 0
    while True:
        rows = yield (
            "SELECT m.id, m.body FROM unindexed u JOIN messages m ON m.id = u.message_id ORDER BY m.id LIMIT ?",
            (AT_ONCE,),
        )
        if not rows:
            return done
        yield Many(dialect.index, [(key, words_of(unpack(body))) for key, body in rows])
        if dialect.packs:
            packed = [(pack(body), key) for key, body in rows if isinstance(body, str) and len(body) >= WORTH_PACKING]
            yield Many("UPDATE messages SET body = ? WHERE id = ?", packed)
        yield Many("DELETE FROM unindexed WHERE message_id = ?", [(key,) for key, _ in rows])
        done += len(rows)


def search(dialect: Dialect, query: str, session: str | None, limit: int) -> Steps[list[Hit]]:
    """The best messages for a query."""
    asked = words(query)[:MOST_WORDS]
    if not asked or limit < 1:
        return []
    found = yield from _matching(dialect, asked, session, limit)
    if len(found) < limit and len(asked) > 1:
        weights: dict[int, float] = {}
        for word in asked:
            having = yield from _matching(dialect, [word], session, DEEP)
            for key in having:
                weights[key] = weights.get(key, 0.0) + log(1 + DEEP / len(having))
        ranked = sorted(weights, key=lambda key: (weights[key], key), reverse=True)
        found = list(dict.fromkeys([*found, *ranked]))[:limit]
    hits = []
    for key in found:
        hits += yield from _hits(key, asked, session)
    return hits


def _matching(dialect: Dialect, asked: Sequence[str], session: str | None, limit: int) -> Steps[list[int]]:
    """Ids of messages that have all these words and belong to a compaction, the newest first."""
    rows = yield (
        (
            f"SELECT {dialect.message} FROM search WHERE {dialect.matching} AND EXISTS (SELECT 1 FROM message_archive a"  # noqa: S608 - words of ours
            f" WHERE a.original_message = search.{dialect.message} AND a.compaction_event_id IS NOT NULL"
            f" AND (? = '' OR a.session_id = ?)) ORDER BY {dialect.message} DESC LIMIT ?"
        ),
        (dialect.asking(asked), session or "", session or "", limit),
    )
    return [key for (key,) in rows]


def _hits(key: int, asked: Sequence[str], session: str | None) -> Steps[list[Hit]]:
    """A message's latest place in a compaction, with the part that fits the query."""
    rows = yield (
        (
            "SELECT a.id, a.compaction_event_id, a.session_id, a.archived_at, m.body FROM message_archive a"
            " JOIN messages m ON m.id = a.original_message WHERE a.original_message = ?"
            " AND a.compaction_event_id IS NOT NULL AND (? = '' OR a.session_id = ?) ORDER BY a.id DESC LIMIT 1"
        ),
        (key, session or "", session or ""),
    )
    return [_hit(row, asked) for row in rows]


def _hit(row: Row, asked: Sequence[str]) -> Hit:
    number, ref, session, archived, body = row
    message = loaded(unpack(body))
    role = message.get("role", "")
    said = " ".join(says({name: part for name, part in message.items() if name != "role"}))
    return Hit(number, ref, session, role if isinstance(role, str) else "", _around(said, asked), moment(archived))


def _around(text: str, asked: Sequence[str]) -> str:
    """The text about the first word that was asked for, on one line."""
    at = re.search("|".join(map(re.escape, asked)), text, flags=re.IGNORECASE)
    start = max(at.start() - AROUND // 3, 0) if at else 0
    part = " ".join(text[start : start + AROUND].split())
    return ("…" if start else "") + part + ("…" if start + AROUND < len(text) else "")


def fetch(number: int, session: str | None) -> Steps[str]:
    """The JSON of one original.

    Raises:
        ArchiveError: there is none of that id.
    """
    if not 0 <= number < 2**63:  # what a model makes up need not be a number that databases have
        raise ArchiveError(f"no archived message {number}")
    rows = yield (
        (
            "SELECT m.body FROM message_archive a JOIN messages m ON m.id = a.original_message"
            " WHERE a.id = ? AND (? = '' OR a.session_id = ?)"
        ),
        (number, session or "", session or ""),
    )
    if not rows:
        raise ArchiveError(f"no archived message {number}")
    return unpack(rows[0][0])
