"""A case with one number changed still gets the right answer: the adapter looks nothing up.

What is right is said slowly, in a few lines an operation.
"""

from __future__ import annotations

import copy
import inspect
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


def partition(
    messages: list[dict[str, Any]], protected_tokens: int = 40_000, preserve_last_n: int = 10
) -> dict[str, Any]:
    """Seed 002, "Partitioning Algorithm", a message at a time."""
    groups: dict[str, list[Any]] = {name: [] for name in ("protected", "preserved", "recent", "summary", "compactable")}
    tokens = dict.fromkeys(groups, 0)
    room, recent, is_open = protected_tokens, preserve_last_n, True
    for message in reversed(messages):
        cost = blocks(message.get("content", []))
        is_open = is_open and cost <= room
        if is_open:
            room, name = room - cost, "protected"
        elif recent > 0:
            recent, name = recent - 1, "recent"
        else:
            pinned = "preserved" if message.get("is_preserved") else "compactable"
            name = "summary" if message.get("is_summary") else pinned
        groups[name].insert(0, message.get("id"))
        tokens[name] += cost
    return {"groups": groups, "tokens": tokens, "total_tokens": sum(tokens.values())}


def pruned(messages: list[dict[str, Any]], config: dict[str, Any] | None = None) -> dict[str, Any]:
    """Seed 004, section 5.1, from the newest part back."""
    config = config or {}
    protect, minimum = config.get("protect", 40_000), config.get("minimum", 20_000)
    total = gain = turns = 0
    found: list[str] = []
    for message in reversed(messages):
        turns += message.get("role") == "user"
        if message.get("summary"):
            break
        for part in reversed(message["parts"]) if turns >= 2 and message["role"] == "assistant" else ():
            if (
                part["type"] == "tool"
                and part.get("status", "completed") == "completed"
                and part.get("tool") != "skill"
            ):
                size = (len(part.get("output", "").encode("utf-16-le")) // 2 + 2) // 4
                total += size
                if total > protect:
                    gain += size
                    found.insert(0, part["call_id"])
    return {"pruned_ids": found if gain > minimum else []}


def account(  # noqa: PLR0917 - what a case of a session may say
    max_tokens: int,
    max_output_tokens: int = 0,
    token_count: int | None = None,
    calibration_factor: float = 1.0,
    schema_overhead: int = 0,
    ops: Any = (),
) -> dict[str, Any]:
    """Seed 003, layer 1."""
    count, factor = token_count or 0, calibration_factor
    for name, *given in ops:
        if name == "push":
            count += max(len(given[0].get("text", "").encode()) // 4, 1)
        else:
            times, actual, counted = given
            for _ in range(times if counted and actual else 0):
                factor = min(max(0.8 * factor + 0.2 * actual / counted, 0.5), 3.0)
    room = max(max_tokens - max_output_tokens, 0)
    effective = count * factor + schema_overhead
    return {
        "token_count": count,
        "input_budget": room,
        "calibration_factor": pytest.approx(factor),
        "effective_token_count": int(effective),
        "context_fraction": pytest.approx(effective / room if room else 0.0),
    }


def whole_budget(
    system_prompt: str, messages: list[dict[str, Any]], context_limit: int, max_output_tokens: int
) -> dict[str, Any]:
    """Seed 001, "Token Budget Calculation"."""
    system, said = len(system_prompt.encode()) // 4, sum(map(cost, messages))
    terms = (context_limit, system, said, max_output_tokens)
    return {"system_tokens": system, "message_tokens": said, "available": left(*terms), "utilization": alone(*terms)}


def cut(messages: list[dict[str, Any]], preserve_recent: int) -> dict[str, Any]:
    """Seed 000, section 9."""
    old = range(max(len(messages) - preserve_recent, 0))
    long = [n for n in old if messages[n]["role"] == "tool" and len(messages[n]["content"].encode()) > 1000]
    return {"changed_indices": long, "input_mutated": False}


def snapped(messages: list[dict[str, Any]], split: int) -> int:
    """Back until no result stands first."""
    inside = [m["role"] == "tool" for m in messages] + [False]
    while inside[min(split, len(messages))]:
        split -= 1
    return min(split, len(messages))


NEVER = {
    "after_run": "what is compacted is the adapter's own",
    "build_summary_prompt": "held by test_summarize",
    "classify_api_error": "a status is a code",
    "compact": "what a summary comes to is held by test_compactor",
    "compact_repeatedly_seed000": "the same",
    "compact_seed000": "the same",
    "delete_session": "nothing is left, whatever there was",
    "emergency_compact": "held by test_policies and the presets' sessions",
    "ensure_fits_budget_then_submit": "the same",
    "fallback_summary_seed001": "a number in a sentence",
    "hybrid": "as compact",
    "process_compaction": "as compact",
    "prune_tool_outputs": "as compact",
    "prune_then_read": "as prune",
    "smart_truncate": "where a text is cut is held by test_truncate",
    "validate_anthropic": "held by the checker, which shares no code with it",
    "validate_config": "an error's words",
}
"""Operations whose numbers are not changed here, and why."""

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
    "budget_available": lambda **given: max(left(**given), 0),
    "budget_utilization_seed001": alone,
    "calculate_token_budget_seed001": whole_budget,
    "partition": partition,
    "prune": pruned,
    "prune_old_tool_results": cut,
    "session": account,
    "trigger_threshold": lambda max_tokens_for_model, trigger: int(max_tokens_for_model * trigger),
    "adjust_split_for_tool_pairs": snapped,
    "apply_defaults": lambda strategy, target_tokens: {"strategy": strategy, "target_tokens": target_tokens},
    "place_summary_seed000": lambda summary, preserved: [{"role": "system", "content": summary}, *preserved],
    "count_tokens": lambda messages, use_api, api: {"total": sum(blocks(m["content"]) for m in messages)},
    "approx_tokens": lambda text: -(-len(text.encode()) // 4),
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


def same(got: Any, want: Any) -> bool:
    """Whether an answer is the slow one; of several values those that the slow one has."""
    if isinstance(want, dict):
        return all(got[key] == value for key, value in want.items())
    return bool(got == (pytest.approx(want) if isinstance(want, float) else want))


def has_slow_answer(case: dict[str, Any]) -> bool:
    """Whether a slow version knows this form of an operation."""
    try:
        inspect.signature(RIGHT[case["op"]]).bind(**case["input"])
    except (KeyError, TypeError):
        return False
    return True


@AT_HAND
@pytest.mark.parametrize("seed", range(5))
def test_a_hundred_cases_with_one_number_changed_have_the_slow_answer(seed: int) -> None:
    chance, expand = random.Random(seed), evaluator().expand
    open_to = [(c, p) for c in cases() if has_slow_answer(c) for p in numbers(c["input"])]
    by_op = {case["op"]: [pair for pair in open_to if pair[0]["op"] == case["op"]] for case, _ in open_to}
    assert len(by_op) > 20
    for _ in range(CHANGES):
        case, path = chance.choice(
            by_op[chance.choice(sorted(by_op))]
        )  # no operation is lost among the many of another
        given = expand(changed(case["input"], path, chance))
        got, want = adapter.run(case["op"], given), RIGHT[case["op"]](**given)
        assert same(got, want), (case["name"], path, given, got, want)


@AT_HAND
def test_every_operation_with_a_number_is_changed_or_says_why_not() -> None:
    with_numbers = {case["op"] for case in cases() if any(True for _ in numbers(case["input"]))}
    assert with_numbers <= set(RIGHT) | set(NEVER)
    assert set(NEVER) <= set(adapter.OPS)
    assert not set(RIGHT) & set(NEVER)
