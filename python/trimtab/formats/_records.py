"""JSON values out of a file's bytes, whatever surrounds them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .._messages import Skipped

BOM = b"\xef\xbb\xbf"

# Enough for most records that span lines; a longer one doubles it, so a whole pretty-printed file is decoded twice at
# most, and a line that is merely broken never costs more than this.
_WINDOW = 1 << 12

_decoder = json.JSONDecoder()


class _CutError(ValueError):
    """The file ends within a value."""

    def __str__(self) -> str:
        return "cut off by the end of the file"


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON value of a file.

    Attributes:
        line: line number of its start, from 1.
        offset: byte offset of that line.
        value: what json.loads makes of it.
    """

    line: int
    offset: int
    value: Any


def parse(raw: bytes) -> tuple[list[Record], list[Skipped]]:
    """Every JSON value of a file in order, and every line that gave none.

    A line a value is the fast way. A line that does not parse may hold several values, or the start of one that spans
    lines: both are read. What is left is skipped up to the end of its line and named, because one bad line (a crash, a
    comment, a merge) must not cost the session around it.
    """
    records: list[Record] = []
    skipped: list[Skipped] = []
    at, line = len(BOM) if raw.startswith(BOM) else 0, 1
    while at < len(raw):
        end = _line_end(raw, at)
        text = raw[at:end].strip()
        if text:
            try:
                records.append(Record(line, at, _container(json.loads(text.decode("utf-8", "surrogatepass")))))
            except (ValueError, RecursionError):
                end = _scattered(raw, at, line, records, skipped)
        line += raw.count(b"\n", at, end)
        at = end
    return records, skipped


def _scattered(raw: bytes, at: int, line: int, records: list[Record], skipped: list[Skipped]) -> int:
    """Reads values from `at` until one ends with its line or cannot be read; gives the end of that line."""
    while True:
        start = raw.rfind(b"\n", 0, at) + 1
        try:
            value, end = _value(raw, at)
        except (ValueError, RecursionError) as error:
            skipped.append(Skipped(line, start, _reason(error)))
            return _resume(raw, at, error)
        records.append(Record(line, start, value))
        line += raw.count(b"\n", at, end)
        at, end = end, _line_end(raw, end)
        if not raw[at:end].strip(b" \t\r\n,"):
            return end


def _resume(raw: bytes, at: int, error: Exception) -> int:
    """Where to read on behind a value that cannot be read.

    In the next line; but of a message that the file's end cuts in the middle, the lines are parts, not messages. They
    are told from whole ones by their indent.
    """
    end = _line_end(raw, at)
    is_object = raw[at:end].lstrip().startswith(b"{")
    is_last = raw.find(b"\n{", at) < 0
    return len(raw) if isinstance(error, _CutError) and is_object and is_last else end


def _value(raw: bytes, at: int) -> tuple[Any, int]:
    """The object or list that starts at `at`, and the byte position behind it."""
    stop = _line_end(raw, at)
    while True:
        text = raw[at:stop].decode("utf-8", "surrogatepass")
        indent = len(text) - len(text.lstrip())
        try:
            value, end = _decoder.raw_decode(text, indent)
        except json.JSONDecodeError as error:
            # Complaints about the window's very end mean that the value goes on behind it: no other token of JSON
            # than a string can be cut by a line's end, and a cut string is complained about where it is.
            if error.pos + 1 < len(text.rstrip()):
                raise
            if stop == len(raw):
                raise _CutError from error
            stop = _line_end(raw, min(len(raw), at + max(_WINDOW, 2 * (stop - at))))
            continue
        return _container(value), at + len(text[:end].encode("utf-8", "surrogatepass"))


def _container(value: Any) -> Any:
    """Refuses what no format has by itself on a line: a word in quotes, a number."""
    if not isinstance(value, (dict, list)):
        raise ValueError("a bare value, no object")  # noqa: TRY004 - it is the file that is wrong, not an argument
    return value


def _line_end(raw: bytes, at: int) -> int:
    """The position behind the line that holds `at`."""
    return raw.find(b"\n", at) + 1 or len(raw)


def _reason(error: Exception) -> str:
    """What is wrong with a line, in words that do not quote it: it may hold a secret."""
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 ({error.reason})"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg})"
    return str(error)
