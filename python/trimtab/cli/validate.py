"""The verb validate: list the problems for which the provider would refuse a session."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from .input import add_file, raw
from .output import answer, say, warn
from .progress import Progress

if TYPE_CHECKING:
    import argparse

    from ..messages.types import Transcript


DESCRIPTION = "List the problems for which the provider would refuse a session, and repair them."


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb and its options."""
    parser = verbs.add_parser("validate", help="list what the provider would refuse", description=DESCRIPTION)
    add_file(parser)
    parser.add_argument("--in-flight", action="store_true", help="calls at the end may still be running")
    parser.add_argument("--repair", action="store_true", help="print the repaired messages")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Validate a log after repair, or a list of messages as it is."""
    from ..validity.validate import validate

    transcript = raw(options)
    if options.repair:
        return _repair(transcript, in_flight=options.in_flight)
    with Progress("validating"):
        problems = validate(transcript.messages, provider=transcript.provider, in_flight=options.in_flight)
    if options.json:
        answer([asdict(problem) for problem in problems])
    else:
        for problem in problems:
            say(str(problem))
        what = f"{len(transcript.messages):,} messages, {transcript.provider}"
        many = f"{len(problems):,} problem{'s' if len(problems) > 1 else ''}"
        say(f"refused: {many} in {what}" if problems else f"ok: {what}")
    return int(bool(problems))


def _repair(transcript: Transcript, *, in_flight: bool) -> int:
    """Print the repaired messages to stdout and the changes to stderr."""
    from ..validity.repair import repair

    with Progress("repairing"):
        done = repair(transcript.messages, provider=transcript.provider, in_flight=in_flight)
    for change in done.changes:
        warn(f"repaired messages[{change.index}]: {change.code} {change.id}".rstrip())
    answer(done.messages)
    return 0
