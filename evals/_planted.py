"""Coding sessions with planted words that must be known, for ``eval-summaries``.

A session has about 12,000 tokens: a request with rules, the project's rules as a program writes them, a task list, an
answer to a question of the agent, decisions with reasons, announcements, edits, and commands whose outputs show a
failure though their exit code is hidden. Shares no code with trimtab.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

AREAS = ("invoice", "weather", "ticket", "parcel", "museum", "garden", "ferry", "choir", "bakery", "glacier")
PARTS = ("loader", "router", "cache", "export", "signup", "search")
RULES = (
    "Never run the {0} migrations against the live database.",
    "You must ask me before you add a dependency to {0}.",
    "Always keep the public functions of {0} as they are.",
    "Do not touch anything below vendor/{0}.",
    "Make sure that {0} still starts without a network.",
)
PROJECT = (
    "- Always run `make {0}-lint` before a commit.",
    "- Never edit files in generated/{0} by hand.",
    "- Only the {0} team changes the wire format.",
    "- Do not log the contents of a {0}.",
    "- Error messages must name the {0} they are about.",
)
QUESTIONS = (
    ("Where should the {0} rows be kept?", "In one SQLite file beside the {0} folder"),
    ("How should a broken {0} be reported?", "Skip it and list it at the end"),
    ("Which {0} format comes first?", "The old CSV form, JSON later"),
)
TASKS = (
    "Read how {0} calls {1}",
    "Write a failing test for {0}",
    "Mend the rounding in {1}",
    "Cover empty {0} input in {1}",
    "Describe {1} in the handbook",
    "Measure {0} with 10,000 rows",
)
LOOKS = (
    "Let me check {0}.",
    "Now let me look at how {0} is used.",
    "I'll read {0} next.",
    "Let me see what {0} does.",
    "Next I'll run the tests of {0}.",
)
REASONS = (
    "I keep {0} as a plain function because two callers outside pass it around.",
    "{0} takes the limit from its caller, since a constant would be wrong for {1}.",
    "I chose to sort in {0} and not in {1}: only {0} knows the order that was read.",
)
FAILURES = (
    "FAILED tests/test_{0}.py::test_{1}_is_stable - AssertionError: 3 != 4\n1 failed, 11 passed in 0.40s",
    "error: cannot find module '{0}/{1}'\nmake: *** [all] Error 2",
    'Traceback (most recent call last):\n  File "{0}.py", line 3\nValueError: {1} has no rows',
)


@dataclass(slots=True)
class Made:
    """A session under construction."""

    chance: random.Random
    area: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    runs: int = 0

    def says(self, role: str, text: str) -> None:
        """Adds a text."""
        self.messages.append({"role": role, "content": [{"type": "text", "text": text}]})

    def run(self, words: str, tool: str, given: dict[str, Any], output: str) -> None:
        """Adds a call with a text before it, and its result."""
        self.runs += 1
        key = f"toolu_{self.area}_{self.runs:03}"
        call = {"type": "tool_use", "id": key, "name": tool, "input": given}
        said = [{"type": "text", "text": words}] if words else []
        self.messages.append({"role": "assistant", "content": [*said, call]})
        result = {"type": "tool_result", "tool_use_id": key, "content": output, "is_error": False}
        self.messages.append({"role": "user", "content": [result]})


def session(seed: int) -> list[dict[str, Any]]:
    """The session of a seed."""
    chance = random.Random(f"planted {seed}")
    area = chance.choice(AREAS)
    made = Made(chance, area)
    part, other = chance.sample(PARTS, 2)
    rules = [rule.format(area) for rule in chance.sample(RULES, 3)]
    lines = "\n".join(rule.format(area) for rule in chance.sample(PROJECT, 4))
    made.says("user", _instructions(seed, lines))
    made.says(
        "user", f"The {area} {part} rounds the totals wrongly, please mend it and say what the cause was. {rules[0]}"
    )
    _listed(made, part, 0)
    question, answer = (text.format(area) for text in chance.choice(QUESTIONS))
    asked = {"questions": [{"question": question, "options": [{"label": answer}]}]}
    made.run("", "AskUserQuestion", asked, f'User has answered your questions: "{question}"="{answer}". Go on.')
    for step in range(4):
        _work(made, part, other, step)
        _listed(made, part, step + 1)
        if step in {0, 2}:
            made.says("assistant", f"Step {step + 1} is done, {part} gives the totals of the first sheet.")
            made.says("user", f"Good. The sheet of {chance.randrange(2010, 2025)} is next. {rules[1 + step // 2]}")
    made.says("assistant", f"The {part} is through the second sheet.")
    made.says("user", "Go on with what is open.")
    return made.messages


def _instructions(seed: int, lines: str) -> str:
    """The project's rules in the forms of two agents."""
    if seed % 2:
        return f"# AGENTS.md instructions for /project\n\n<INSTRUCTIONS>\n{lines}\n</INSTRUCTIONS>"
    lead = "As you answer the user's questions, you can use the following context:\n# claudeMd\nProject instructions."
    return f"<system-reminder>\n{lead}\n\nContents of /project/CLAUDE.md:\n\n{lines}\n</system-reminder>"


def _listed(made: Made, part: str, done: int) -> None:
    """The task list with some of its tasks done."""
    rows = [
        {
            "content": text.format(made.area, part),
            "status": "completed" if n < done else "pending",
            "activeForm": "at it",
        }
        for n, text in enumerate(TASKS)
    ]
    made.run("", "TodoWrite", {"todos": rows}, "Todos have been modified successfully.")


def _work(made: Made, part: str, other: str, step: int) -> None:
    """A step: files read, one edited, a reason, and a command that fails behind a pipe."""
    chance, area = made.chance, made.area
    for n in range(4):
        path = f"src/{area}/{chance.choice(PARTS)}_{step}{n}.py"
        made.run(chance.choice(LOOKS).format(path), "Read", {"file_path": f"/project/{path}"}, _code(chance, area))
    made.says("assistant", chance.choice(REASONS).format(f"{area}_{part}_{step}", f"{area}_{other}"))
    path = f"/project/src/{area}/{part}_{step}.py"
    change = {"file_path": path, "old_string": f"total{step}", "new_string": f"sum{step}"}
    made.run(f"Now I'll change {part}.", "Edit", change, f"The file {path} has been updated.")
    command = f"pytest -q tests/test_{area}.py 2>&1 | tail -{step + 5}"
    made.run(
        chance.choice(LOOKS).format(part), "Bash", {"command": command}, chance.choice(FAILURES).format(area, part)
    )
    made.run("", "Bash", {"command": f"make {area}-lint"}, f"{chance.randrange(9, 40)} files checked, no problems")
    build = f"python -m build --wheel {area}-{step}"
    made.run("", "Bash", {"command": build}, chance.choice(FAILURES).format(area, other))


def _code(chance: random.Random, area: str) -> str:
    """Forty lines of code with names of their own."""
    lines = []
    for n in range(14):
        name = f"{area}_{chance.choice(PARTS)}_{chance.randrange(100)}"
        lines += [f"def {name}(rows, limit={n}):", f"    found = [row for row in rows if row.{area}Total > limit]"]
        lines.append(f"    return {name}_next(found)")
    return "\n".join(lines)
