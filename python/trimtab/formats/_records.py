"""Read JSON values from a file, and skip everything else."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from .. import _core
from ..messages.types import Skipped
from ._record import FileRecord, parse_line
from ._source import HELD

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import BinaryIO

LONGEST = 64 << 20
"""Maximum bytes of a value; only the first value of a file may be longer, because it may be the whole file."""

CHUNK = 1 << 20
"""Bytes of a file that the core takes at once, and of messages that it writes; more for a longer line."""

_WINDOW = 1 << 12
"""Bytes to recover a value from at first: enough for most values, doubled for longer ones."""


@dataclass(slots=True, eq=False)
class Records:
    """The JSON values of a file in order, with lists split into their entries; for one iteration, or one ``feed``.

    One value per line is the fast path. A line that does not parse may hold several values, or begin a value of several
    lines; both are read. A list, or a session in one object, that is cut off or broken keeps its intact entries.
    Everything else is skipped to the end of its line and recorded, so that one bad line does not lose the session.

    Attributes:
        file: a seekable file.
        skipped: unreadable places.
        found: number of values; a list counts once.
        lines: number of lines with content, or of entries of lists; a value of several lines counts once.
    """

    file: BinaryIO
    skipped: list[Skipped] = field(default_factory=list)
    found: int = 0
    lines: int = 0
    _counted: int = 0
    _is_unclosed: bool = False
    _head: list[FileRecord] = field(default_factory=list)
    _rest: Iterator[FileRecord] | None = None

    def __iter__(self) -> Iterator[FileRecord]:
        """Iterate over the values with their positions, also those that were looked at."""
        return chain(self._head, self._rest or self._records())

    def look(self) -> Iterator[FileRecord]:
        """Yield values that remain for the iteration."""
        self._rest = self._rest or self._records()
        for record in self._rest:
            self._head.append(record)
            yield record

    def _records(self) -> Iterator[FileRecord]:
        file = self.file
        back = file if file.seek(0, 2) > HELD else None
        at, line = self._start(), 1
        while True:
            file.seek(at)  # whoever takes the records may have read elsewhere
            raw = file.readline(LONGEST if self.found else -1)  # the first value may be the whole file
            if not raw:
                return
            if not raw.isspace():
                try:
                    value = parse_line(raw)
                except (ValueError, RecursionError):
                    at, line = yield from self._recovered(at, line)
                    continue
                if isinstance(value, list):
                    yield from self._entries(FileRecord(line, at, value, None))
                else:  # as `_entries` does: a line of nearly every file
                    self.found += 1
                    self.lines += line > self._counted
                    self._counted = line
                    yield FileRecord(line, at, value, back)
            at, line = at + len(raw), line + 1

    def feed(self, lines: _core.SessionLines) -> list[tuple[int, bytes]]:
        """Pass the file's lines to the core; return the file's bytes with their positions if these stay in memory.

        The core takes objects that are alone on a line. Other values are read here.
        """
        self.skipped, self.found, self.lines, self._counted, self._is_unclosed = [], 0, 0, 0, False
        self._head.clear()
        whole = self.file.seek(0, 2)
        is_held = whole <= HELD
        at, line, size = self._start(), 1, whole + 1 if is_held else CHUNK
        held = []
        while raw := self.bytes_at(at, size):
            start = at
            if is_held:
                held.append((at, raw))
            at, line = self._take(lines, raw, at, line, is_end=len(raw) < size)
            if at > start:
                size = max(size, CHUNK) if is_held else CHUNK
            elif self.found and size >= LONGEST:
                at, line = self._give(lines, at, line)
            else:  # a line that is longer than what was read
                size *= 2
        return held

    def _take(self, lines: _core.SessionLines, raw: bytes, at: int, line: int, *, is_end: bool) -> tuple[int, int]:
        """Pass the lines of some bytes to the core; return the next position and its line's number."""
        start = at
        while at < start + len(raw):
            size, passed, found, is_cut = lines.take(raw, at - start, line=line, offset=at, is_end=is_end)
            at, line = at + size, line + passed
            if found:
                self.found, self.lines, self._counted = self.found + found, self.lines + found, line - 1
            if is_cut:
                break
            if at < start + len(raw):
                at, line = self._give(lines, at, line)
        return at, line

    def _give(self, lines: _core.SessionLines, at: int, line: int) -> tuple[int, int]:
        """Read the values of a line, and pass them to the core; return the next position and its line's number."""
        values = self._values(at, line)
        while True:
            try:
                record = next(values)
            except StopIteration as end:
                at, line = end.value
                return at, line
            try:
                lines.take_value(json.dumps(record.value), line=record.number, offset=record.offset)
            except (ValueError, RecursionError):
                self.skipped.append(Skipped(record.number, record.offset, "nested too deeply"))

    def _values(self, at: int, line: int) -> Generator[FileRecord, None, tuple[int, int]]:
        """Yield the values of a line and of those that it continues in; return the next position and line number."""
        raw = _line(self.file, at, LONGEST if self.found else -1)
        try:
            value = parse_line(raw)
        except (ValueError, RecursionError):
            return (yield from self._recovered(at, line))
        yield from self._entries(FileRecord(line, at, value, None))
        return at + len(raw), line + 1

    def bytes_at(self, at: int, size: int) -> bytes:
        """Return the bytes from a position on, fewer at the end of the file."""
        self.file.seek(at)
        raw = self.file.read(size)
        while len(raw) < size and (more := self.file.read(size - len(raw))):
            raw += more
        return raw

    def _entries(self, record: FileRecord) -> Iterator[FileRecord]:
        """Yield a value, or the entries of a list; count it."""
        self.found += 1
        self._count(record.number)
        if isinstance(record.value, list):
            self.lines += len(record.value) - 1
            yield from (FileRecord(record.number, record.offset, entry, None) for entry in record.value)
        else:
            yield record

    def _recovered(self, at: int, line: int) -> Generator[FileRecord, None, tuple[int, int]]:
        """Yield values from `at` until one ends with its line or is unreadable; return the next line and its number."""
        start = at  # of the line
        while True:
            raw, found = self._recover(at)
            if found is None:
                self.skipped.append(Skipped(line, start, f"longer than {LONGEST >> 20} MiB"))
                self._count(line)
                return _line_end(self.file, at), line + 1
            text, end, defects, self._is_unclosed = found
            try:
                record = FileRecord(line, start, parse_line(text), None) if text else None
            except (ValueError, RecursionError):  # Python has less stack left than the core allows for
                record, defects = None, [(0, "nested too deeply", False)]
            if record is None:
                self._count(line)
            elif isinstance(record.value, list):
                self.lines += sum(not is_read for _, _, is_read in defects)
            last = 0
            for place, reason, is_read in (*defects, (end, "", True)):
                if newlines := raw.count(b"\n", last, place):
                    line, start = line + newlines, at + raw.rindex(b"\n", last, place) + 1
                last = place
                if reason:
                    where = f" (byte {at + place})" if record else ""
                    self.skipped.append(Skipped(line, start, reason + where, is_read))
            if record is not None:
                yield from self._entries(record)
            at += end
            if record is None and raw[end - 1 : end] == b"\n":
                return at, line
            if raw[end : end + 1] in (b"", b"\n"):
                return at + 1, line + 1

    def _recover(self, at: int) -> tuple[bytes, tuple[bytes, int, list[tuple[int, str, bool]], bool] | None]:
        """Return the bytes read from `at` on, and what is recovered from them; None if the value is too long."""
        size = _WINDOW
        while True:
            self.file.seek(at)
            raw = self.file.read(size)
            found = _core.recover(raw, is_end=len(raw) < size, is_unclosed=self._is_unclosed)
            if found or (size >= LONGEST and at > self._start()):
                return raw, found
            size *= 2

    def _start(self) -> int:
        """Return the position after a byte order mark."""
        return len(BOM_UTF8) if _line(self.file, 0, len(BOM_UTF8)) == BOM_UTF8 else 0

    def _count(self, line: int) -> None:
        """Count a line with content once."""
        self.lines += line > self._counted
        self._counted = max(line, self._counted)


def _line(file: BinaryIO, at: int, size: int = -1) -> bytes:
    """Return the line from `at` on with its line end, up to `size` bytes."""
    file.seek(at)
    return file.readline(size)


def _line_end(file: BinaryIO, at: int) -> int:
    """Return the position after the line that contains `at`."""
    while piece := _line(file, at, 1 << 20):
        at += len(piece)
        if piece.endswith(b"\n"):
            break
    return at
