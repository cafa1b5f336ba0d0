"""Makes what a file holds sendable: open calls get a result, results without their call become text.

A session ends anywhere: in the middle of a call, behind a compaction that cut one off, at a crash. Nothing is invented
but the notice that there is no result, and nothing that was said is lost. A list that needs nothing comes back as it
came; changed messages are new ones.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _close_anthropic, _close_openai
from ._entries import Entry, Notes

if TYPE_CHECKING:
    from .._messages import Provider, Repaired

_REPAIRS = {
    "anthropic": _close_anthropic.repaired,
    "openai_chat": _close_openai.chat,
    "openai_responses": _close_openai.responses,
}


@dataclass(frozen=True, slots=True)
class Closed:
    """A sendable list.

    Attributes:
        messages: the list; the given one itself if it was sendable.
        repaired: what was changed.
        where: the first n of the given messages have become the first ``where[n]`` of these.
    """

    messages: list[dict[str, Any]]
    repaired: list[Repaired]
    where: range | list[int]


def close(messages: list[dict[str, Any]], provider: Provider) -> Closed:
    """Repairs a list for its provider; no file has bedrock's or gemini's shape, these stay as they are."""
    notes = Notes()
    entries = [Entry(i, message) for i, message in enumerate(messages)]
    if provider in _REPAIRS:
        entries = _REPAIRS[provider](entries, notes)
    if not notes.notes:
        return Closed(messages, [], range(len(messages) + 1))
    origins = [entry.origin for entry in entries]
    where = [bisect_left(origins, n) for n in range(len(messages) + 1)]
    return Closed([entry.message for entry in entries], notes.resolve(entries), where)
