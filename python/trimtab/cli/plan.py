"""The verb plan: show the plan of a compaction without running it."""

from __future__ import annotations

import argparse

from .input import compactor, sendable, target
from .options import add_file, add_policy
from .output import print_line
from .progress import Progress

DESCRIPTION = "Show the plan of a compaction without running it."


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_file(parser)
    add_policy(parser)
    parser.add_argument("--check", action="store_true", help="exit with 1 if the session is over the trigger")


def run(options: argparse.Namespace) -> int:
    """Plan, and print the plan and its budget."""
    transcript = sendable(options)
    system, tools = transcript.system, transcript.tools
    cm = compactor(options, transcript)
    with Progress("planning"):
        plan = cm.plan(transcript.messages, system=system, tools=tools, **target(options))
    if options.json:
        print(plan.to_json())
    else:
        print_line(str(plan))
        print_line(cm.explain(transcript.messages, system=system, tools=tools))
    over = plan.tokens_before > cm.budget(system=system, tools=tools).trigger
    return int(over and options.check)
