"""The verb validate: list the problems for which the provider would refuse a session."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .files import check_output
from .input import load, warn_repaired
from .options import add_file
from .output import print_answer, print_json
from .progress import Progress

if TYPE_CHECKING:
    from ..validity.validate import RequestOptions

DESCRIPTION = "List the problems for which the provider would refuse a session, or repair them."
EXAMPLES = (
    "trimtab validate session.json",
    "trimtab validate session.json --repair > repaired.json",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_file(parser)
    parser.add_argument("--in-flight", action="store_true", help="calls at the end may still be running")
    parser.add_argument("--container", metavar="ID", help="the container that the request names")
    parser.add_argument("--repair", action="store_true", help="print the repaired messages")


def run(options: argparse.Namespace) -> int:
    """Validate a log after repair, or a list of messages as it is; or print the repaired messages."""
    from ..validity.repair import repair
    from ..validity.validate import validate

    transcript = load(options, repair_lists=False)
    messages, provider = transcript.messages, transcript.provider
    request: RequestOptions = {"in_flight": options.in_flight, "container": options.container}
    if options.repair:
        check_output(options, options.file)
        with Progress("repairing"):
            done = repair(messages, provider=provider, **request)
        warn_repaired(done.changes)
        print_json(done.messages)
        return 0
    with Progress("validating"):
        problems = validate(messages, provider=provider, **request)
    what = f"{len(messages):,} messages, {provider}"
    many = f"{len(problems):,} problem{'s' if len(problems) > 1 else ''}"
    print_answer(options, problems, [*map(str, problems), f"refused: {many} in {what}" if problems else f"ok: {what}"])
    return int(bool(problems))
