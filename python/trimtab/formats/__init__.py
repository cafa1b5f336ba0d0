"""Session files in, a transcript that can be sent out.

One file a format; which one it is, is decided by what a file holds, never by its name.
"""

from __future__ import annotations

import os
from dataclasses import replace
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import MessageError
from ..messages.types import Charged, Skipped, Transcript
from ..validity.repair import mend
from . import (
    atif,
    claude_code,
    codex,
    copilot_cli,
    gemini_cli,
    json_list,
    mini_swe_agent,
    opencode,
    openhands,
    pi,
    swe_agent,
)
from ._records import Records
from ._scan import Counted, Scanned, Summed, begins_with_messages, counts, scan, sums
from ._source import Source, spooled

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

    from ._records import Record

__all__ = [
    "FORMATS",
    "LOGS",
    "Counted",
    "Scanned",
    "Summed",
    "begins_with_messages",
    "counts",
    "read",
    "scan",
    "spooled",
    "sums",
]


class _Reader(Protocol):
    """A module that reads one agent's files."""

    def recognizes(self, value: dict[str, Any], /) -> bool:
        """Whether no other format has such an object; looks at names and types, not through the whole."""

    def read(self, records: Iterable[Record], /, *, whole: bool) -> Transcript:
        """What is sent of them, repairs not yet made; no messages if the records are another format's."""


_READERS: dict[str, _Reader] = {
    "claude_code": claude_code,
    "codex": codex,
    "pi": pi,
    "copilot_cli": copilot_cli,
    "gemini_cli": gemini_cli,
    "opencode": opencode,
    "atif": atif,
    "swe_agent": swe_agent,
    "mini_swe_agent": mini_swe_agent,
    "openhands": openhands,
}

LOGS = tuple(_READERS)
"""Formats that an agent writes as it goes, so that they may end in the middle of anything."""

FORMATS = (*LOGS, *json_list.PROVIDERS)
"""Names that `read` takes as ``format`` and gives as ``Transcript.format``."""


def read(
    source: str | os.PathLike[str] | bytes | BinaryIO,
    *,
    format: str | None = None,
    whole: bool = False,
    repair: bool = True,
) -> Transcript:
    """The messages of a session file, as the agent would send them next.

    Calls that the file leaves open get a result that says so, results without a call become text; each such change is
    in ``repaired``, each line that could not be read in ``skipped``. The file is only read.

    Args:
        source: a path, the file's bytes, or a file that is open for bytes: all of it is read, and it stays open. Of
            what can be read but once, as a pipe, a copy is made, on disk if it is over 32 MB.
        format: one of `FORMATS`; None finds it from the content.
        whole: everything from the session's start, with ``compactions`` where it was compacted; otherwise only from the
            last compaction on, which is what the model still sees.
        repair: False leaves what a provider would refuse as the file has it.

    Raises:
        MessageError: there is no such file, or no messages in it that could be sent.
        ValueError: `format` is unknown.
        TypeError: `source` is something else.
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"unknown format {format!r}, need one of {', '.join(FORMATS)}")
    if not isinstance(source, (str, os.PathLike)):
        file = BytesIO(source) if isinstance(source, bytes) else source
        if not hasattr(file, "read") or not isinstance(file.read(0), bytes):
            raise TypeError(f"need a path, bytes or a file open for bytes, got {type(source).__name__}")
        return _read_open(file, format, whole=whole, repair=repair)
    with _opened(source) as file:
        try:
            return _read_open(file, format, whole=whole, repair=repair)
        except OSError as error:
            raise _unreadable(error, source) from error


def _read_open(file: BinaryIO, format: str | None, *, whole: bool, repair: bool) -> Transcript:
    """The same of an open file."""
    if file.seekable():
        return _read(Records(Source(file)), format, whole=whole, repair=repair)
    with spooled(b"", file) as copy:
        return _read(Records(Source(copy)), format, whole=whole, repair=repair)


def _read(records: Records, format: str | None, *, whole: bool, repair: bool) -> Transcript:
    """What `read` gives, of a file that is open."""
    head: list[Record] = []
    rest = iter(records)
    name = format or _detect(rest, head)
    entries = chain(head, rest)
    if reader := _READERS.get(name):
        draft = reader.read(entries, whole=whole)
    else:
        values = list(entries)
        if not values:
            raise _nothing(records)
        draft = json_list.read(values, format)
    if not draft.messages:
        raise _nothing(records, draft)
    skipped = sorted([*records.skipped, *draft.skipped], key=lambda skip: skip.offset)
    if not repair:
        return replace(draft, skipped=skipped, lines=records.lines)
    return _closed(draft, skipped, records.lines)


def _opened(source: str | os.PathLike[str]) -> BinaryIO:
    """The file, open."""
    try:
        return open(os.fsdecode(source), "rb")  # noqa: PTH123 - a str keeps a trailing slash and says so in the error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise _unreadable(error, source) from error


def _unreadable(error: Exception, source: str | os.PathLike[str]) -> MessageError:
    """What keeps a file's bytes from us, in one kind of error."""
    name = os.fsdecode(source)
    what, hint = "no such file", "check the path"
    if name.lstrip().startswith(("{", "[")):
        hint = "this looks like JSON: to read content pass bytes, text.encode()"
    elif isinstance(error, IsADirectoryError):
        what, hint = "a directory", "name one session file in it"
    elif isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
        what, hint = f"cannot be read ({error.strerror})", "check that it may be read"
    return MessageError(what, path=_shown(name), hint=hint)


def _shown(name: str) -> str:
    """A path short enough for one line: whole files have been passed as one."""
    return name if len(name) <= 200 else f"{name[:200]}..."


def _detect(records: Iterable[Record], head: list[Record]) -> str:
    """The format of the first record that only one format has; empty if it is messages as they are.

    The records up to it are put into `head`.
    """
    for record in records:
        head.append(record)
        value = record.value
        if isinstance(value, dict) and "role" not in value:  # a message as it is sent, which no agent's line is
            for name, reader in _READERS.items():
                if reader.recognizes(value):
                    return name
    return ""


def _nothing(records: Records, draft: Transcript | None = None) -> MessageError:
    """Why there are no messages, with the first place that could not be read."""
    skipped = sorted([*records.skipped, *(draft.skipped if draft else ())], key=lambda skip: skip.offset)
    known = f"need a session file or a list of messages ({', '.join(FORMATS)})"
    if draft:
        what, hint = f"no messages in it, as {draft.format}", "the file holds only lines that are never sent"
    elif records.found:
        what, hint = "an empty list", "need at least one message"
    else:
        what, hint = "no JSON in it" if skipped else "it is empty", known
    if skipped:
        what += f"; line {skipped[0].line} (byte {skipped[0].offset}): {skipped[0].reason}"
    return MessageError(what, hint=hint)


def _closed(draft: Transcript, skipped: list[Skipped], seen: int) -> Transcript:
    """The transcript, repaired, with the numbers of its usage moved to where the messages now stand."""
    closed = mend(draft.messages, draft.provider)
    if not closed.messages:
        raise MessageError("no messages in it", hint="nothing but blank text and results without calls")
    usage = [Charged(closed.where[charged.before], charged.prompt, charged.output) for charged in draft.usage]
    return replace(
        draft,
        messages=closed.messages,
        usage=usage,
        compactions=[closed.where[at] for at in draft.compactions],
        skipped=skipped,
        repaired=closed.repaired,
        lines=seen,
    )
