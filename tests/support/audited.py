"""A session of Claude Code of the project's own text, whose compaction lost a rule, a task and an error."""

from __future__ import annotations

import json
from typing import Any

RULE = "Never write to the harbour bucket without asking me first."
SUMMARY = """This session is being continued from a previous conversation that ran out of context.
The user asked: "Please mend the parser of the quarry in src/quarry/parse.py today."
The parser in src/quarry/parse.py was changed. Next: write the release notes.
"""
SUMMARY += "".join(
    f"- part{number}.log was read, and has nothing that is needed for the notes.\n" for number in range(20)
)


def lines(more: str = "") -> list[dict[str, Any]]:
    """The entries of the session; `more` stands in its first message."""
    out: list[dict[str, Any]] = []

    def add(role: str, content: Any, **fields: Any) -> None:
        message = {"role": role, "content": content}
        if role == "assistant":
            message |= {"id": f"m{len(out)}", "model": "claude-sonnet-4-5", "usage": {}}
        parent = f"u{len(out) - 1}" if out else None
        out.append({"type": role, "uuid": f"u{len(out)}", "parentUuid": parent, "message": message, **fields})

    def call(tool: str, answer: str, *, failed: bool = False, **given: Any) -> None:
        ref = f"t{len(out)}"
        add("assistant", [{"type": "tool_use", "id": ref, "name": tool, "input": given}])
        add("user", [{"type": "tool_result", "tool_use_id": ref, "content": answer, "is_error": failed}])

    add("user", f"Please mend the parser of the quarry in src/quarry/parse.py today. {RULE} {more}".strip())
    call("TodoWrite", "noted", todos=[{"content": "Weigh the lantern again", "status": "pending"}])
    call("Read", "def parse(rows):\n    return rows[:4]\n" * 40, file_path="src/quarry/parse.py")
    call("Edit", "edited", file_path="src/quarry/parse.py", old_string="[:4]", new_string="")
    call(
        "Bash", "E   AssertionError: lantern is 4 and not 5\n2 failed, 14 passed", failed=True, command="pytest lantern"
    )
    add("assistant", "The root cause of the failure is that the lantern was weighed twice because of the cache.")
    add("user", "Then write the release notes of the orchard.")
    for number in range(20):
        call("Bash", f"part {number} of the log has nothing to see\n" * 30, command=f"cat part{number}.log")
    add("user", SUMMARY, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    call("Read", "def parse(rows):\n    return rows\n", file_path="src/quarry/parse.py")
    add("user", f"I said it before. {RULE}")
    add("assistant", "I ask before I write to it.")
    return out


def text(more: str = "") -> str:
    """The session as a file."""
    return "".join(f"{json.dumps(line)}\n" for line in lines(more))
