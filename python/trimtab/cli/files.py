"""Input and output files, and the location of the archive."""

from __future__ import annotations

import argparse
import json
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from os.path import samestat
from pathlib import Path
from typing import Any, TextIO

from .._home import archive_url
from ..errors import ArchiveError, MessageError
from ..formats import is_log

AGENT_FOLDERS = ("~/.claude", "~/.codex", "~/.copilot", "~/.gemini", "~/.local/share/opencode", "~/.pi", "~/.openhands")
"""Folders where agents keep their sessions."""

AGENT_VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME")
"""Variables that name such a folder."""

SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")
"""Ends of the names of the files beside a SQLite file."""

SQLITE_HEADER = b"SQLite format 3\0"
"""First bytes of a SQLite file."""


def archive_path(url: str) -> str:
    """Return the path of an archive that is a file, else an empty one."""
    return url.removeprefix("sqlite:///") if url.startswith("sqlite:///") else ""


def existing(named: str | None) -> str:
    """Return the URL of an existing archive like ``archive_url``, so that reading creates no file.

    Raises:
        ArchiveError: the archive does not exist.
    """
    url = archive_url(named)
    path = archive_path(url)
    if path and not Path(path).is_file():
        raise ArchiveError(f"no archive at {path}")
    return url


def chunks(name: str, size: int = 1 << 20) -> Iterator[bytes]:
    """Yield the bytes of a file, or of stdin for the name ``-``.

    Raises:
        MessageError: the file cannot be read.
    """
    try:
        # Unbuffered, so that progress shows the bytes that a pipe's writer has written so far.
        with open(0 if name == "-" else name, "rb", buffering=0, closefd=name != "-") as file:
            yield from iter(lambda: file.read(size), b"")
    except OSError as error:
        raise MessageError(str(error.strerror).lower(), path=name, hint="name a file that can be read") from error


def to_text(messages: Sequence[Any], name: str, fields: dict[str, Any] | None = None) -> str:
    """Return the messages as JSON, one per line: a list, or JSONL if the file's name ends in ``.jsonl``.

    With ``fields``, a list becomes an object that has these fields before its ``messages``.
    """
    lines = [json.dumps(message, ensure_ascii=True) for message in messages]
    if name.endswith(".jsonl"):
        return "".join(f"{line}\n" for line in lines)
    listed = "[\n" + ",\n".join(lines) + "\n]"
    if not fields:
        return f"{listed}\n"
    head = "".join(f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in fields.items())
    return f'{{\n{head}"messages": {listed}\n}}\n'


def check_output(options: argparse.Namespace, *inputs: str) -> None:
    """Refuse to write onto an input, an archive or an agent's session file, unless the user forces it.

    Args:
        options: with the name of the output, ``-`` or none for stdout, ``force``, and ``archive`` where there is one.
        inputs: names of files that are read, ``-`` for stdin; empty ones are ignored.

    Raises:
        ValueError: the output is one of these files, whatever its name, a session file, a SQLite file, or the place of
            the archive, which may not be there yet.
    """
    name = getattr(options, "output", "-")
    if getattr(options, "force", False):
        return
    what = "stdout" if name == "-" else name
    advice = "name another output with -o, or replace it with --force"
    found = _status(_descriptor(sys.stdout) if name == "-" else name)
    if found is not None and stat.S_ISREG(found.st_mode):
        for read in filter(None, inputs):
            names = [_descriptor(sys.stdin)] if read == "-" else [read + suffix for suffix in ("", *SQLITE_SUFFIXES)]
            if any(status and samestat(found, status) for status in map(_status, names)):
                raise ValueError(f"{what} is the input\n  {advice}")
        file = f"/dev/fd/{_descriptor(sys.stdout)}" if name == "-" else name
        if is_log(file) or (name != "-" and _is_of_agent(name)):
            raise ValueError(f"{what} is an agent's session\n  {advice}")
        if any(is_database(file.removesuffix(suffix)) for suffix in ("", *SQLITE_SUFFIXES)):
            raise ValueError(f"{what} is of a SQLite database, perhaps of an archive\n  {advice}")
    if name != "-" and _is_of_archive(name, getattr(options, "archive", None)):
        raise ValueError(f"{what} is the archive\n  {advice}")


def is_database(name: str) -> bool:
    """Return whether a file is a SQLite database."""
    try:
        with Path(name).open("rb") as file:
            return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER
    except OSError:
        return False


def _is_of_archive(name: str, named: str | None) -> bool:
    """Return whether a file has the place of the named or the default archive, or of a file beside it."""
    archives = filter(None, (archive_path(archive_url(url)) for url in (named, None)))
    places = [_place(path + suffix) for path in archives for suffix in ("", *SQLITE_SUFFIXES)]
    return (place := _place(name)) is not None and place in places


def _place(name: str) -> Path | None:
    """Return the path of a file without links; None for a name that no file can have."""
    try:
        return Path(name).resolve()
    except (OSError, RuntimeError, ValueError):  # a circle of links; a NUL in the name
        return None


def _is_of_agent(name: str) -> bool:
    """Return whether a file is in a folder where an agent keeps its sessions."""
    path = Path(name).resolve()
    named = (os.environ[variable] for variable in AGENT_VARIABLES if os.environ.get(variable))
    folders = map(os.path.expanduser, (*AGENT_FOLDERS, *named))
    return any(path.is_relative_to(Path(folder).resolve()) for folder in folders)


def _descriptor(stream: TextIO) -> int:
    """Return the descriptor of a standard stream, -1 if it has none."""
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return -1


def _status(file: str | int) -> os.stat_result | None:
    """Return the status of a file or of an open descriptor; None if there is none."""
    try:
        return os.stat(file)  # noqa: PTH116 - it takes a descriptor too
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None


def write(name: str, text: str) -> None:
    """Write a file atomically: a temporary file replaces it.

    Raises:
        OSError: the file cannot be written, which the error names; an existing file is unchanged.
    """
    try:
        _write(name, text)
    except OSError as error:
        if error.errno is None or name == "-":
            raise
        if isinstance(error, BrokenPipeError):  # not stdout's, where it is no error
            raise OSError(f"cannot write {name}: its reader has gone") from error
        raise OSError(error.errno, error.strerror, name) from error  # it may name the temporary file, or none


def _write(name: str, text: str) -> None:
    if name == "-":
        sys.stdout.flush()
        if buffer := getattr(sys.stdout, "buffer", None):
            buffer.write(text.encode())  # as a file has it, whatever the terminal's encoding
        else:  # a caller's own stream of text
            sys.stdout.write(text)
        return
    path = Path(name)
    if path.is_dir() or name.endswith(os.sep):
        raise IsADirectoryError(f"cannot write {name}: it is a directory")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {name}: no folder {path.parent}")
    if path.exists() and not path.is_file():  # a pipe or a device cannot be replaced
        path.write_text(text, encoding="utf-8")
        return
    path = path.resolve()
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:  # `temporary` is set before the file exists, so that any interrupt removes it
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 - a descriptor
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(path.stat().st_mode if path.exists() else 0o600)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
