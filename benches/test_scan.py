"""Reading and judging messages, beside plain Python; ``make bench-scan``.

One warm process, one thread, 1,000,000 messages in Anthropic's shape. Each table has plain Python's answer to the same
question on the same list; the answers must be equal. The last table has the lower limits of such work: the same
questions on 1,000 messages that stay in the processor's cache, and loops in C that only reach the objects.
"""

from __future__ import annotations

import collections
import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from _transcripts import Message, anthropic, digest

import trimtab
from trimtab.counting.counter import scan

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGES, FEW = 1_000_000, 10_000
ROUNDS = 5
LIMITS = {"validate": 400, "safe cuts": 250, "split": 250}
"""Nanoseconds a message that trimtab may take."""
IDS = ("id", "tool_use_id")


@pytest.fixture(scope="module")
def messages(small: bool) -> list[Message]:
    return anthropic(FEW if small else MESSAGES)


@pytest.fixture(scope="module")
def ledger(messages: list[Message]) -> trimtab.Ledger:
    return scan(messages, trimtab.Counter.chars(), "anthropic")


@pytest.fixture(scope="module")
def label(messages: list[Message]) -> str:
    return f"{len(messages):,} messages, {digest(messages)}"


def text_quarters(messages: list[Message]) -> int:
    """A quarter of the characters of all texts."""
    total = 0
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            total += len(content) // 4
            continue
        for block in content:
            if block["type"] == "text":
                total += len(block["text"]) // 4
            elif block["type"] == "tool_use":
                total += (len(block["name"]) + sum(len(k) + len(str(v)) for k, v in block["input"].items())) // 4
            elif block["type"] == "tool_result":
                total += len(block["content"]) // 4
    return total


def invalid_messages(messages: list[Message]) -> list[int]:
    """Messages that break the rules of pairs and of empty text."""
    bad, owed, seen = [], set(), set()
    for index, message in enumerate(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        empty = any(block["type"] == "text" and not block["text"].strip() for block in blocks)
        if empty or results != owed or not seen.isdisjoint(calls):
            bad.append(index)
        seen.update(calls)
        owed = set(calls)
    return bad


def safe_cuts(messages: list[Message]) -> list[int]:
    """The cuts that part no call from its result, from the end."""
    cuts, waiting = [], set()
    for index in range(len(messages) - 1, -1, -1):
        content = messages[index]["content"]
        if not isinstance(content, str):
            for block in content:
                if block["type"] == "tool_result":
                    waiting.add(block["tool_use_id"])
                elif block["type"] == "tool_use":
                    waiting.discard(block["id"])
        if not waiting:
            cuts.append(index)
    return cuts


def first_kept(messages: list[Message]) -> int:
    """The last safe cut among the first eight messages: all others are kept."""
    return max(cut for cut in safe_cuts(messages) if cut <= 8)


def run(benchmark: Any, table: str, library: str, work: Callable[[], Any], *, label: str) -> Any:
    """Measures one row. Returns the answer."""
    benchmark.group, benchmark.name = f"{table}, {label}", library
    answer = benchmark.pedantic(work, rounds=ROUNDS)
    if benchmark.stats and library == "trimtab" and label.startswith(f"{MESSAGES:,} "):
        assert benchmark.stats.stats.median / MESSAGES * 1e9 <= LIMITS.get(table, np.inf)
    return answer


@pytest.mark.parametrize("library", ["trimtab", "plain Python"])
def test_scan(benchmark: Any, library: str, messages: list[Message], label: str) -> None:
    works = {
        "trimtab": lambda: scan(messages, trimtab.Counter.chars(), "anthropic"),  # a counter remembers what it read
        "plain Python": lambda: text_quarters(messages),
    }
    run(benchmark, "scan", library, works[library], label=label)


@pytest.mark.parametrize("library", ["trimtab", "plain Python"])
def test_validate(benchmark: Any, library: str, messages: list[Message], label: str) -> None:
    works = {
        "trimtab": lambda: {problem.code for problem in trimtab.validate(messages, provider="anthropic")},
        "plain Python": lambda: (text_quarters(messages), invalid_messages(messages))[1],
    }
    found = run(benchmark, "validate", library, works[library], label=label)
    assert not set(found) - {"request_too_large"}  # a million messages are 100 MB


@pytest.mark.parametrize("library", ["trimtab", "plain Python"])
def test_safe_cuts_of_a_ledger(
    benchmark: Any, library: str, messages: list[Message], ledger: trimtab.Ledger, label: str
) -> None:
    works = {
        "trimtab": lambda: np.flatnonzero(ledger.safe)[::-1],
        "plain Python": lambda: safe_cuts(messages),
    }
    found = run(benchmark, "safe cuts", library, works[library], label=label)
    assert [cut for cut in found if cut < len(messages)] == safe_cuts(messages)


@pytest.mark.parametrize("library", ["trimtab", "plain Python"])
def test_split(benchmark: Any, library: str, messages: list[Message], label: str) -> None:
    works = {
        "trimtab": lambda: trimtab.split(messages, keep_last=len(messages) - 8),
        "plain Python": lambda: first_kept(messages),
    }
    assert run(benchmark, "split", library, works[library], label=label) == first_kept(messages)


def reach(question: Callable[[Any], object], objects: list[Any]) -> Callable[[], object]:
    """A loop in C that asks each object one question."""
    return lambda: collections.deque(map(question, objects), maxlen=0)


@pytest.mark.parametrize(
    "what", ["validate, in cache", "split, in cache", "role of each message", "type of ids", "type of all objects"]
)
def test_lower_limits(benchmark: Any, what: str, messages: list[Message], label: str) -> None:
    few, times = messages[:1_000], range(0, len(messages), 1_000)
    ids: list[object] = []
    texts: list[object] = []
    for message in messages:
        content = message["content"]
        blocks = content if isinstance(content, list) else []
        ids += [message, content, *blocks, *(block[key] for block in blocks for key in IDS if key in block)]
        texts += [value for block in blocks for key, value in block.items() if key not in ("type", *IDS)]
    works: dict[str, Callable[[], object]] = {
        "validate, in cache": lambda: [trimtab.validate(few, provider="anthropic") for _ in times],
        "split, in cache": lambda: [trimtab.split(few, keep_last=992) for _ in times],
        "role of each message": reach(operator.itemgetter("role"), messages),
        "type of ids": reach(type, ids),
        "type of all objects": reach(type, ids + texts),
    }
    run(benchmark, "lower limits", what, works[what], label=label)
