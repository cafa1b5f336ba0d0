"""A model for agent frameworks that decides its answers by number, and judges every prompt that reaches it.

The judge is the independent checker, and tiktoken counts: neither shares code with trimtab.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from support.checker import check
from support.models import GPT

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = GPT
OPTIONS = {"window": 20_000, "max_output": 2_000}
CALLS = 250
TURN = 40
"""Model calls of one request of the user."""

RULE = "RULE-7: never rename a public function."
"""An instruction of the first message that must be there at the end."""


class RefusedError(Exception):
    """A provider's error for a prompt that is too long."""


@dataclass(frozen=True)
class Call:
    """A call of a tool; ``look`` is called with its number."""

    id: str
    name: str
    input: dict[str, Any]


@dataclass(frozen=True)
class Tool:
    """A tool that is no function with types: its name, the JSON Schema of its input, and what runs it."""

    name: str
    schema: dict[str, Any]
    run: Callable[..., str]


@dataclass
class Answer:
    """An answer of the model: a text, calls, or both."""

    text: str
    calls: list[Call]
    prompt: int
    usage: int = 9


@dataclass
class Model:
    """The model.

    Attributes:
        encode: tiktoken's function from a text to its tokens.
        window: tokens of input and output together.
        lowered: the window from the middle of the calls on; nobody tells the caller.
        calls: answers given.
        prompts: tokens of each prompt that was answered.
        refused: prompts that were too long.
        refuses: whether it refuses them; otherwise it answers.
        invalid: prompts that a provider refuses, as the checker has it.
        findings: what the checker says about any prompt.
        last: the last prompt.
        tools: what the agent may call, in place of ``look``.
    """

    encode: Any
    window: int = OPTIONS["window"]
    lowered: int = 13_000
    calls: int = 0
    prompts: list[int] = field(default_factory=list)
    refused: int = 0
    refuses: bool = True
    invalid: int = 0
    findings: list[str] = field(default_factory=list)
    last: list[dict[str, Any]] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)

    @property
    def limit(self) -> int:
        window = self.window if self.calls < CALLS // 2 else self.lowered
        return window - OPTIONS["max_output"]

    def answer(self, messages: list[dict[str, Any]], tools: Any, provider: str = "openai_chat") -> Answer:
        """Return the next answer to a prompt in its wire form.

        Raises:
            RefusedError: the prompt is too long.
        """
        self.last = messages
        found = check(messages, provider)
        self.findings += found
        self.invalid += bool(found)
        tokens = self._count(messages) + self._count(tools)
        self.refused += tokens > self.limit
        if tokens > self.limit and self.refuses:
            said = f"maximum context length is {self.limit} tokens. However, your messages resulted in {tokens} tokens."
            raise RefusedError(f"This model's {said}")
        self.calls += 1
        self.prompts.append(tokens)
        if self.calls % TURN == 0:
            return Answer(f"Done with part {self.calls}.", [], tokens)
        many = Random(self.calls).randint(1, 3)
        calls = [Call(f"call_{self.calls}_{n}", "look", {"n": self.calls * 10 + n}) for n in range(many)]
        return Answer("", calls, tokens)

    def _count(self, value: Any) -> int:
        if isinstance(value, str):
            return len(self.encode(value))
        if isinstance(value, dict):
            return sum(map(self._count, value.values())) + 1
        return sum(map(self._count, value)) + 1 if isinstance(value, list | tuple) else 1

    def judge(self) -> None:
        """Assert that prompts were valid, and within the window but for refused ones; the first request is there."""
        assert self.findings == []
        assert self.calls >= CALLS
        assert 1 <= self.refused <= 4, self.refused
        assert max(self.prompts) <= self.window - OPTIONS["max_output"]
        assert max(self.prompts[CALLS // 2 + 1 :]) <= self.lowered - OPTIONS["max_output"]
        assert "RULE-7" in json.dumps(self.last, default=str)


def look(n: int) -> str:
    """Look at something.

    Args:
        n: its number.
    """
    chosen = Random(n)
    return "\n".join(f"{n}:{line} 0x{chosen.getrandbits(64):016x}" for line in range(chosen.randint(5, 60)))


class Summarizer:
    """Counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, ask: Any) -> str:
        self.calls += 1
        return f"{RULE} Summary {self.calls} of what was looked at."


def run_page(name: str, **names: Any) -> dict[str, Any]:
    """Run the code of a framework's page, and return its names; the page says which names are its reader's."""
    page = (Path(__file__).parents[2] / "docs" / "frameworks" / f"{name}.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, f"{name}.md", "exec"), names)
    return names
