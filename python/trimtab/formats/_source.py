"""Random access to a file's bytes."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, cast

from ..errors import MessageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

BOM = b"\xef\xbb\xbf"

HELD = 32 << 20
"""Bytes of a file up to which its parsed values stay in memory."""


@contextmanager
def opened(path: str | os.PathLike[str], buffering: int = -1) -> Iterator[BinaryIO]:
    """Open a file for reading.

    Raises:
        MessageError: the file cannot be opened or read.
    """
    try:
        file = open(os.fsdecode(path), "rb", buffering)  # noqa: PTH123, SIM115 - a str keeps a trailing slash
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise _unreadable(error, path) from error
    with file:
        try:
            yield file
        except OSError as error:
            raise _unreadable(error, path) from error


def _unreadable(error: Exception, path: str | os.PathLike[str]) -> MessageError:
    """Return the error for a file that cannot be read."""
    name = os.fsdecode(path)
    what, hint = "no such file", "check the path"
    if name.lstrip().startswith(("{", "[")):
        hint = "this looks like JSON: to read content pass bytes, text.encode()"
    elif isinstance(error, IsADirectoryError):
        what, hint = "a directory", "name one session file in it"
    elif isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
        what, hint = f"cannot be read ({error.strerror})", "check that it may be read"
    # Callers have passed a file's content as its path.
    return MessageError(what, path=name if len(name) <= 200 else f"{name[:200]}...", hint=hint)


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
    """

    file: BinaryIO
    end: int = 0
    start: int = 0

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
