"""The verb validate: what the provider would refuse, and how to mend it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from .input import add_file, raw
from .output import answer, say, warn
from .progress import Progress

if TYPE_CHECKING:
    import argparse

    from ..messages.types import Transcript


DESCRIPTION = "What the provider would refuse, and how to mend it."


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The verb's options."""
    parser = verbs.add_parser("validate", help="what the provider would refuse", description=DESCRIPTION)
    add_file(parser)
    parser.add_argument("--in-flight", action="store_true", help="calls at the end may still be running")
    parser.add_argument("--repair", action="store_true", help="print the messages as the provider would take them")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Validates: a log as it would be sent, a list of messages as it stands."""
    from ..validity.validate import validate

    found = raw(options)
    if options.repair:
        return _repaired(found, in_flight=options.in_flight)
    with Progress("validating"):
        problems = validate(found.messages, provider=found.provider, in_flight=options.in_flight)
    if options.json:
        answer([asdict(problem) for problem in problems])
    else:
        for problem in problems:
            say(str(problem))
        what = f"{len(found.messages):,} messages, {found.provider}"
        many = f"{len(problems):,} problem{'s' if len(problems) > 1 else ''}"
        say(f"refused: {many} in {what}" if problems else f"ok: {what}")
    return int(bool(problems))


def _repaired(found: Transcript, *, in_flight: bool) -> int:
    """The messages on stdout, what was changed on stderr."""
    from ..validity.repair import repair

    with Progress("repairing"):
        done = repair(found.messages, provider=found.provider, in_flight=in_flight)
    for change in done.changes:
        warn(f"repaired messages[{change.index}]: {change.code} {change.id}".rstrip())
    answer(done.messages)
    return 0
