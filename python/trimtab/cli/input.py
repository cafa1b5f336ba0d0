"""Reading session files: one, or several in a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, cast

from .. import _core, formats
from ..errors import Error
from ..messages.surrogates import CODE
from ..messages.types import Transcript
from ..validity.validate import validate
from .files import chunks as file_chunks
from .output import print_answer, print_note
from .progress import Progress
from .terminal import Styled, table

if TYPE_CHECKING:
    from ..messages.types import Repaired, Skipped
    from ..models.provider import Provider

DEFAULT_MODELS = {"anthropic": "claude-sonnet-5-5"}
DEFAULT_MODEL = "gpt-5.5"
"""Models to assume, by shape of the messages, if neither the file nor the user names one."""

LARGE, HEAD = 32 << 20, 1 << 20
"""Bytes from which a list of messages is counted without making objects; bytes read to recognize such a list."""

MOST = 5
"""Lines and messages that a note names."""

OK, DATA = 0, 65


class FileAnswer(NamedTuple):
    """What a verb says of a file.

    Attributes:
        report: its JSON.
        lines: the same as text.
        row: the cells of its row behind the file's name, where there are several files.
        code: the exit code.
    """

    report: Any
    lines: Iterable[str]
    row: Sequence[str | int]
    code: int = OK


def run_files(
    options: argparse.Namespace, answer: Callable[[argparse.Namespace], FileAnswer], heads: Sequence[str]
) -> int:
    """Run a verb for its files: print its answer on one, or a table of several and the list of their reports.

    In a table, a file that cannot be read has its error in place of the last cell.

    Args:
        options: those of the verb, with ``files``.
        answer: returns what the verb says of ``options.file``.
        heads: names of the cells of a row.

    Returns:
        The highest exit code; ``code`` of the options has it before anything is printed, should the reader leave.
    """
    if len(options.files) == 1:
        options.file = options.files[0]
        said = answer(options)
        options.code = said.code
        print_answer(options, said.report, said.lines)
        return said.code
    reports, rows, codes = [], [], [OK]
    for name in options.files:
        try:
            said = answer(argparse.Namespace(**{**vars(options), "file": name, "where": f"{name}: "}))
        except (Error, OSError) as error:
            what = str(error).splitlines()[0].removeprefix(f"{name}: ")
            said = FileAnswer({"error": what}, (), ["", *("" for _ in heads[2:]), what], DATA)
        reports.append({"file": name, **said.report})
        rows.append([name, *said.row])
        codes.append(said.code)
    numbers = [sum(cell for cell in column if isinstance(cell, int)) for column in zip(*rows, strict=True)]
    options.code = max(codes)
    total = Styled(f"{len(rows):,} files, {numbers[1]:,} messages", "bold")
    print_answer(options, {"files": reports}, [*table(["file", *heads], rows, sys.stdout), total])
    return int(options.code)


@dataclass(frozen=True, slots=True)
class Large:
    """A large list of messages, read in chunks.

    Attributes:
        found: the transcript without its messages.
        provider: the messages' shape, or None if it is not known yet.
        chunks: the text.
        size: its size in bytes, 0 if unknown.
    """

    found: Transcript
    provider: Provider | None
    chunks: Iterable[bytes]
    size: int


def load(options: argparse.Namespace, *, repair_lists: bool = True) -> Transcript:
    """Read the session file; report skipped lines and repairs.

    Args:
        options: name of the file, and its format.
        repair_lists: whether to repair a list of messages, as an agent's log always is.
    """
    with _source(options) as source:
        found = _read(options, source, repair=repair_lists or "logs")
    _warn(found, where_of(options))
    if not repair_lists:
        warn_repaired(found.repaired, where_of(options))
    elif found.format not in formats.LOGS:
        _note_repairs(found, where_of(options))
    return found


def sendable(options: argparse.Namespace, *, writes: bool = True) -> Transcript:
    """Read a session that its provider accepts.

    An agent's log is repaired. In a list of messages only open calls at the end are answered; other defects are errors.

    Args:
        options: name of the file, and its format.
        writes: whether the list is written: then the repairs of a log, which are usual, are reported.

    Raises:
        MessageError: the list is invalid; names the first problem and the number of problems.
    """
    with _source(options) as source:
        found = _read(options, source, repair=True)
        built = _read(options, source, repair=False) if found.format not in formats.LOGS and found.repaired else None
    found_in = validate(built.messages, provider=built.provider, in_flight=True) if built else []
    if problems := [problem for problem in found_in if problem.code != CODE]:  # a compaction replaces lone surrogates
        more = f" (and {len(problems) - 1} more: see trimtab validate)" if len(problems) > 1 else ""
        raise problems[0].error(more)
    _warn(found, where_of(options))
    if writes or found.format not in formats.LOGS:
        _note_repairs(found, where_of(options))
    return found


def large(options: argparse.Namespace) -> Large | None:
    """Return a list of messages that is too large to make objects of; None for other input, which ``load`` reads."""
    if options.format in formats.LOGS:
        return None
    if options.file == "-":
        options.head = head = sys.stdin.buffer.read(LARGE)
        rest, size = iter(lambda: sys.stdin.buffer.read(1 << 20), b""), 0
        chunks: Iterable[bytes] = chain([head], rest)
    else:
        size = path.stat().st_size if (path := Path(options.file)).is_file() else 0
        if size < LARGE:
            return None
        chunks = file_chunks(options.file)
        with path.open("rb") as file:
            head = file.read(HEAD)
    messages = formats.begins_with_messages(head[:HEAD]) if max(len(head), size) >= LARGE else []
    if not messages:
        return None
    provider = cast("Provider | None", options.format or _core.detect(messages))
    shape = provider or "openai_chat"
    return Large(Transcript([], shape, shape), provider, chunks, size)


@contextmanager
def _source(options: argparse.Namespace) -> Iterator[BinaryIO]:
    """Return a source that can be read repeatedly: the file, or a copy of stdin."""
    if options.file != "-":
        with formats.opened(options.file) as file:
            yield file
        return
    head, options.head = getattr(options, "head", b""), b""
    with formats.spooled(head, sys.stdin.buffer) as copy:
        yield copy


def _read(options: argparse.Namespace, source: BinaryIO, *, repair: bool | Literal["logs"]) -> Transcript:
    with Progress(f"reading {options.file}") as progress:
        if options.file != "-":
            progress.follow(source.fileno())
        return formats.read(source, format=options.format, whole=options.whole, repair=repair)


def where_of(options: argparse.Namespace) -> str:
    """Return the beginning of notes on a file: its name where it is one of several."""
    return str(getattr(options, "where", ""))


def warn_skipped(skipped: Sequence[Skipped], lost: int, where: str = "") -> None:
    """Report the first skipped and repaired lines, and the number of those skipped."""
    for skip in skipped[:MOST]:
        done = "repaired" if skip.is_read else "skipped"
        print_note(f"{where}{done} line {skip.line} (byte {skip.offset}): {skip.reason}")
    if lost > MOST:
        print_note(f"{where}skipped {lost:,} lines in all")


def warn_repaired(changes: Sequence[Repaired], where: str = "") -> None:
    """Report the first repairs one by one, and their number."""
    for change in changes[:MOST]:
        print_note(f"{where}repaired messages[{change.index}]: {change.code} {change.id}".rstrip())
    if len(changes) > MOST:
        print_note(f"{where}repaired {len(changes):,} places in all")


def _note_repairs(found: Transcript, where: str) -> None:
    """Report repairs in a sentence: how many places of each kind, and the messages."""
    if not found.repaired:
        return
    kinds: dict[str, list[int]] = {}
    for change in found.repaired:
        kinds.setdefault(change.code.replace("_", " "), []).append(change.index)
    told = (
        f"{kind} {', '.join(f'#{index}' for index in at[:MOST])}{', …' * (len(at) > MOST)}"
        for kind, at in kinds.items()
    )
    many = len(found.repaired)
    print_note(
        f"{where}repaired {many:,} place{'s' * (many != 1)} that the provider would refuse: {'; '.join(told)}"
        " (trimtab validate tells more)"
    )


def _warn(found: Transcript, where: str) -> None:
    """Report skipped lines."""
    warn_skipped(found.skipped, sum(not skip.is_read for skip in found.skipped), where)


def model_of(options: argparse.Namespace, found: Transcript) -> str:
    """Return the model to count for: the user's, the file's, or one that is assumed by the messages' shape."""
    return str(options.model or found.model or DEFAULT_MODELS.get(found.provider, DEFAULT_MODEL))


def target(options: argparse.Namespace) -> dict[str, Any]:
    """Return the target that the user gave, as keywords of ``plan`` and ``compact``; None for the policy's."""
    return {"target_tokens": options.target_tokens, "target_share": options.target_share}


def span(options: argparse.Namespace) -> tuple[int, int] | None:
    """Return the range of messages that the user gave, as ``plan`` takes it; None without one.

    Raises:
        ValueError: one end is missing, or it is not in its place.
    """
    first, last = getattr(options, "first", None), getattr(options, "last", None)
    if first is None and last is None:
        return None
    if first is None or last is None:
        raise ValueError("a range has two ends: give --from and --to")
    if last < first:
        raise ValueError(f"--from {first} is behind --to {last}")
    return first, last + 1
