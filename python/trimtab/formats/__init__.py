"""Readers of session files: each returns a transcript that its provider accepts.

One module per format. The content decides the format, never the file's name.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, cast

from .. import _core
from ..errors import MessageError
from ..ledger.columns import Kind
from ..messages.surrogates import CODE
from ..messages.types import Transcript
from ..validity.repair import run_steps
from ..validity.validate import Rules, validate
from . import (
    atif,
    claude_code,
    cline,
    codex,
    copilot_cli,
    gemini_cli,
    json_list,
    mini_swe_agent,
    opencode,
    openhands,
    pi,
    qwen_code,
    swe_agent,
)
from ._claude_code_window import settings_beside
from ._prompt import FilePrompt
from ._records import Records
from ._scan import Counted, Scanned, Summed, begins_with_messages, counts, scan, scan_list, sums
from ._source import HELD, kind_of, naming, opened, spooled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import BinaryIO

    from ..models.provider import Provider
    from ._builder import Builder
    from ._record import FileRecord

__all__ = [
    "CORE_LOGS",
    "EXAMPLE",
    "FORMATS",
    "LOGS",
    "AgentLog",
    "Counted",
    "Scanned",
    "Summed",
    "begins_with_messages",
    "counts",
    "example",
    "is_log",
    "opened",
    "read",
    "scan",
    "scan_list",
    "spooled",
    "sums",
]


class _Reader(Protocol):
    """A module that reads the files of one agent."""

    __name__: str

    def recognizes(self, value: dict[str, Any], /) -> bool:
        """Return whether only this format has such an object, from a few names and types."""

    def read(self, records: Records, /, *, whole: bool) -> Builder:
        """Return the messages of the next prompt; none if the records have another format."""


_MODULES: tuple[_Reader, ...]
_MODULES = (
    qwen_code,
    claude_code,
    codex,
    pi,
    copilot_cli,
    gemini_cli,
    opencode,
    atif,
    swe_agent,
    mini_swe_agent,
    openhands,
    cline,
)

EXAMPLE = Path(__file__).with_name("example.jsonl")
"""A session of Claude Code, of this project's own text, that comes with the package."""

BARE = "thinking_last"
"""The problem of a log that was cut off behind thinking."""

SEPARATOR = re.compile(rb"\\u001[c-fC-F]")
"""Escapes of U+001C to U+001F: a text of these separators is blank to a repair, and to no rule."""

HEAD = 100
"""Entries of a file from which ``is_log`` decides."""

_READERS = {module.__name__.rpartition(".")[2]: module for module in _MODULES}
"""The readers by format, which is the module's name."""

_OF_LINES = {"claude_code": claude_code, "codex": codex}
"""The readers of files whose lines the core reads."""

CORE_LOGS: dict[str, Provider] = {name: reader.PROVIDER for name, reader in _OF_LINES.items()}
"""The shapes of their messages."""

_OF_MESSAGES = {"cline": cline}
"""The readers of files whose entries are a provider's messages: others would take these for their own."""

LOGS = tuple(_READERS)
"""Formats of agents' logs, which may end at any byte."""

FORMATS = (*LOGS, *json_list.PROVIDERS)
"""FileRecords of ``format`` in `read` and of ``Transcript.format``."""


def example() -> Transcript:
    """Return the example session: a coding agent's work of 141 messages, which is recorded anew with ``make record``.

    Examples:
        >>> len(example().messages)
        141
    """
    return read(EXAMPLE)


def read(
    source: str | os.PathLike[str] | bytes | BinaryIO,
    *,
    format: str | None = None,
    whole: bool = False,
    repair: bool | Literal["logs"] = True,
) -> Transcript:
    """Read a session file; return the messages as the agent would send them next.

    An open call gets a result that says so, and a result without a call becomes text. ``repaired`` lists these changes,
    ``skipped`` the unreadable lines. The file is not changed.

    Args:
        source: a path, the file's bytes, or an open binary file, which stays open. A pipe is copied first, to disk if
            it holds more than 32 MB.
        format: one of `FORMATS`; None detects it from the content.
        whole: read all messages from the session's start, with their positions at each compaction in ``compactions``;
            otherwise read only the messages after the last compaction, which the model still sees.
        repair: False returns the messages unrepaired, ``"logs"`` those of a list; an agent's log is repaired then.

    Raises:
        MessageError: the file does not exist, or has no messages.
        ValueError: `format` is unknown.
        TypeError: `source` has another type.
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"unknown format {format!r}, need one of {', '.join(FORMATS)}")
    if isinstance(source, (str, os.PathLike)):
        with opened(source) as file, naming(source):
            return _read(file, format, whole=whole, repair=repair)
    stream = BytesIO(source) if isinstance(source, bytes) else source
    if not hasattr(stream, "read") or not isinstance(stream.read(0), bytes):
        raise TypeError(f"need a path, bytes or a file open for bytes, got {type(source).__name__}")
    with naming(stream):
        return _read(stream, format, whole=whole, repair=repair)


def _read(file: BinaryIO, format: str | None, *, whole: bool, repair: bool | Literal["logs"]) -> Transcript:
    """Read the transcript from an open file; copy the file first if it cannot seek."""
    if not file.seekable():
        with spooled(b"", file) as copy:
            return _read(copy, format, whole=whole, repair=repair)
    records = Records(file)
    name = format or _detect(records.look())
    reader = _READERS.get(name)
    built = reader.read(records, whole=whole) if reader else json_list.read(records, format)
    if isinstance(built, claude_code.SessionReader):
        built.evidence.limit(built, settings_beside(getattr(file, "name", None), built.evidence.folder))
    transcript = built.transcript(name if reader else built.provider, records.skipped, records.lines)
    if not transcript.messages:
        raise _no_messages(transcript, file, is_list=not reader, has_values=records.found > 0)
    return _repaired(transcript) if repair is True or (repair and reader) else transcript


@dataclass(frozen=True, slots=True)
class AgentLog:
    """An agent's log whose lines the core has read; no object is made of a message.

    Attributes:
        found: what ``read`` says of format, provider, model, lines and ``skipped``; without messages.
    """

    found: Transcript
    _prompt: FilePrompt

    @classmethod
    def of(cls, text: bytes, format: str | None = None) -> Self | None:
        """Read a file's bytes; None where only ``read`` can tell: another format, or a log of more than 32 MB."""
        log = cls.of_lines(text, format)
        if log or (format is not None and format not in _OF_LINES):
            return log
        records = Records(BytesIO(text))
        name = format or _detect(records.look())
        return cls._of(FilePrompt.of(records, name, whole=False)) if name in _OF_LINES else None

    @classmethod
    def of_lines(cls, text: bytes, format: str | None = None) -> Self | None:
        """Read a file whose lines are an object each; None of others, and where the first line has no known format."""
        if len(text) > HELD or (format is not None and format not in _OF_LINES):
            return None
        taken = _core.SessionPrompt.of(text, format)
        return taken and cls._of(FilePrompt(Records(BytesIO(text), lines=taken[1]), taken[0], [(0, text)]))

    @classmethod
    def _of(cls, prompt: FilePrompt) -> Self:
        name, skipped = prompt.found.format, [*prompt.records.skipped, *prompt.skipped()]
        model, provider = prompt.found.model or None, _OF_LINES[name].PROVIDER
        skipped.sort(key=lambda skip: skip.offset)
        return cls(Transcript([], provider, name, model=model, skipped=skipped, lines=prompt.records.lines), prompt)

    @property
    def messages(self) -> int:
        """The number of messages in the file."""
        return self._prompt.found.messages()

    def ledger(self, counter: _core.Counter) -> _core.Ledger | None:
        """Return the ledger of what ``read`` returns; None where only ``read`` can tell.

        It has a message less than the file where a log was cut off behind thinking, which is what most repairs are.
        """
        try:
            ledger = self._prompt.ledger(counter, self.found.provider)
            problems = Rules().problems(ledger) if ledger is not None else []
            if ledger is None or not problems:
                return ledger
            last = self.messages - 1
            if any(SEPARATOR.search(text) for _, text in self._prompt.held):
                return None
            if last < 1 or any(found.code != BARE or found.index != last for found in problems):
                return None
            if (ledger.kind[int(ledger.first[last]) :] != Kind.THINKING).any():
                return None
            ledger = self._prompt.ledger(counter, self.found.provider, last)
        except MessageError:
            return None
        return None if ledger is None or Rules().problems(ledger) else ledger

    def read(self, *, is_accepted: bool = False) -> Transcript:
        """Return what the function ``read`` returns; ``is_accepted`` where ``ledger`` has shown nothing to repair.

        Raises:
            MessageError: the file has no messages.
        """
        built = _OF_LINES[self.found.format].built(self._prompt, whole=False)
        transcript = built.transcript(self.found.format, self._prompt.records.skipped, self.found.lines)
        if not transcript.messages:
            raise _no_messages(transcript, self._prompt.records.file, is_list=False, has_values=True)
        return transcript if is_accepted else _repaired(transcript)


def _detect(records: Iterable[FileRecord]) -> str:
    """Return the format of the first record that only one format has; empty for a list of messages."""
    for record in records:
        value = record.value
        if isinstance(value, dict):
            for name, reader in (_OF_MESSAGES if "role" in value else _READERS).items():
                if reader.recognizes(value):
                    return name
    return ""


def is_log(source: str | os.PathLike[str] | BinaryIO) -> bool:
    """Return whether a file is an agent's log, by its first entries; False if it cannot be read."""
    if not isinstance(source, (str, os.PathLike)):
        return bool(_detect(islice(Records(source), HEAD)))
    try:
        with opened(source) as file:
            return is_log(file)
    except MessageError:
        return False


def _no_messages(found: Transcript, file: BinaryIO, *, is_list: bool, has_values: bool) -> MessageError:
    """Return the error for a file without messages, with what it is instead, and the first unreadable place."""
    kind, advice = ("", "") if has_values else kind_of(file)
    places = [] if advice or kind == "binary data" else found.skipped[:1]
    if places and places[0].reason.startswith("a bare value"):
        kind = ""
    if not is_list and has_values:
        what, hint = f"no messages in it, as {found.format}", "the file holds only lines that are never sent"
    elif has_values:
        what, hint = "an empty list", "need at least one message"
    else:
        what = "no JSON in it" + f": {kind}" * bool(kind) if found.skipped else "it is empty"
        hint = advice or f"need a session file or a list of messages ({', '.join(FORMATS)})"
    for skip in places:
        what += f"; line {skip.line} (byte {skip.offset}): {skip.reason}"
    return MessageError(what, hint=hint)


def _repaired(found: Transcript) -> Transcript:
    """Return the repaired transcript, with the positions of usage and compactions adjusted."""
    # Lone surrogates stay, as in the file: they are replaced where the list goes out.
    if all(problem.code == CODE for problem in validate(found.messages, provider=found.provider)):
        return found  # the steps would change nothing, in ten times as long
    repaired = run_steps(found.messages, found.provider)
    if not repaired.messages:
        raise MessageError("no messages in it", hint="nothing but blank text and results without calls")
    return replace(
        found,
        messages=cast("list[dict[str, Any]]", repaired.messages),
        usage=[replace(charged, before=repaired.positions[charged.before]) for charged in found.usage],
        compactions=[repaired.positions[at] for at in found.compactions],
        calls=[replace(call, before=repaired.positions[call.before]) for call in found.calls],
        contexts=[_moved(context, repaired.positions) for context in found.contexts],
        repaired=repaired.changes,
    )


def _moved(context: list[int], positions: Sequence[int]) -> list[int]:
    """Return where messages stand after a repair; one that was merged stands in the message before it."""
    ranges = (
        range(positions[at], positions[at + 1]) or range(max(positions[at] - 1, 0), positions[at]) for at in context
    )
    return [*dict.fromkeys(chain.from_iterable(ranges))]
