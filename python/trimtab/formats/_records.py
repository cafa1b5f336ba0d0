"""JSON values out of a file, whatever surrounds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import MessageError
from ..messages.types import Skipped
from ._parts import Parts
from ._source import HELD, LONGEST, CutError, Source, container, decoded, reason

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator


@dataclass(slots=True, eq=False)
class Record:
    """One JSON value of a file, or one entry of a list that it is.

    Attributes:
        line: line number of its start, from 1.
        offset: byte offset of that line.
        held: what json.loads makes of it, where that is in memory.
        source: where it can be read again, for it stands alone on its line; None if it is held for good.
    """

    line: int
    offset: int
    held: Any
    source: Source | None = None

    @property
    def value(self) -> Any:
        """What json.loads makes of it."""
        if self.source is not None and self.held is None:
            self.held = again(self.source, self.offset)
        return self.held

    def release(self) -> None:
        """Lets go of the value if it can be read again."""
        if self.source is not None:
            self.held = None


def again(source: Source, offset: int) -> Any:
    """What stands alone on the line there, read once more.

    Raises:
        MessageError: it stands there no longer.
    """
    try:
        return decoded(source.line(offset))
    except (ValueError, RecursionError) as error:
        raise MessageError("changed while it was read", hint="read it when nobody writes to it") from error


@dataclass(slots=True, eq=False)
class Records:
    """The JSON values of a file in order, with lists as their entries; to be gone through once.

    A line a value is the fast way. A line that does not parse may hold several values, or the start of one that spans
    lines: both are read. Of a list, or a session in one object, that is cut or broken within, the whole entries are
    taken. What is left is skipped up to the end of its line and named, because one bad line (a crash, a comment, a
    merge) must not cost the session around it.

    Attributes:
        source: the file.
        skipped: what could not be read.
        found: number of values; a list is one.
        lines: lines, or entries of lists, that hold something; a value that spans lines counts once.
    """

    source: Source
    skipped: list[Skipped] = field(default_factory=list)
    found: int = 0
    lines: int = 0
    _counted: int = 0

    def __iter__(self) -> Iterator[Record]:
        """The values, each with the place where it begins."""
        for record in self._values():
            self.found += 1
            self._count(record.line)
            if isinstance(record.held, list):
                self.lines += len(record.held) - 1
                yield from (Record(record.line, record.offset, entry) for entry in record.held)
            else:
                yield record

    def _values(self) -> Iterator[Record]:
        """The values, with lists as they are."""
        source, at, line = self.source, self.source.start, 1
        back = source if source.end > HELD else None
        # What a file begins with may be all of it, and is read whatever its length.
        while raw := source.line(at, LONGEST if self.found else -1):
            end = at + len(raw)
            if len(raw) == LONGEST and not raw.endswith(b"\n"):
                self._skip(line, at, f"longer than {LONGEST >> 20} MiB")
                end = source.line_end(end)
            elif raw.strip():
                try:
                    value = decoded(raw)
                except (ValueError, RecursionError):
                    at, line = yield from self._scattered(at, line)
                    continue
                yield Record(line, at, value, None if isinstance(value, list) else back)
            at, line = end, line + 1

    def _scattered(self, at: int, line: int) -> Generator[Record, None, tuple[int, int]]:
        """Reads values from `at` until one ends with its line or cannot be read; gives the next line and its number."""
        source, start = self.source, at
        while True:
            try:
                value, end = source.value(at)
                container(value)
            except (ValueError, RecursionError) as error:
                parts = Parts(source, at)
                value = parts.whole()
                if value is None:
                    self._skip(line, start, reason(error))
                    end = _resume(source, at, error)
                    return end, line + source.lines(at, end)[0]
                end = parts.at
                self._name(parts.bad, start, line)
                self.lines += len(parts.bad) if isinstance(value, list) else 0
            yield Record(line, start, value)
            newlines, last = source.lines(at, end)
            line, start = line + newlines, last or start
            at = source.skip(b" \t\r,", end)
            if source.read(at, 1) in (b"", b"\n"):
                return at + 1, line + 1

    def _name(self, bad: list[tuple[int, str]], start: int, line: int) -> None:
        """Names the entries of a value that are not whole, by the lines in which they begin."""
        at = start
        for place, what in bad:
            newlines, last = self.source.lines(at, place)
            line, start, at = line + newlines, last or start, place
            self.skipped.append(Skipped(line, start, f"{what} (byte {place})"))

    def _skip(self, line: int, start: int, what: str) -> None:
        self.skipped.append(Skipped(line, start, what))
        self._count(line)

    def _count(self, line: int) -> None:
        """Counts a line that holds something once."""
        self.lines += line > self._counted
        self._counted = max(line, self._counted)


def _resume(source: Source, at: int, error: Exception) -> int:
    """Where to read on behind a value that cannot be read.

    In the next line; but of a message that the file's end cuts in the middle, the lines are parts, not messages. They
    are told from whole ones by their indent.
    """
    is_object = source.read(at, 64).lstrip().startswith(b"{")
    if isinstance(error, CutError) and is_object and source.find(b"\n{", at) == source.end:
        return source.end
    return source.line_end(at)
