"""A case with one number changed still gets the right answer: the adapter looks nothing up.

What is right is said slowly, in a few lines an operation.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import adapter
import pytest
from test_conformance import AT_HAND, cases, evaluator

import oracle

CHANGES = 100


def said(message: dict[str, Any]) -> list[str]:
    """The texts of a message of spec09 or goat."""
    content = message.get("content")
    texts = [part.get("text", "") for part in content] if isinstance(content, list) else [content or ""]
    return texts + [call.get(key, "") for call in message.get("tool_calls") or () for key in ("name", "arguments")]


def cost(message: dict[str, Any]) -> int:
    """Its tokens: a quarter of its bytes, and four."""
    return oracle.estimate(said(message), unit="bytes", rounding="floor", joined=True, message=4)


def split(messages: list[dict[str, Any]], keep: int, *, back: bool) -> int:
    """The first message of the newest that fit, one at least; never between a call and its result."""
    cut = len(messages)
    while cut and sum(map(cost, messages[cut - 1 :])) <= keep:
        cut -= 1
    inside = [m.get("role") == "tool" for m in [*messages, {}]]
    if len(messages) == cut and messages:
        cut, back = cut - 1, True
    while inside[cut]:
        cut += -1 if back else 1
    return cut


def blocks(content: list[dict[str, Any]]) -> int:
    """Tokens of a message of agentpg."""
    flat = {"tool_use": 10, "tool_result": 10}
    texts = sum(-(-len(str(part.get("text") or "").encode()) // 4) for part in content)
    return 4 + texts + sum(200 if p["type"] in {"image", "document"} else flat.get(p["type"], 0) for p in content)


def used(
    context_limit: int = 200_000, system_tokens: int = 0, message_tokens: int = 0, max_output_tokens: int = 16_384
) -> float:
    return (system_tokens + message_tokens + max_output_tokens) / context_limit if context_limit else 1.0


def alone(
    context_limit: int = 200_000, system_tokens: int = 0, message_tokens: int = 0, max_output_tokens: int = 16_384
) -> float:
    room = context_limit - system_tokens - max_output_tokens
    return message_tokens / room if room > 0 else 1.0


def left(
    context_limit: int = 200_000, system_tokens: int = 0, message_tokens: int = 0, max_output_tokens: int = 16_384
) -> int:
    return context_limit - system_tokens - message_tokens - max_output_tokens


def full(model: dict[str, int], tokens: dict[str, int], auto: bool = True) -> bool:
    total = sum(tokens.get(key, 0) for key in ("input", "cache_read", "output"))
    context = model.get("context", 0)
    usable = model.get("input") or context - min(model.get("output") or 32_000, 32_000)
    return bool(auto and context and total > usable)


RIGHT: dict[str, Callable[..., Any]] = {
    "budget_utilization": used,
    "budget_is_overflow": lambda **given: used(**given) > 1,
    "budget_available_seed001": left,
    "token_budget_available_seed000": left,
    "should_compact": lambda budget, threshold: used(**budget) > threshold,
    "must_compact": lambda budget, critical: used(**budget) > critical,
    "should_compact_seed001": lambda **given: alone(**given) > 0.8,
    "preserve_budget": lambda context_limit: context_limit * 40 // 100,
    "needs_compaction": lambda total_tokens, max_tokens_for_model, trigger: (
        total_tokens >= int(max_tokens_for_model * trigger)
    ),
    "estimate_text": lambda text: len(text.encode()) // 4,
    "estimate_messages": lambda messages: sum(map(cost, messages)),
    "token_estimate": lambda text: (len(text.encode("utf-16-le")) // 2 + 2) // 4,
    "split_point": lambda messages, preserve_budget: split(messages, preserve_budget, back=True),
    "split_point_seed000": lambda messages, preserve_budget: split(messages, preserve_budget, back=False),
    "estimate_message": lambda role, content: blocks(content),
    "is_overflow_seed004": full,
    "truncate_tool_output": lambda text, max_len: (
        text if len(text) <= max_len else text[:max_len] + "\n... [output truncated]"
    ),
}


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a case's input has a number that may be another one."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from numbers(part, (*path, key))
    elif isinstance(value, list):
        for n, part in enumerate(value):
            yield from numbers(part, (*path, n))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path


def changed(value: Any, path: tuple[Any, ...], chance: random.Random) -> Any:
    """The input with the number at a path another one."""
    found = copy.deepcopy(value)
    at = found
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = (
        max(0, at[path[-1]] + chance.choice([-9, -3, -1, 1, 2, 5, 40]))
        if chance.random() < 0.8
        else at[path[-1]] * chance.choice([2, 3])
    )
    return found


@AT_HAND
def test_a_hundred_cases_with_one_number_changed_have_the_slow_answer() -> None:
    chance, expand = random.Random(7), evaluator().expand
    open_to = [(c, p) for c in cases() if c["op"] in RIGHT for p in numbers(c["input"])]
    assert len({case["op"] for case, _ in open_to}) > 10
    done = 0
    for case, path in chance.choices(open_to, k=CHANGES):
        given = expand(changed(case["input"], path, chance))
        want = RIGHT[case["op"]](**given)
        got = adapter.run(case["op"], given)
        assert got == pytest.approx(want), (case["name"], path, given)
        done += 1
    assert done == CHANGES
