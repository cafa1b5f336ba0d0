"""The verb plan: what compaction would do, before it does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .input import add_file, add_target, model_of, sendable, target
from .output import say
from .progress import Progress

if TYPE_CHECKING:
    import argparse


DESCRIPTION = "What compaction would do, before it does it."


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The verb's options."""
    parser = verbs.add_parser("plan", help="what compaction would do", description=DESCRIPTION)
    add_file(parser)
    parser.add_argument("--policy", default="default", help="preset; default: %(default)s")
    add_target(parser)
    parser.add_argument("--check", action="store_true", help="exit with 1 if the session is over the trigger")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Plans, and prints the plan and the budget that it rests on."""
    from ..session.compactor import Compactor

    found = sendable(options)
    outer: dict[str, Any] = {"system": found.system, "tools": found.tools}
    cm = Compactor(model_of(options, found), provider=found.provider, window=options.window, policy=options.policy)
    with Progress("planning"):
        plan = cm.plan(found.messages, **outer, **target(options))
    if options.json:
        print(plan.to_json())
    else:
        say(str(plan))
        say(cm.explain(found.messages, **outer))
    over = plan.tokens_before > cm.budget(**outer).trigger
    return int(over and options.check)
