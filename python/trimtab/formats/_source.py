"""Random access to a file's bytes, and to the JSON value at a position."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from typing import BinaryIO

BOM = b"\xef\xbb\xbf"

HELD = 32 << 20
"""Bytes of a file up to which its parsed values stay in memory."""

LONGEST = 64 << 20
"""Maximum bytes of a value; only the first value of a file may be longer, because it may be the whole file."""

# Bytes to decode at first: enough for most values, doubled for longer ones. The margin covers a word or an escape that
# the window's end cuts.
_WINDOW, _MARGIN = 1 << 12, 16

_PART = re.compile(r"[-+.eE\d]*|\\u[\da-fA-F]*|\"")

_decoder = json.JSONDecoder()


class CutError(ValueError):
    """The file ends within a value."""

    def __str__(self) -> str:
        return "cut off by the end of the file"


def spooled(head: bytes, rest: BinaryIO) -> BinaryIO:
    """Copy `head` and a stream into a seekable file, on disk from `HELD` bytes on."""
    copy = SpooledTemporaryFile(max_size=HELD)  # noqa: SIM115 - the caller closes it
    copy.write(head)
    shutil.copyfileobj(rest, copy, 1 << 20)
    copy.seek(0)
    return cast("BinaryIO", copy)


@dataclass(slots=True, eq=False)
class Source:
    """A seekable file.

    Attributes:
        file: the file; a copy in memory if the original cannot seek.
        end: its size.
        start: position of its text, after a byte order mark.
        is_unclosed: whether a scan for a closing bracket has reached the file's end.
    """

    file: BinaryIO
    end: int = 0
    start: int = 0
    is_unclosed: bool = False

    def __post_init__(self) -> None:
        """Find the size and the byte order mark."""
        if not self.file.seekable():
            self.file = BytesIO(self.file.read())
        self.end = self.file.seek(0, 2)
        self.start = len(BOM) if self.read(0, len(BOM)) == BOM else 0

    def read(self, at: int, size: int) -> bytes:
        """Return up to `size` bytes from `at` on."""
        self.file.seek(at)
        return self.file.read(size)

    def line(self, at: int, size: int = -1) -> bytes:
        """Return the line from `at` on with its line end, up to `size` bytes."""
        self.file.seek(at)
        return self.file.readline(size)

    def line_end(self, at: int) -> int:
        """Return the position after the line that contains `at`."""
        while piece := self.line(at, 1 << 20):
            at += len(piece)
            if piece.endswith(b"\n"):
                break
        return at

    def lines(self, at: int, end: int) -> tuple[int, int]:
        """Return the number of line ends in a range, and the position after the last one or 0."""
        count = last = 0
        while at < end and (piece := self.read(at, min(1 << 20, end - at))):
            if newlines := piece.count(b"\n"):
                count, last = count + newlines, at + piece.rfind(b"\n") + 1
            at += len(piece)
        return count, last

    def skip(self, what: bytes, at: int) -> int:
        """Return the position of the first byte from `at` on that is not in `what`."""
        while piece := self.read(at, 64):
            rest = piece.lstrip(what)
            at += len(piece) - len(rest)
            if rest:
                break
        return at

    def find(self, what: bytes, at: int) -> int:
        """Return the next position of these bytes from `at` on, or the file's end."""
        rest = b""
        while piece := self.read(at, 1 << 20):
            text = rest + piece
            if (place := text.find(what)) >= 0:
                return at - len(rest) + place
            rest, at = text[1 - len(what) :], at + len(piece)
        return at

    def value(self, at: int) -> tuple[Any, int]:
        """Return the JSON value at `at`, after white space, and the position after it.

        Raises:
            CutError: the file ends within the value.
            ValueError: the value is invalid or too long.
            RecursionError: the value is nested too deeply.
        """
        size = _WINDOW
        while True:
            raw = self.read(at, size)
            is_end = len(raw) < size
            text, flaw = _text(raw, is_end=is_end)
            indent = len(text) - len(text.lstrip())
            try:
                value, end = _decoder.raw_decode(text, indent)
            except json.JSONDecodeError as error:
                if flaw:
                    raise flaw from error
                if error.pos + _MARGIN < len(text) and not error.msg.startswith("Unterminated string"):
                    raise
                if is_end:
                    if _is_cut(error, text):
                        raise CutError from error
                    raise
            else:
                if is_end or end < len(text):  # a number may continue after the window
                    return value, at + len(text[:end].encode("utf-8", "surrogatepass"))
            if size >= LONGEST and at > self.start:
                raise ValueError(f"longer than {LONGEST >> 20} MiB")
            size *= 2


def parse_line(line: bytes) -> Any:
    """Parse a line that is an object or a list.

    Raises:
        ValueError: the line is neither.
        RecursionError: the value is nested too deeply.
    """
    return container(json.loads(line.decode("utf-8", "surrogatepass")))


def container(value: Any) -> Any:
    """Return an object or a list; refuse a bare string or number, which no format has."""
    if not isinstance(value, (dict, list)):
        raise ValueError("a bare value, no object")  # noqa: TRY004 - the file is wrong, not an argument
    return value


def reason(error: Exception) -> str:
    """Describe a line's defect without quoting the line, which may contain a secret."""
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 ({error.reason})"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg})"
    return str(error)


def _is_cut(error: json.JSONDecodeError, text: str) -> bool:
    """Return whether the error is the text's end, within a string, word, number or escape."""
    rest = text[error.pos :].rstrip()
    in_text = error.msg.startswith("Unterminated string") or bool(_PART.fullmatch(rest))
    return in_text or any(word.startswith(rest) for word in ("true", "false", "null"))


def _text(raw: bytes, *, is_end: bool) -> tuple[str, UnicodeDecodeError | None]:
    """Decode up to the first invalid byte, and return its error; ignore a character cut by the window's end."""
    try:
        return raw.decode("utf-8", "surrogatepass"), None
    except UnicodeDecodeError as error:
        is_cut = not is_end and len(raw) - error.start < 4
        return raw[: error.start].decode("utf-8", "surrogatepass"), None if is_cut else error
