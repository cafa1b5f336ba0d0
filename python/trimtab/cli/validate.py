"""The verb validate: list the problems for which the provider would refuse a session."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .files import check_output
from .input import load, warn_repaired
from .options import add_file
from .output import print_answer, print_json, print_note
from .progress import Progress
from .several import run_each
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
    options.file = options.files[0]
    if options.repair:
        if len(options.files) > 1:
            raise ValueError(f"--repair prints the messages of one file, got {len(options.files):,} files")
        return _repair(options)
    if len(options.files) > 1:
        return run_each(options, _row, ("messages", "shape", "problems", "first problem"))
    transcript, problems = _validate(options)
    what = f"{len(transcript.messages):,} messages, {transcript.provider}"
    many = f"{len(problems):,} problem{'s' if len(problems) > 1 else ''}"
    verdict = Styled(f"refused: {many} in {what}", "red") if problems else Styled(f"ok: {what}", "green")
    print_answer(options, problems, [*map(str, problems), *_notes(options, transcript), verdict])
    return int(bool(problems))


def _notes(options: argparse.Namespace, transcript: Transcript) -> list[str]:
    """Return the lines about what is let through because nobody knows whether the provider refuses it."""
    from ..validity.validate import notes

    found = notes(transcript.messages, provider=transcript.provider, **_request(options))
    return [f"note: {note.path} {note.code}: {note.message}\n  fix: {note.fix}" for note in found]


def _row(options: argparse.Namespace) -> tuple[dict[str, Any], list[str | int], int]:
    """Return the report of one of several files, its row, and 1 if it has problems."""
    transcript, problems = _validate(options)
    messages, provider = len(transcript.messages), transcript.provider
    first = str(problems[0]).splitlines()[0] if problems else ""
    report = {"messages": messages, "provider": provider, "problems": problems}
    return report, [messages, provider, len(problems), first], int(bool(problems))


def _validate(options: argparse.Namespace) -> tuple[Transcript, Sequence[Problem]]:
    """Return a session, and the problems for which its provider would refuse it."""
    from ..validity.validate import validate

    transcript = load(options, repair_lists=False)
    with Progress("validating"):
        return transcript, validate(transcript.messages, provider=transcript.provider, **_request(options))


def _request(options: argparse.Namespace) -> RequestOptions:
    return {"in_flight": options.in_flight, "container": options.container}


def _repair(options: argparse.Namespace) -> int:
    """Print the repaired messages."""
    from ..validity.repair import repair
    from ..validity.validate import validate

    check_output(options, options.file)
    transcript = load(options, repair_lists=False)
    with Progress("repairing"):
        done = repair(transcript.messages, provider=transcript.provider, **_request(options))
    warn_repaired(done.changes)
    for problem in validate(done.messages, provider=transcript.provider, **_request(options)):
        print_note(f"stays: {problem}")
    print_json(done.messages)
    return 0
