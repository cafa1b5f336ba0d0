"""The verb validate: list the problems for which the provider would refuse a session."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from ..validity.repair import repair
from ..validity.validate import notes, validate
from .files import check_output
from .input import FileAnswer, load, run_files, warn_repaired
from .options import add_file
from .output import print_json, print_note
from .progress import Progress
from .terminal import Styled

if TYPE_CHECKING:
    from ..messages.types import Transcript
    from ..validity.validate import Problem, RequestOptions

DESCRIPTION = "List the problems for which the provider would refuse a session, or repair them."
EXAMPLES = (
    "trimtab validate session.json",
    "trimtab validate session.json --repair > repaired.json",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_file(parser, several=True)
    parser.add_argument("--in-flight", action="store_true", help="calls at the end may still be running")
    parser.add_argument("--container", metavar="ID", help="the container that the request names")
    parser.add_argument("--repair", action="store_true", help="print the repaired messages of one file")


def run(options: argparse.Namespace) -> int:
    """Validate a log after repair, or a list of messages as it is; or print the repaired messages.

    Raises:
        ValueError: several files are to be repaired.
    """
    if options.repair:
        if len(options.files) > 1:
            raise ValueError(f"--repair prints the messages of one file, got {len(options.files):,} files")
        options.file = options.files[0]
        return _repair(options)
    return run_files(options, _answer, ("messages", "shape", "problems", "first problem"))


def _answer(options: argparse.Namespace) -> FileAnswer:
    """Return the problems of a file: alone, or of several with its size and shape."""
    transcript, problems = _validate(options)
    messages, provider = len(transcript.messages), transcript.provider
    many = f"{len(problems):,} problem{'s' if len(problems) > 1 else ''}"
    what = f"{messages:,} messages, {provider}"
    verdict = Styled(f"refused: {many} in {what}", "red") if problems else Styled(f"ok: {what}", "green")
    lines = chain(map(str, problems), _notes(options, transcript), [verdict])
    first = str(problems[0]).splitlines()[0] if problems else ""
    several = {"messages": messages, "provider": provider, "problems": problems}
    report = several if len(options.files) > 1 else problems
    return FileAnswer(report, lines, [messages, provider, len(problems), first], int(bool(problems)))


def _notes(options: argparse.Namespace, transcript: Transcript) -> Iterator[str]:
    """Yield the lines about what is let through because nobody knows whether the provider refuses it."""
    for note in notes(transcript.messages, provider=transcript.provider, **_request(options)):
        yield f"note: {note.path} {note.code}: {note.message}\n  fix: {note.fix}"


def _validate(options: argparse.Namespace) -> tuple[Transcript, Sequence[Problem]]:
    """Return a session, and the problems for which its provider would refuse it."""
    transcript = load(options, repair_lists=False)
    with Progress("validating"):
        return transcript, validate(transcript.messages, provider=transcript.provider, **_request(options))


def _request(options: argparse.Namespace) -> RequestOptions:
    return {"in_flight": options.in_flight, "container": options.container}


def _repair(options: argparse.Namespace) -> int:
    """Print the repaired messages."""
    check_output(options, options.file)
    transcript = load(options, repair_lists=False)
    with Progress("repairing"):
        done = repair(transcript.messages, provider=transcript.provider, **_request(options))
    warn_repaired(done.changes)
    for problem in validate(done.messages, provider=transcript.provider, **_request(options)):
        print_note(f"stays: {problem}")
    print_json(done.messages)
    return 0
