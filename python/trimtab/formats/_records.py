"""Read JSON values from a file, and skip everything else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import MessageError
from ..messages.types import Skipped
from ._parts import Parts
from ._source import HELD, LONGEST, CutError, Source, container, parse_line, reason

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator


@dataclass(slots=True, eq=False)
class Record:
    """One JSON value of a file, or one entry of a list that it is.

    Attributes:
        line: line number of its start, from 1.
        offset: byte offset of that line.
        held: the parsed value, if it is in memory.
        source: the file to read it from again, if it is alone on its line; None if it stays in memory.
    """

    line: int
    offset: int
    held: Any
    source: Source | None = None

    @property
    def value(self) -> Any:
        """The parsed value."""
        if self.source is not None and self.held is None:
            self.held = again(self.source, self.offset)
        return self.held

    def release(self) -> None:
        """Free the value if it can be read again."""
        if self.source is not None:
            self.held = None


def again(source: Source, offset: int) -> Any:
    """Read a line's value again.

    Raises:
        MessageError: the file changed.
    """
    try:
        return parse_line(source.line(offset))
    except (ValueError, RecursionError) as error:
        raise MessageError("changed while it was read", hint="read it while no other program writes to it") from error


@dataclass(slots=True, eq=False)
class Records:
    """The JSON values of a file in order, with lists split into their entries; for one iteration.

    One value per line is the fast path. A line that does not parse may hold several values, or begin a value of several
    lines; both are read. A list, or a session in one object, that is cut off or broken keeps its intact entries.
    Everything else is skipped to the end of its line and recorded, so that one bad line does not lose the session.

    Attributes:
        source: the file.
        skipped: unreadable places.
        found: number of values; a list counts once.
        lines: number of lines with content, or of entries of lists; a value of several lines counts once.
    """

    source: Source
    skipped: list[Skipped] = field(default_factory=list)
    found: int = 0
    lines: int = 0
    _counted: int = 0

    def __iter__(self) -> Iterator[Record]:
        """Yield the values with their positions."""
        for record in self._values():
            self.found += 1
            self._count(record.line)
            if isinstance(record.held, list):
                self.lines += len(record.held) - 1
                yield from (Record(record.line, record.offset, entry) for entry in record.held)
            else:
                yield record

    def _values(self) -> Iterator[Record]:
        """Yield the values, with lists unsplit."""
        source, at, line = self.source, self.source.start, 1
        back = source if source.end > HELD else None
        # The first value may be the whole file, so its length is not limited.
        while raw := source.line(at, LONGEST if self.found else -1):
            end = at + len(raw)
            if len(raw) == LONGEST and not raw.endswith(b"\n"):
                self._skip(line, at, f"longer than {LONGEST >> 20} MiB")
                end = source.line_end(end)
            elif raw.strip():
                try:
                    value = parse_line(raw)
                except (ValueError, RecursionError):
                    at, line = yield from self._slow_values(at, line)
                    continue
                yield Record(line, at, value, None if isinstance(value, list) else back)
            at, line = end, line + 1

    def _slow_values(self, at: int, line: int) -> Generator[Record, None, tuple[int, int]]:
        """Yield values from `at` until one ends with its line or is unreadable; return the next line and its number."""
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
        """Record a value's broken entries by the lines in which they begin."""
        at = start
        for place, what in bad:
            newlines, last = self.source.lines(at, place)
            line, start, at = line + newlines, last or start, place
            self.skipped.append(Skipped(line, start, f"{what} (byte {place})"))

    def _skip(self, line: int, start: int, what: str) -> None:
        self.skipped.append(Skipped(line, start, what))
        self._count(line)

    def _count(self, line: int) -> None:
        """Count a line with content once."""
        self.lines += line > self._counted
        self._counted = max(line, self._counted)


def _resume(source: Source, at: int, error: Exception) -> int:
    """Return the position to continue from after an unreadable value.

    That is the next line, except for a message of several indented lines that the file's end cuts off.
    """
    is_object = source.read(at, 64).lstrip().startswith(b"{")
    if isinstance(error, CutError) and is_object and source.find(b"\n{", at) == source.end:
        return source.end
    return source.line_end(at)
