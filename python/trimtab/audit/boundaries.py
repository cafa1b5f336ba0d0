"""The compactions of a session file: what stood in the prompt before each, what after, and what came back later."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from ..messages.calls import file_of
from .items import items
from .kept import Kept
from .standing import Texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..messages.types import Transcript
    from .items import Item

_READS = re.compile(r"(?i)(?:^|_)(?:read|view|cat|open)(?![a-z]*(?:edit|write))|readfile|viewfile")
"""Names of tools that read a file."""


@dataclass(frozen=True, slots=True)
class Again:
    """A file that was read before a compaction, and again behind it.

    Attributes:
        tool: the tool that read it.
        file: its path.
        before: number of the message that read it last before the compaction.
        message: number of the first one behind it.
    """

    tool: str
    file: str
    before: int
    message: int


@dataclass(frozen=True, slots=True)
class Boundary:
    """A compaction of a session.

    Attributes:
        number: its number, from 1.
        message: the number of the first message behind it, which mostly is its summary.
        before: positions of the messages of the prompt before it.
        after: positions of the messages of the prompt right after it.
        end: position behind the last message before the next compaction.
        sealed: whether the provider encrypted its summary, so that nobody knows what it has.
        kept: what it kept of the items that the prompt before it had.
        again: by item, the first message behind it in which the user says a lost rule or request again.
        reread: files that were read again before the next compaction.
    """

    number: int
    message: int
    before: list[int]
    after: list[int]
    end: int
    sealed: bool
    kept: Kept
    again: dict[Item, int]
    reread: list[Again]

    @property
    def is_silent(self) -> bool:
        """Whether the file has no message that the compaction made: neither a summary nor a notice."""
        return {*self.after} <= {*self.before}


def boundaries(found: Transcript) -> Iterator[Boundary]:
    """Yield the compactions of a whole session, oldest first.

    Args:
        found: read with ``whole=True``.
    """
    messages, reads = found.messages, _reads(found.messages)
    stops = [*found.compactions, len(messages)]
    made = {at for at, context in zip(found.compactions, found.contexts, strict=True) if at in context}
    earlier: list[int] = []
    for number, (at, after) in enumerate(zip(found.compactions, found.contexts, strict=True), 1):
        start = stops[number - 2] if number > 1 else 0
        before = sorted({*earlier, *range(start, at)})
        stood = Texts.of([messages[place] for place in before])
        wanted = [item for item in items(messages[:at], made) if stood.has(item)]
        kept = Kept.found(wanted, Texts.of([messages[place] for place in after]))
        sealed = any(messages[place].get("type") == "compaction" for place in after)
        end, known = stops[number], {*after, *made}
        again = _said_again(messages, [place for place in range(at, end) if place not in known], kept.lost)
        reread = [*_read_again(reads, {*before} - {*after}, range(at, end))]
        yield Boundary(number, at, before, after, end, sealed, kept, again, reread)
        earlier = after


def _said_again(messages: list[dict[str, Any]], behind: list[int], lost: Iterable[Item]) -> dict[Item, int]:
    """Return where the user says lost rules and requests again."""
    asked = [item for item in lost if item.kind in ("rules", "requests")]
    found: dict[Item, int] = {}
    for place in behind if asked else ():
        if messages[place].get("role") != "user":
            continue
        told = Texts.of([messages[place]], users=True)
        found |= {item: place for item in asked if item not in found and told.has(item)}
    return found


def _reads(messages: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    """Return message, tool and file of each call that reads a file."""
    found = []
    for at, kind, tool, text in _core.entries(messages):
        if kind == "call" and _READS.search(tool):
            with suppress(ValueError, RecursionError):
                if file := file_of(json.loads(text)):
                    found.append((at, tool, file))
    return found


def _read_again(reads: list[tuple[int, str, str]], gone: set[int], behind: range) -> Iterator[Again]:
    """Yield the files that were read in messages which left the prompt, and again behind it."""
    old = {file: at for at, _, file in reads if at in gone}
    seen: set[str] = set()
    for at, tool, file in reads:
        if at in behind and file in old and file not in seen:
            seen.add(file)
            yield Again(tool, file, old[file], at)
