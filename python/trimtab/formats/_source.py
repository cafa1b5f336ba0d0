"""A file's bytes from any place on, and the JSON value that begins there."""

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
"""Bytes of a file up to which all that was made of it stays in memory: it is read once."""

LONGEST = 64 << 20
"""Bytes that a value may have; only what a file begins with may be longer, for it may be all of it."""

# Enough for most values; a longer one doubles it, so that it is decoded twice at most, and one that is merely broken
# never costs more than this. The margin holds what can be cut at a window's end: a word, an escape.
_WINDOW, _MARGIN = 1 << 12, 16

_PART = re.compile(r"[-+.eE\d]*|\\u[\da-fA-F]*|\"")

_decoder = json.JSONDecoder()


class CutError(ValueError):
    """The file ends within a value."""

    def __str__(self) -> str:
        return "cut off by the end of the file"


def spooled(head: bytes, rest: BinaryIO) -> BinaryIO:
    """A copy of bytes that come but once, `head` before the others; from `HELD` on it is a file without a name."""
    copy = SpooledTemporaryFile(max_size=HELD)  # noqa: SIM115 - whoever asked for it closes it
    copy.write(head)
    shutil.copyfileobj(rest, copy, 1 << 20)
    copy.seek(0)
    return cast("BinaryIO", copy)


@dataclass(slots=True, eq=False)
class Source:
    """The bytes of a file that can be read from any place on.

    Attributes:
        file: the bytes; in memory where they come but once, as from a pipe.
        end: its size.
        start: where its text begins, behind a byte order mark.
        is_unclosed: it has an end that closes less than was opened: brackets lead nowhere in it.
    """

    file: BinaryIO
    end: int = 0
    start: int = 0
    is_unclosed: bool = False

    def __post_init__(self) -> None:
        """Looks at the size and the first bytes."""
        if not self.file.seekable():
            self.file = BytesIO(self.file.read())
        self.end = self.file.seek(0, 2)
        self.start = len(BOM) if self.read(0, len(BOM)) == BOM else 0

    def read(self, at: int, size: int) -> bytes:
        """The bytes from `at` on, fewer than `size` where the file ends."""
        self.file.seek(at)
        return self.file.read(size)

    def line(self, at: int, size: int = -1) -> bytes:
        """The rest of the line that holds `at`, with its end; no more than `size` bytes of it."""
        self.file.seek(at)
        return self.file.readline(size)

    def line_end(self, at: int) -> int:
        """The position behind the line that holds `at`."""
        while piece := self.line(at, 1 << 20):
            at += len(piece)
            if piece.endswith(b"\n"):
                break
        return at

    def lines(self, at: int, end: int) -> tuple[int, int]:
        """How many line ends stand there, and the position behind the last of them, 0 if there is none."""
        count = last = 0
        while at < end and (piece := self.read(at, min(1 << 20, end - at))):
            if newlines := piece.count(b"\n"):
                count, last = count + newlines, at + piece.rfind(b"\n") + 1
            at += len(piece)
        return count, last

    def skip(self, what: bytes, at: int) -> int:
        """The position of the first byte from `at` on that is none of these."""
        while piece := self.read(at, 64):
            rest = piece.lstrip(what)
            at += len(piece) - len(rest)
            if rest:
                break
        return at

    def find(self, what: bytes, at: int) -> int:
        """Where these bytes stand next, from `at` on; the end if they do not."""
        rest = b""
        while piece := self.read(at, 1 << 20):
            text = rest + piece
            if (place := text.find(what)) >= 0:
                return at - len(rest) + place
            rest, at = text[1 - len(what) :], at + len(piece)
        return at

    def value(self, at: int) -> tuple[Any, int]:
        """The JSON value that begins at `at`, white space before it, and the position behind it.

        Raises:
            CutError: the file ends before the value does.
            ValueError: there is none, or it is too long.
            RecursionError: it is nested too deeply.
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
                if is_end or end < len(text):  # a number goes on behind a window's end
                    return value, at + len(text[:end].encode("utf-8", "surrogatepass"))
            if size >= LONGEST and at > self.start:
                raise ValueError(f"longer than {LONGEST >> 20} MiB")
            size *= 2


def decoded(line: bytes) -> Any:
    """The object or list that a line is.

    Raises:
        ValueError: it is none.
        RecursionError: it is nested too deeply.
    """
    return container(json.loads(line.decode("utf-8", "surrogatepass")))


def container(value: Any) -> Any:
    """Refuses what no format has by itself on a line: a word in quotes, a number."""
    if not isinstance(value, (dict, list)):
        raise ValueError("a bare value, no object")  # noqa: TRY004 - it is the file that is wrong, not an argument
    return value


def reason(error: Exception) -> str:
    """What is wrong with a line, in words that do not quote it: it may hold a secret."""
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 ({error.reason})"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg})"
    return str(error)


def _is_cut(error: json.JSONDecodeError, text: str) -> bool:
    """Whether what is wrong is the text's end, where a string, a word, a number or an escape may be cut."""
    rest = text[error.pos :].rstrip()
    in_text = error.msg.startswith("Unterminated string") or bool(_PART.fullmatch(rest))
    return in_text or any(word.startswith(rest) for word in ("true", "false", "null"))


def _text(raw: bytes, *, is_end: bool) -> tuple[str, UnicodeDecodeError | None]:
    """The text up to what is none, and that; a character that a window's end cuts is left for the next."""
    try:
        return raw.decode("utf-8", "surrogatepass"), None
    except UnicodeDecodeError as error:
        is_cut = not is_end and len(raw) - error.start < 4
        return raw[: error.start].decode("utf-8", "surrogatepass"), None if is_cut else error
