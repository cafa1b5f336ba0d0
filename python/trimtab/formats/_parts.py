"""What is whole of a list, or of a session in one object, that cannot be read as a whole: cut, or broken within."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Never

from ._source import CutError, reason

if TYPE_CHECKING:
    from ._source import Source

LISTS = ("messages", "steps", "history", "trajectory", "contents", "input")
"""Where a session in one object has its entries; a line of a log has none of these."""

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("?)|[][{}]', re.DOTALL)


class _LostError(Exception):
    """From here on the entries cannot be told apart."""


@dataclass(slots=True, eq=False)
class Parts:
    """A value while it is gone through.

    Attributes:
        source: the file.
        at: how far it is gone through; in the end, where to read on.
        bad: what is not whole: its position, and what is wrong.
        last: what was gone through last.
    """

    source: Source
    at: int
    bad: list[tuple[int, str]] = field(default_factory=list)
    last: str = "its beginning"

    def whole(self) -> Any:
        """The value with those of its entries that are whole; None if it has none, or is no such value.

        The cost is that of what is gone through. Where nothing comes of it, a scan to the end of a broken entry is one
        that failed, and no other is made in this file.
        """
        if (opening := self._ahead()) not in (b"[", b"{"):
            return None
        entries: list[Any] = []
        members: dict[str, Any] = {}
        try:
            if opening == b"[":
                self._entries(entries, "")
            else:
                self._members(members)
        except _LostError:
            # Lines behind a broken list may be its entries; those behind an object are parts of it.
            self.at = self.source.line_end(self.at) if opening == b"[" else self.source.find(b"\n{", self.at)
        if opening == b"[":
            return entries or None
        return members if any(members.get(name) for name in LISTS) else None

    def _entries(self, into: list[Any], name: str) -> None:
        """Goes through a list of objects."""
        self.at += 1
        count = 0
        while (ahead := self._ahead()) != b"]":
            if ahead != b"{" and count == 0:
                self._lose()
            self._take(f"{name}[{count}]", into, by_brackets=True)
            count += 1
            self._next(b"]")
        self.at += 1

    def _members(self, into: dict[str, Any]) -> None:
        """Goes through an object; what is broken in front of its entries leaves nothing to go by."""
        self.at += 1
        while (ahead := self._ahead()) != b"}":
            taken: list[Any] = []
            self._take("a name", taken, by_brackets=False)
            if ahead != b'"' or self._ahead() != b":":
                self._lose()
            self.at += 1
            name = taken.pop()
            if name in LISTS and self._ahead() == b"[":
                into[name] = []
                self._entries(into[name], name)
            else:
                self._take(name, taken, by_brackets=any(into.get(each) for each in LISTS))
                if taken:
                    into[name] = taken[0]
            self._next(b"}")
        self.at += 1

    def _take(self, path: str, into: list[Any], *, by_brackets: bool) -> None:
        """Takes the next value, or names it and goes behind it."""
        self._ahead()
        try:
            value, self.at = self.source.value(self.at)
            into.append(value)
        except (ValueError, RecursionError) as error:
            why = f"{path}: {reason(error)}"
            self.bad.append((self.at, why))
            is_cut = isinstance(error, CutError)
            end = self._closed() if by_brackets and not is_cut else 0
            self.at = end or (self.source.end if is_cut else self.at)
            if not end:
                raise _LostError from error
        self.last = path

    def _next(self, closing: bytes) -> None:
        """Goes behind a comma, or to the end; a comma that is missing between two objects loses nothing."""
        ahead = self._ahead()
        if ahead == b",":
            self.at += 1
        elif ahead not in (closing, b"{"):
            self._lose()

    def _ahead(self) -> bytes:
        """Goes to what is no space, and looks at it; nothing at the file's end."""
        self.at = self.source.skip(b" \t\r\n", self.at)
        return self.source.read(self.at, 1)

    def _closed(self) -> int:
        """The position behind a broken value whose brackets and quotes are closed all the same; 0 if they are not."""
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

    def _lose(self) -> Never:
        """Gives up: what comes next is nothing that can stand here."""
        what = "not JSON" if self._ahead() else str(CutError())
        self.bad.append((self.at, f"{what} behind {self.last}"))
        raise _LostError
