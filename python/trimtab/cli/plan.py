"""The verb plan: show the plan of a compaction without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .input import add_file, add_target, model_of, sendable, target
from .output import say
from .progress import Progress

if TYPE_CHECKING:
    import argparse


DESCRIPTION = "Show the plan of a compaction without running it."


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb and its options."""
    parser = verbs.add_parser("plan", help="show what compaction would do", description=DESCRIPTION)
    add_file(parser)
    parser.add_argument("--policy", default="default", help="preset; default: %(default)s")
    add_target(parser)
    parser.add_argument("--check", action="store_true", help="exit with 1 if the session is over the trigger")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Plan, and print the plan and its budget."""
    from ..session.compactor import Compactor

    transcript = sendable(options)
    overhead: dict[str, Any] = {"system": transcript.system, "tools": transcript.tools}
    cm = Compactor(
        model_of(options, transcript), provider=transcript.provider, window=options.window, policy=options.policy
    )
    with Progress("planning"):
        plan = cm.plan(transcript.messages, **overhead, **target(options))
    if options.json:
        print(plan.to_json())
    else:
        say(str(plan))
        say(cm.explain(transcript.messages, **overhead))
    over = plan.tokens_before > cm.budget(**overhead).trigger
    return int(over and options.check)
