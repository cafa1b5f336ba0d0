"""Positions of messages that a session knows: pinned, with a flag, or marked.

A mark tells a message by its place, which is the position and the digest of the list up to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ..ledger.columns import Ledger
    from ..messages.types import Message


MAX_DIGITS = 12
"""Digits of a position that is read; a longer one is damaged."""


def pinned(
    ledger: Ledger, messages: Sequence[Message], pins: Iterable[tuple[str, str]], flag: str | None, own: Collection[int]
) -> tuple[int, ...]:
    """Return the positions of the pinned messages, ascending.

    Args:
        ledger: ledger of the messages.
        messages: the transcript.
        pins: ``("message", digest)`` pins one message, ``("text", words)`` each message with these words anywhere in
            it, except trimtab's own.
        flag: message key that marks a pin, or None.
        own: positions of summaries, notices and acknowledgements.
    """
    pins = tuple(pins)
    found = {*ledger.find({value for kind, value in pins if kind == "message"}), *flagged(messages, flag)}
    if texts := [value for kind, value in pins if kind == "text"]:
        for index, message in enumerate(messages):
            if index not in own and any(_holds(message, text) for text in texts):
                found.add(index)
    return tuple(sorted(found))


def flagged(messages: Sequence[Message], flag: str | None) -> list[int]:
    """Return the positions of the messages in which the key is true."""
    return [index for index, message in enumerate(messages) if message.get(flag)] if flag else []


def _holds(value: object, text: str) -> bool:
    if isinstance(value, str):
        return text in value
    if isinstance(value, Mapping):
        return any(_holds(part, text) for part in value.values())
    return isinstance(value, list | tuple) and any(_holds(part, text) for part in value)


def marks(ledger: Ledger, positions: Iterable[int]) -> tuple[str, ...]:
    """Return the marks of messages: ``POSITION:DIGEST``, of the list that ends with the message."""
    return tuple(f"{position}:{ledger.digest_until(position + 1)}" for position in positions)


def marked(ledger: Ledger, known: Iterable[str]) -> tuple[int, ...]:
    """Return the positions of the marked messages, ascending; a mark of another list finds none."""
    found = set()
    for mark in known:
        place, _, digest = mark.partition(":")
        position = int(place) if place.isdecimal() and len(place) <= MAX_DIGITS else len(ledger)
        if position < len(ledger) and ledger.digest_until(position + 1) == digest:
            found.add(position)
    return tuple(sorted(found))
