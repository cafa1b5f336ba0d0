"""Messages under repair: each keeps its origin, and every change is recorded."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ...messages.shapes import as_blocks, text_block
from ...messages.types import Repaired

if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED = "[no result: the session was interrupted]"
BEGINNING = "[the beginning of this session is missing]"
ORPHAN = "[result of a call that is no longer here]"
CONTINUE = "[continue]"
INSTRUCTION = "[instruction of the application, not of the user]"
LEFT_OUT = "[a picture was left out here: the request may not hold it]"

Block: TypeAlias = dict[str, Any]


class Edit(NamedTuple):
    """The blocks that replace a block.

    Attributes:
        blocks: the block itself, others, or none.
        code: the kind of change, empty if the block stays.
        ref: the call's id, empty if there is none.
    """

    blocks: list[Block]
    code: str = ""
    ref: str = ""


@dataclass(slots=True, eq=False)
class Entry:
    """A message during a repair.

    Attributes:
        origin: position of the given message that it is, or that it follows.
        message: the message; a change replaces it, the given one is never mutated.
        given: the message as it came; None for an added one.
    """

    origin: int
    message: dict[str, Any]
    given: dict[str, Any] | None = None

    @property
    def role(self) -> str:
        """The message's role."""
        return self.message["role"]  # type: ignore[no-any-return]

    @property
    def blocks(self) -> list[Block]:
        """The content as a new list of blocks."""
        return as_blocks(self.message["content"])

    def set(self, **fields: Any) -> None:
        """Replace fields of the message."""
        self.message = {**self.message, **fields}

    def edit(self, change: Callable[[Block], Edit], changes: Repairs) -> None:
        """Replace each block as ``change`` says, and record the codes; a code without an id is recorded once."""
        edits = [change(block) for block in self.blocks]
        recorded: set[str] = set()
        for code, ref in ((edit.code, edit.ref) for edit in edits if edit.code):
            if ref or code not in recorded:
                changes.add(self, code, ref)
            if not ref:
                recorded.add(code)
        if any(edit.code for edit in edits):
            self.set(content=[block for edit in edits for block in edit.blocks])


class Repairs:
    """Changes by entry: positions are known only at the end."""

    def __init__(self) -> None:
        self.changes: list[tuple[Entry, str, str]] = []

    def add(self, entry: Entry, code: str, ref: str = "") -> None:
        """Record a change of an entry, its arrival or its removal."""
        self.changes.append((entry, code, ref))

    def added(self, origin: int, message: dict[str, Any], code: str, ref: str = "") -> Entry:
        """Return a new entry for a message, and record its arrival."""
        entry = Entry(origin, message)
        self.add(entry, code, ref)
        return entry

    def resolve(self, entries: list[Entry]) -> list[Repaired]:
        """Return the changes by position; a removed message has the position where it would stand."""
        positions = {entry: i for i, entry in enumerate(entries)}
        origins = [entry.origin for entry in entries]
        last = max(len(entries) - 1, 0)
        found = []
        for entry, code, ref in sorted(self.changes, key=lambda change: change[0].origin):
            index = positions.get(entry, min(bisect_left(origins, entry.origin), last))
            found.append(Repaired(index, code, ref))
        return sorted(found, key=lambda repaired: repaired.index)


def merge(
    entries: list[Entry], changes: Repairs, join: Callable[[list[dict[str, Any]]], dict[str, Any]]
) -> list[Entry]:
    """Merge neighbours of the user's or the assistant's role; ``join`` returns the fields of the merged message."""
    kept: list[Entry] = []
    for role, group in groupby(entries, key=lambda entry: entry.role):
        first, *others = group
        kept.append(first)
        if role not in ("user", "assistant"):
            kept += others
        elif others:
            first.set(**join([entry.message for entry in (first, *others)]))
            for entry in others:
                changes.add(entry, "merged")
    return kept


def append_moved(entries: list[Entry], moved: list[Entry]) -> None:
    """Append entries that moved back; raise their origins, because origins are searched as a sorted list."""
    for entry in moved:
        entry.origin = max(entry.origin, entries[-1].origin if entries else 0)
        entries.append(entry)


def orphan_parts(content: Any, kind: str) -> list[Any]:
    """Return the content of a result without a call as parts of an OpenAI user message."""
    return [
        text_block(ORPHAN, kind),
        *(content if isinstance(content, list) else [text_block(str(content or ""), kind)]),
    ]


def string(block: dict[str, Any], key: str) -> str:
    """Return a field's string, empty where the field is missing or no string."""
    value = block.get(key)
    return value if isinstance(value, str) else ""


_TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text")


def whole_parts(content: list[Any], kind: str = "text") -> list[Any]:
    """Return the parts that have their required fields; a part that is no dict becomes text."""
    parts = (part if isinstance(part, dict) else text_block(str(part), kind) for part in content)
    return [part for part in parts if is_whole(part)]


def is_whole(part: Block) -> bool:
    """Return whether a text has its text, and an image or document its source."""
    if part.get("type") in ("image", "document"):
        return isinstance(part.get("source"), dict)
    return part.get("type") not in _TEXTS or isinstance(part.get("text"), str)
