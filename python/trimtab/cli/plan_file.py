"""The file of a plan with its summary, which a person edits: Markdown with the plan's JSON in front of the text."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from typing import TYPE_CHECKING

from ..errors import PlanError
from .output import to_json

if TYPE_CHECKING:
    from .preview import Previewed

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
    before, after, target = (f"{number:,}" for number in (plan.tokens_before, plan.tokens_after, plan.target))
    return f"""# A plan of trimtab

Edit the summary at the end of this file, then apply the plan:

    trimtab apply {names[0]} --plan {names[1]} -o OUT

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
