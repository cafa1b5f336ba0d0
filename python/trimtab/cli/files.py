"""Files that are written, and where the archive is."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ArchiveError, MessageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def archive_url() -> str:
    """The archive of the command line: in ``TRIMTAB_HOME``, else in the XDG data folder."""
    if home := os.environ.get("TRIMTAB_HOME"):
        folder = Path(home)
    else:
        folder = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "trimtab"
    return f"sqlite:///{folder / 'archive.db'}"


def existing(url: str) -> str:
    """The address of an archive that is there: looking something up makes no file.

    Raises:
        ArchiveError: there is none.
    """
    path = Path(url.removeprefix("sqlite:///"))
    if url.startswith("sqlite:///") and not path.is_file():
        raise ArchiveError(f"there is no archive {path}")
    return url


def chunks(name: str, size: int = 1 << 20) -> Iterator[bytes]:
    """The bytes of a file, or of stdin where the name is ``-``, as they come.

    Raises:
        MessageError: it cannot be read.
    """
    try:
        # Unbuffered: what is there now, not what fills a buffer, so that progress is that of the command before.
        with open(0 if name == "-" else name, "rb", buffering=0, closefd=name != "-") as file:
            yield from iter(lambda: file.read(size), b"")
    except OSError as error:
        raise MessageError(str(error.strerror).lower(), path=name, hint="name a file that can be read") from error


def to_text(messages: Sequence[Any], name: str) -> str:
    """The messages as JSON: a line each, in a list unless the file's name ends in ``.jsonl``."""
    lines = [json.dumps(message, ensure_ascii=True) for message in messages]
    if name.endswith(".jsonl"):
        return "".join(f"{line}\n" for line in lines)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def write(name: str, text: str) -> None:
    """Writes all of it or nothing: beside the file first, then over it.

    Raises:
        OSError: it cannot be written; what was there is as it was.
    """
    if name == "-":
        sys.stdout.write(text)
        return
    path = Path(name)
    if path.is_dir() or name.endswith(os.sep):
        raise IsADirectoryError(f"cannot write {name}: it is a directory")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {name}: there is no folder {path.parent}")
    if path.exists() and not path.is_file():  # a pipe or a device: nothing to replace
        path.write_text(text, encoding="utf-8")
        return
    path = path.resolve()
    beside = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:  # the name is ours before the file is there: wherever an interrupt falls, it goes
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(path.stat().st_mode if path.exists() else 0o600)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
