"""Recover the intact entries of a list, or of a session in one object, that is cut off or broken."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Never

from ._source import CutError, reason

if TYPE_CHECKING:
    from ._source import Source

LISTS = ("messages", "steps", "history", "trajectory", "contents", "input")
"""Fields with the entries of a session in one object; a line of a log has none of them."""

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("?)|[][{}]', re.DOTALL)


class _LostError(Exception):
    """The position of the next entry is unknown."""


@dataclass(slots=True, eq=False)
class Parts:
    """A broken value during recovery.

    Attributes:
        source: the file.
        at: current position; at the end, the position to continue from.
        bad: position and defect of each broken entry.
        last: path of the last entry.
    """

    source: Source
    at: int
    bad: list[tuple[int, str]] = field(default_factory=list)
    last: str = "its beginning"

    def whole(self) -> Any:
        """Return the value with its intact entries; None if it has none, or is no such value.

        Time is linear in the bytes passed: after one failed scan for the end of a broken entry, no other scan is made
        in this file.
        """
        if (opening := self._peek()) not in (b"[", b"{"):
            return None
        entries: list[Any] = []
        members: dict[str, Any] = {}
        try:
            if opening == b"[":
                self._entries(entries, "")
            else:
                self._members(members)
        except _LostError:
            # Lines after a broken list may be its entries; lines after a broken object are parts of it.
            self.at = self.source.line_end(self.at) if opening == b"[" else self.source.find(b"\n{", self.at)
        if opening == b"[":
            return entries or None
        return members if any(members.get(name) for name in LISTS) else None

    def _entries(self, into: list[Any], name: str) -> None:
        """Read a list of objects."""
        self.at += 1
        count = 0
        while (ahead := self._peek()) != b"]":
            if ahead != b"{" and count == 0:
                self._fail()
            self._take(f"{name}[{count}]", into, by_brackets=True)
            count += 1
            self._next(b"]")
        self.at += 1

    def _members(self, into: dict[str, Any]) -> None:
        """Read an object; give up at a defect before its entries."""
        self.at += 1
        while (ahead := self._peek()) != b"}":
            taken: list[Any] = []
            self._take("a name", taken, by_brackets=False)
            if ahead != b'"' or self._peek() != b":":
                self._fail()
            self.at += 1
            name = taken.pop()
            if name in LISTS and self._peek() == b"[":
                into[name] = []
                self._entries(into[name], name)
            else:
                self._take(name, taken, by_brackets=any(into.get(each) for each in LISTS))
                if taken:
                    into[name] = taken[0]
            self._next(b"}")
        self.at += 1

    def _take(self, path: str, into: list[Any], *, by_brackets: bool) -> None:
        """Read the next value, or record its defect and skip it."""
        self._peek()
        try:
            value, self.at = self.source.value(self.at)
            into.append(value)
        except (ValueError, RecursionError) as error:
            why = f"{path}: {reason(error)}"
            self.bad.append((self.at, why))
            is_cut = isinstance(error, CutError)
            end = self._end_of_value() if by_brackets and not is_cut else 0
            self.at = end or (self.source.end if is_cut else self.at)
            if not end:
                raise _LostError from error
        self.last = path

    def _next(self, closing: bytes) -> None:
        """Skip a comma, or stop at the end; a missing comma between two objects is accepted."""
        ahead = self._peek()
        if ahead == b",":
            self.at += 1
        elif ahead not in (closing, b"{"):
            self._fail()

    def _peek(self) -> bytes:
        """Skip white space and return the next byte; empty at the file's end."""
        self.at = self.source.skip(b" \t\r\n", self.at)
        return self.source.read(self.at, 1)

    def _end_of_value(self) -> int:
        """Return the position after a broken value with balanced brackets and quotes; 0 if they are not balanced."""
        size = 1 << 12
        while not self.source.is_unclosed:
            raw = self.source.read(self.at, size)
            depth = 0
            for token in _TOKEN.finditer(raw):
                kind = raw[token.start() : token.start() + 1]
                if kind == b'"' and not token[1]:
                    break  # cut by the window
                depth += (kind in b"[{") - (kind in b"]}")
                if depth < 0:
                    return 0
                if depth == 0 and kind in b"]}":
                    return self.at + token.end()
            self.source.is_unclosed = len(raw) < size
            size *= 2
        return 0

    def _fail(self) -> Never:
        """Record a syntax error and give up."""
        what = "not JSON" if self._peek() else str(CutError())
        self.bad.append((self.at, f"{what} behind {self.last}"))
        raise _LostError
