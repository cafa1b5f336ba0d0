"""Messages while they are repaired: each remembers its place, each change is noted."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

from ...messages.types import Repaired

INTERRUPTED = "[no result: the session was interrupted]"
BEGINNING = "[the beginning of this session is missing]"
ORPHAN = "[result of a call that is no longer here]"
ON = "[continue]"


@dataclass(slots=True, eq=False)
class Entry:
    """A message, and which one of the given it is, or was put behind.

    Attributes:
        origin: that one's position.
        message: the message; a change makes a new one.
        is_new: whether it was changed or added.
        given: the message as it came; None for one that was added.
        marked: what becomes of blocks, by position, while a step goes through the list.
    """

    origin: int
    message: dict[str, Any]
    is_new: bool = False
    given: dict[str, Any] | None = None
    marked: dict[int, Any] = field(default_factory=dict)

    def set(self, **fields: Any) -> None:
        """Puts other values in a new message; the given one stays as it is."""
        self.message = {**self.message, **fields}
        self.is_new = True


class Notes:
    """What was changed, told by entry: positions are known at the end only."""

    def __init__(self) -> None:
        self.notes: list[tuple[Entry, str, str]] = []

    def add(self, entry: Entry, code: str, ref: str = "") -> None:
        """Notes one change of an entry, its arrival or its removal."""
        self.notes.append((entry, code, ref))

    def added(self, origin: int, message: dict[str, Any], code: str, ref: str = "") -> Entry:
        """A new entry, noted."""
        entry = Entry(origin, message, is_new=True)
        self.add(entry, code, ref)
        return entry

    def resolve(self, entries: list[Entry]) -> list[Repaired]:
        """The changes by position; a removed message has the position where it would stand."""
        positions = {id(entry): i for i, entry in enumerate(entries)}
        origins = [entry.origin for entry in entries]
        last = max(len(entries) - 1, 0)
        found = []
        for entry, code, ref in sorted(self.notes, key=lambda note: note[0].origin):
            index = positions.get(id(entry), min(bisect_left(origins, entry.origin), last))
            found.append(Repaired(index, code, ref))
        return sorted(found, key=lambda repaired: repaired.index)


def name(block: dict[str, Any], key: str) -> str:
    """An id, or empty: a file may hold anything in its place."""
    ref = block.get(key)
    return ref if isinstance(ref, str) else ""


_SAYS = ("text", "input_text", "output_text", "summary_text", "reasoning_text")


def sayable(content: list[Any], kind: str = "text") -> list[Any]:
    """The parts of a content that have what they need; what is no part becomes text, text without words goes."""
    kept = []
    for part in content:
        if not isinstance(part, dict):
            kept.append({"type": kind, "text": str(part)})
        elif (part.get("type") in _SAYS and not isinstance(part.get("text"), str)) or (
            part.get("type") in ("image", "document") and not isinstance(part.get("source"), dict)
        ):
            continue
        else:
            kept.append(part)
    return kept
