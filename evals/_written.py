"""Chats that were written down one by one, and those of further generators, for ``eval-chats`` and ``eval-summaries``.

``written/`` has a file a set of chats: a JSON list with a chat a line, of the kinds of ``_chats.py``. ``words`` are
pieces of the user's own text, ``old`` those of a decision that was replaced. Each run of four chats has each kind once.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from _chats import Chat, Fact

FOLDER = Path(__file__).resolve().parent / "written"
GROUPS = {
    "English": ("english-1", "english-2", "english-3"),
    "other languages": ("languages-1", "languages-2"),
    "generated anew": ("generated",),
    "new, English": ("english-4",),
    "new, other languages": ("languages-3",),
    "new, generated": ("generated-2",),
}
"""The files of each group; the new ones were written after the weights and the ranking were done."""
JOINED = 8  # chats in a row
NAMES = tuple(name for names in GROUPS.values() for name in names)


def chats(name: str) -> list[Chat]:
    """The chats of a file, in its order."""
    found = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return [Chat(one["kind"], one["messages"], [_fact(fact) for fact in one["facts"]]) for one in found]


def in_a_row(made: list[Chat]) -> list[Chat]:
    """Long chats, each of eight short ones; the last request of all but the last of them is left out."""
    out = []
    for start in range(0, len(made) - JOINED + 1, JOINED):
        some = made[start : start + JOINED]
        messages = [message for one in some[:-1] for message in one.messages[:-1]]
        facts = [fact for one in some for fact in one.facts]
        out.append(Chat("in a row", [*messages, *some[-1].messages], facts))
    return out


def _fact(found: dict[str, Any]) -> Fact:
    words, old = (tuple(word.lower() for word in found.get(key, ())) for key in ("words", "old"))
    return Fact(words, float(found["weight"]), old)
