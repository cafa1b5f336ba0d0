"""Random access to a file's bytes."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from typing import BinaryIO

BOM = b"\xef\xbb\xbf"

HELD = 32 << 20
"""Bytes of a file up to which its parsed values stay in memory."""


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
