"""The verb apply: compact a session by a plan that was printed, looked at, and perhaps kept in a file with its summary.

A person edits that file: Markdown with the plan's JSON in front of the text.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from typing import TYPE_CHECKING

from ..errors import MessageError, PlanError
from . import compact
from .files import chunks
from .options import READING, given_options
from .output import to_json

if TYPE_CHECKING:
    from ..planning.plan import Plan
    from .preview import Previewed

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


LINE = "<!-- the summary: everything below this line is its text -->"
"""Line in front of the summary. The first one counts: what is above it is ours, so a text may have the same line."""

_PLAN = re.compile(r"^```json\n(\{.*\})\n```$", re.MULTILINE)


def to_markdown(found: Previewed, options: argparse.Namespace) -> str:
    """Return the plan and its summary as a file.

    Raises:
        PlanError: no message is summarized.
    """
    plan, zone, text = found.plan, found.plan.zone(), found.summary
    if zone is None or text is None:
        msg = f"there is no summary to edit: {plan.reason}"
        raise PlanError(msg)
    most, tokens = getattr(zone, "max_tokens", 0), found.cm.counter.count(text)
    # A newline in a name would be a line of this file.
    names = [
        shlex.quote(name) if name.isprintable() and name != "-" else instead
        for name, instead in ((options.file, "FILE"), (options.output, "PLAN"))
    ]
    given = given_options(options, *READING)
    before, after, target = (f"{number:,}" for number in (plan.tokens_before, plan.tokens_after, plan.target))
    return f"""# A plan of trimtab

Edit the summary at the end of this file, then apply the plan:

    trimtab apply {names[0]} --plan {names[1]} -o OUT{given if given.isprintable() else ""}

The summary takes the place of messages #{zone.start} to #{zone.stop - 1}: {tokens:,} tokens by {found.author}, at most
{most:,} were planned. With it, {before} tokens of messages become {after} (target {target}).
`apply` counts the text that it finds here. It refuses a text that is blank, that is no shorter than these messages, or
with which the session does not fit; and the plan of a session that has changed since.

```json
{to_json(json.loads(plan.to_json()))}
```

{LINE}
{text}
"""


def from_text(text: str) -> tuple[str, str | None]:
    """Return the plan's JSON, and the summary of a file that ``to_markdown`` wrote; None for JSON alone.

    One newline at the end is the file's. Windows' ends of lines are read as newlines if the file's own lines have them.

    Raises:
        PlanError: the file has lost its plan, or the line in front of its summary.
    """
    text = text.removeprefix("\ufeff")
    if text.lstrip()[:1] == "{":
        return text, None
    if f"\n{LINE}\r\n" in text:
        text = text.replace("\r\n", "\n")
    head, line, summary = f"{text}\n".partition(f"\n{LINE}\n")
    found = _PLAN.search(head)
    if found is None and not line:
        return text, None
    if not line or found is None:
        what = "line in front of the summary" if not line else "block of JSON with the plan"
        msg = f"not a plan: the {what}, which trimtab plan --summary -o writes, is missing"
        raise PlanError(msg)
    return found[1], summary.removesuffix("\n").removesuffix("\n")
