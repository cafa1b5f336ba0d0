"""An agent in a tool loop whose list is compacted again and again, under any policy."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import trimtab
from support.models import CLAUDE

MODEL = CLAUDE
SIZE = {"agentpg": 24_000, "agentpg_summarization": 24_000, "spec09": 8_000}
"""Bytes of a result, for policies that keep a number of tokens or a share of the window; 1,500 for the others."""


def step(number: int, size: int = 1_500) -> list[dict[str, Any]]:
    """A call and its result."""
    call = {"type": "tool_use", "id": f"call_{number}", "name": "Read", "input": {"path": f"src/{number}.py"}}
    text = f"line of file {number}: nothing that anybody would have to know. "
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": (text * (size // len(text) + 1))[:size]}
    return [
        {"role": "assistant", "content": [{"type": "text", "text": f"I read file {number}."}, call]},
        {"role": "user", "content": [result]},
    ]


def rounds(cm: trimtab.Compactor, messages: list[Any], wanted: int, first: int = 0) -> Iterator[trimtab.Compaction]:
    """Yield the compactions that changed the list; between two of them the agent reads six files."""
    size = SIZE.get(cm.policy.name, 1_500)
    numbers = count(first)
    for _ in range(3 * wanted):
        for _ in range(6):
            messages = [*messages, *step(next(numbers), size)]
        try:
            done = cm.compact(messages, target_tokens=12 * size // 10)
        except trimtab.NothingToCompactError:
            continue
        messages = list(done.messages)
        if done.ref:
            yield done
            wanted -= 1
        if not wanted:
            return
    raise AssertionError(f"{wanted} rounds less than wanted under {cm.policy.name}: {done.reason}")
