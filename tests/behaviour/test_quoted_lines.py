"""A result that is cut in the middle keeps the lines that a later edit of the file quotes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import trimtab
from support.models import CLAUDE, GPT

FILE = "".join(f"{n:6d}\tdef step_{n}(state):  # the step number {n}\n" for n in range(1, 700))
QUOTE = "def step_300(state):  # the step number 300\ndef step_301(state):"
PATCH = f"*** Begin Patch\n*** Update File: src/a.py\n@@\n-{QUOTE.splitlines()[0]}\n+def step_x():\n*** End Patch"
KEPT = "   300\tdef step_300(state):  # the step number 300\n"


def calls(edit: dict[str, object], path: str = "src/a.py") -> list[tuple[str, dict[str, object], str]]:
    """A file that is read, edited, and what the tools answer."""
    return [("Read", {"file_path": path}, FILE), ("Edit", edit, "done")]


def anthropic(found: list[tuple[str, dict[str, object], str]]) -> list[dict[str, object]]:
    made: list[dict[str, object]] = [{"role": "user", "content": "Give step 300 another name."}]
    for n, (name, arguments, answer) in enumerate(found):
        call = {"type": "tool_use", "id": f"t{n}", "name": name, "input": arguments}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": answer}
        made += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return [*made, {"role": "assistant", "content": "It has another name."}, {"role": "user", "content": "Go on."}]


def chat(found: list[tuple[str, dict[str, object], str]]) -> list[dict[str, object]]:
    made: list[dict[str, object]] = [{"role": "user", "content": "Give step 300 another name."}]
    for n, (name, arguments, answer) in enumerate(found):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"t{n}", "type": "function", "function": function}
        made += [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"t{n}", "content": answer},
        ]
    return [*made, {"role": "assistant", "content": "It has another name."}, {"role": "user", "content": "Go on."}]


def shortened(messages: list[dict[str, object]], model: str, message: int = 2) -> str:
    """Return the result in a message, cut to 400 tokens; each message is one row."""
    cm = trimtab.Compactor(model)
    bare = cm.plan(messages, target_share=0.9)
    plan = replace(bare, edits=(trimtab.planning.Truncate((message,), 400),), tokens_after=bare.tokens_before)
    done = cm.compact(messages, plan=plan)
    assert done.ref, done.reason
    content = done.messages[message]["content"]
    return content if isinstance(content, str) else content[0]["content"]


EDITS = {
    "file": {"file_path": "src/a.py", "old_string": QUOTE, "new_string": "def step_x():"},
    "several": {"path": "src/a.py", "edits": [{"oldText": QUOTE, "newText": "def step_x():"}]},
    "patch": {"input": PATCH},
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize(("shape", "model"), [(anthropic, CLAUDE), (chat, GPT)])
def test_lines_that_a_later_edit_quotes_stay(shape, model, edit) -> None:
    text = shortened(shape(calls(EDITS[edit])), model)
    assert KEPT in text
    assert text.count(" omitted") == 2
    assert trimtab.Counter("o200k_base").count(text) < 600


def test_an_edit_of_another_file_or_before_the_result_keeps_nothing() -> None:
    other = {"file_path": "src/other.py", "old_string": QUOTE, "new_string": "x"}
    assert KEPT not in shortened(anthropic(calls(other)), CLAUDE)
    read, edit = calls(EDITS["file"])
    assert KEPT not in shortened(anthropic([edit, read]), CLAUDE, message=4)


def test_the_output_of_a_command_keeps_what_is_long_enough_to_be_its_own() -> None:
    found = [("Bash", {"command": "cat src/a.py"}, FILE), ("Edit", EDITS["file"], "done")]
    assert KEPT in shortened(anthropic(found), CLAUDE)
    short = {"file_path": "src/a.py", "old_string": "number 300", "new_string": "x"}
    assert KEPT not in shortened(anthropic([found[0], ("Edit", short, "done")]), CLAUDE)
