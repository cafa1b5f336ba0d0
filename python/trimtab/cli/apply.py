"""The verb apply: compact a session by a plan that was printed, looked at, and perhaps kept."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ..errors import MessageError
from . import compact
from .files import chunks

if TYPE_CHECKING:
    from ..planning.plan import Plan

DESCRIPTION = "Compact a session by a plan that trimtab plan --json printed; a plan of another session is refused."

EXAMPLES = (
    "trimtab plan s.jsonl --json | trimtab apply s.jsonl -o smaller.json",
    "trimtab apply session.jsonl --plan plan.json -o smaller.json",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    compact.add_options(parser, plans=False)
    parser.add_argument("--plan", metavar="PLAN", default="-", help="file with the plan; default: stdin")


def run(options: argparse.Namespace) -> int:
    """Read the plan, and do what ``compact`` does with its own.

    Raises:
        PlanError: it is no plan, or one of another session.
        ValueError: both the session and the plan are to come from stdin.
    """
    if options.file == options.plan == "-":
        raise ValueError("the session and the plan cannot both come from stdin: name a file, or --plan PLAN")
    plan = _plan(options.plan)
    options.policy = plan.policy
    return compact.run(options, plan)


def _plan(name: str) -> Plan:
    from ..planning.plan import Plan

    try:
        text = (sys.stdin.buffer.read() if name == "-" else b"".join(chunks(name))).decode()
    except UnicodeDecodeError as error:
        raise MessageError("is not UTF-8 text", path=name, hint="pass what trimtab plan --json prints") from error
    return Plan.from_json(text)
