"""The verb plan: show the plan of a compaction without running it."""

from __future__ import annotations

import argparse
from dataclasses import replace

from .input import sendable, target
from .options import add_file, add_policy
from .output import print_line
from .progress import Progress
from .prompt import NextPrompt, compactor, hint

DESCRIPTION = "Show the plan of a compaction without running it."
EXAMPLES = (
    "trimtab plan session.jsonl",
    "trimtab plan session.jsonl --window 200k --check  # for CI: exit code 1 over the trigger",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_file(parser)
    add_policy(parser)
    parser.add_argument("--check", action="store_true", help="exit with 1 if the next prompt is over the trigger")


def run(options: argparse.Namespace) -> int:
    """Plan, and print the plan and its budget.

    The compaction is made, with a summary of the offline summarizer, and thrown away: so the tokens are those of
    ``compact``, where a plan alone has the limit of a summary.
    """
    from .preview import Preview

    transcript = sendable(options)
    system, tools = transcript.system, transcript.tools
    cm = compactor(options, transcript, archive=Preview())
    next_prompt, size = NextPrompt.of(options, transcript, cm), cm.size(transcript.messages, system=system, tools=tools)
    with Progress("planning"):
        result = cm.compact(transcript.messages, system=system, tools=tools, **target(options))
    plan = replace(result.plan, tokens_after=result.tokens_after)
    if options.json:
        print(plan.to_json())
        return int(next_prompt.over and options.check)
    budget = replace(cm.budget(system=system, tools=tools), source=next_prompt.source)
    for line in (*next_prompt.lines(), str(plan), *hint(options, plan.edits)):
        print_line(line)
    print_line(f"counted by     {cm.counter.explain()}")
    print_line(budget.explain(size.terms.messages, max(size.terms.beyond, 0)))
    return int(next_prompt.over and options.check)
