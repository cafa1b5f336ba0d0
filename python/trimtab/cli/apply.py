"""The verb apply: compact a session by a plan that was printed, looked at, and perhaps kept."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ..errors import MessageError
from . import compact
from .files import chunks
from .plan_file import from_text

if TYPE_CHECKING:
    from ..planning.plan import Plan

DESCRIPTION = "Compact a session by a plan that trimtab plan wrote; a plan of another session is refused."

EXAMPLES = (
    "trimtab plan s.jsonl --json | trimtab apply s.jsonl -o smaller.json",
    "trimtab apply session.jsonl --plan plan.json -o smaller.json",
    "trimtab apply s.jsonl --plan plan.md -o smaller.json  # an edited summary",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    compact.add_options(parser, plans=False)
    parser.add_argument(
        "--plan", metavar="PLAN", default="-", help="file with the plan, and perhaps its summary; default: stdin"
    )


def run(options: argparse.Namespace) -> int:
    """Read the plan, and do what ``compact`` does with its own.

    Raises:
        PlanError: it is no plan, or one of another session.
        ValueError: both the session and the plan are to come from stdin, or another summary than that of the plan's
            file is asked for.
    """
    if options.file == options.plan == "-":
        raise ValueError("the session and the plan cannot both come from stdin: name a file, or --plan PLAN")
    plan, summary = _plan(options.plan)
    if summary is not None and (options.summarizer != "offline" or options.instructions is not None):
        raise ValueError("the file of the plan has its summary: --summarizer and --instructions ask for another one")
    options.policy = plan.policy
    return compact.run(options, plan, summary)


def _plan(name: str) -> tuple[Plan, str | None]:
    """Return the plan of a file, and the summary where the file has one."""
    from ..planning.plan import Plan

    try:
        text = (sys.stdin.buffer.read() if name == "-" else b"".join(chunks(name))).decode()
    except UnicodeDecodeError as error:
        raise MessageError("is not UTF-8 text", path=name, hint="pass what trimtab plan writes") from error
    plan, summary = from_text(text)
    return Plan.from_json(plan), summary
