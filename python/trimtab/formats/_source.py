"""Open files, and copy streams."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from ..errors import MessageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

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
    from shutil import copyfileobj  # noqa: PLC0415 - with tempfile 12 ms, for streams alone
    from tempfile import SpooledTemporaryFile  # noqa: PLC0415

    copy = SpooledTemporaryFile(max_size=HELD)  # noqa: SIM115 - the caller closes it
    copy.write(head)
    copyfileobj(rest, copy, 1 << 20)
    copy.seek(0)
    return cast("BinaryIO", copy)
