"""Long chats in which one constraint is said beside other things, for ``eval-summaries``.

The chat is made of what users and assistants say in sessions, tools aside; the constraints are ours.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import _recall
import _said
from _goals import Share
from _rounds import MODEL, PARTS, rounds

import trimtab

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SIZE = 20_000  # tokens of a chat
LONGEST = 3_000  # characters of one message
PLACES = (("top", "Remember for all that comes: "), ("middle", "Remember for all that comes: "), ("bare", ""))
CONSTRAINTS = (
    "Reports for the steering group may not have more than four pages.",
    "Never mention the merger to anybody at the Lyon site.",
    "All dates have to be written as 2031-04-07.",
    "My manager must not be in copy of these mails.",
    "Only use suppliers that are in Portugal or Spain.",
    "Do not schedule anything between noon and two.",
    "Prices are always given without tax.",
    "Call the product Heron, its old name must not appear.",
    "Every translation has to be read by Ingrid before it goes out.",
    "Don't use the red palette in any chart.",
    "The archive server may only be restarted on Sundays.",
    "Always answer me in short paragraphs without tables.",
    "Avoid libraries with a copyleft licence.",
    "Nobody outside of the team may see the draft budget.",
    "Make sure that no photo shows the faces of children.",
)


def talk(sessions: Iterable[list[Any]]) -> list[list[dict[str, str]]]:
    """Chats of up to 20,000 tokens, of what is said in sessions; roles alternate."""
    out: list[list[dict[str, str]]] = [[]]
    cost = 0
    for role, text in _spoken(sessions):
        chat = out[-1]
        if not chat and role != "user":
            continue
        if chat and chat[-1]["role"] == role:
            chat[-1]["content"] = f"{chat[-1]['content']}\n{text}"[:LONGEST]
            continue
        if cost >= SIZE:
            out.append([])
            cost = 0
            if role != "user":
                continue
        out[-1].append({"role": role, "content": text})
        cost += trimtab.count(text, model=MODEL) + 8
    return [chat for chat in out[:-1] if chat] or [chat for chat in out if chat]


def _spoken(sessions: Iterable[list[Any]]) -> Iterator[tuple[str, str]]:
    for messages in sessions:
        for message in messages:
            if message.get("role") == "user":
                text = _said.said(message)
            elif message.get("role") == "assistant":
                content = message.get("content")
                blocks = content if isinstance(content, list) else [{"text": content}]
                text = "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str)).strip()
            else:
                text = ""
            if text and not _recall.is_result(message):
                yield message["role"], text[:LONGEST]


def planted(chat: list[dict[str, str]], constraint: str, place: str, lead: str) -> list[dict[str, str]]:
    """A chat with a constraint behind the words of a user's message."""
    at = 0 if place == "top" else len(chat) // 2 // 2 * 2
    said = {"role": "user", "content": f"{chat[at]['content']}\n\n{lead}{constraint}"}
    return [*chat[:at], said, *chat[at + 1 :]]


def kept(chats: list[list[dict[str, str]]], share: float, place: str, lead: str, number: int) -> Share:
    """How many constraints stand in the list after five rounds, each said in a chat of its own."""
    out = Share()
    for constraint, chat in zip(CONSTRAINTS[:number], cycle(chats), strict=False):
        held = rounds(planted(chat, constraint, place, lead), "openai_chat", share, PARTS)[-1].held
        out.add(_said.flat(constraint) in _said.listed(held))
    return out
