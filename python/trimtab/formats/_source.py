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


MAGIC = {
    b"\x1f\x8b": "a gzip file",
    b"PK\x03\x04": "a ZIP archive",
    b"\x28\xb5\x2f\xfd": "a Zstandard file",
    b"\xfd7zXZ\0": "an xz file",
    b"BZh": "a bzip2 file",
    b"SQLite format 3\0": "a SQLite database",
    b"%PDF-": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
"""Kinds of files that are taken for sessions, by their first bytes."""

_HINTS = {
    "a SQLite database": "name a session file, or an archive with --archive",
    "UTF-16 text": "convert it to UTF-8",
    "NUL bytes alone": "its content was never written to disk: look for a backup",
    "a PDF document": "name a session file",
    "a picture": "name a session file",
    "HTML or XML": "name a session file as the agent wrote it, not a page of it",
} | dict.fromkeys(
    ("a gzip file", "a ZIP archive", "a Zstandard file", "an xz file", "a bzip2 file"), "decompress it first"
)
"""What to do, by the kind of a file."""


def kind_of(file: BinaryIO) -> tuple[str, str]:
    """Return what a file without JSON is, by its first bytes, and what to do; empty where that is not known."""
    file.seek(0)
    head = file.read(1 << 12)
    kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "")
    if not kind and head:
        kind = _kind_of_bytes(head)
    return kind, _HINTS.get(kind, "")


def _kind_of_bytes(head: bytes) -> str:
    """Return what bytes without a known beginning are."""
    nuls = head.count(0)
    if nuls == len(head):
        return "NUL bytes alone"
    if head[1::2].count(0) * 10 > len(head) * 4 or head[::2].count(0) * 10 > len(head) * 4:
        return "UTF-16 text"
    text = head.decode(errors="replace").rstrip("\ufffd")  # a character may end behind these bytes
    if nuls or text.count("\ufffd") * 20 > len(text):
        return "binary data"
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith("<"):
        return "HTML or XML"
    return "" if start.startswith(("{", "[")) else "plain text"


@contextmanager
def naming(source: object) -> Iterator[None]:
    """Name a file in the errors of its content."""
    try:
        yield
    except MessageError as error:
        name = os.fsdecode(source) if isinstance(source, (str, os.PathLike)) else getattr(source, "name", "")
        error.file = name if isinstance(name, str) else ""
        raise


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
