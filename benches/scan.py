"""What it costs to read messages out of Python objects, and to judge them; ``make bench-scan``.

1,000,000 messages: 30 % strings, 30 % a block of text, 20 % text and a call, 20 % a result. A row a question, each
beside what plain Python takes for it on the same list in the same process, in turn; CPU time, so that a second thread
is no gain. The places where no pair is cut, from the end, of a ledger that is there; and of the messages themselves the
one that keeps all but a few: plain Python walks back over the messages for both. Exits with 1 where the answers differ,
or take too long. Below stands what bounds them: the same work on messages that lie in a cache, and loops in C that only
reach the objects.
"""

from __future__ import annotations

import collections
import operator
import random
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import trimtab
from trimtab.counting.counter import scan

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5
LIMITS = {"validate": 400, "cuts, from the end": 250, "split": 250}
"""Nanoseconds a message that a row may take."""

WORDS = ["the", "parser", "keeps", "its", "offset", "so", "that", "an", "error", "names", "the", "place"]

IDS = ("id", "tool_use_id")

Message = dict[str, Any]


def transcript(count: int) -> list[Message]:
    """So many messages, valid as a list: every string is an object of its own, as it is after reading a file."""
    dice = random.Random(6)

    def words() -> str:
        return " ".join(dice.choices(WORDS, k=dice.randrange(8, 30)))

    def text() -> Message:
        return {"type": "text", "text": words()}

    out: list[Message] = []
    for n in range(count // 10):
        out += [
            {"role": "user", "content": words()},
            {"role": "assistant", "content": [text()]},
            {"role": "user", "content": words()},
            {"role": "assistant", "content": [text()]},
            {"role": "user", "content": words()},
        ]
        for k in range(2):
            ref = f"toolu_{n:06}_{k}"
            call = {"type": "tool_use", "id": ref, "name": "Read", "input": {"path": f"src/{words()[:12]}.py"}}
            result = {"type": "tool_result", "tool_use_id": f"{ref}", "content": words()}
            out += [{"role": "assistant", "content": [text(), call]}, {"role": "user", "content": [result]}]
        out.append({"role": "assistant", "content": [text()]})
    return out


def lengths(messages: list[Message]) -> int:
    """A quarter of all that is said, as plain Python adds it up."""
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


def judged(messages: list[Message]) -> list[int]:
    """Messages that break the rules of pairs and of what is empty, as plain Python finds them."""
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


def pairs(messages: list[Message]) -> list[int]:
    """The cuts that part no call from its result, from the end, as plain Python finds them."""
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


def spent(work: Callable[[], object]) -> float:
    """Seconds of CPU time."""
    start = time.process_time()
    work()
    return time.process_time() - start


def bounds(messages: list[Message]) -> dict[str, Callable[[], object]]:
    """Work of which each question takes more: in a cache, and loops in C over objects that it cannot do without."""
    tied: list[object] = []
    texts: list[object] = []
    for message in messages:
        content = message["content"]
        blocks = content if isinstance(content, list) else []
        tied += [message, content, *blocks, *(block[key] for block in blocks for key in IDS if key in block)]
        texts += [value for block in blocks for key, value in block.items() if key not in ("type", *IDS)]

    def each(question: Callable[[Any], object], of: list[Any]) -> Callable[[], object]:
        return lambda: collections.deque(map(question, of), maxlen=0)

    few = messages[:1_000]
    return {
        "validate, in cache": lambda: [trimtab.validate(few, provider="anthropic") for _ in messages[::1_000]],
        "split, in cache": lambda: [trimtab.split(few, keep_last=992) for _ in messages[::1_000]],
        "role of each message": each(operator.itemgetter("role"), messages),
        "type of what ties": each(type, tied),
        "type of all of it": each(type, tied + texts),
    }


def main() -> int:
    """Prints the table; 1 where a row takes longer than it may."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    messages = transcript(count)
    held = scan(messages, trimtab.Counter.chars(), "anthropic")
    cuts = [cut for cut in np.flatnonzero(held.safe)[::-1].tolist() if cut < len(messages)]
    found = {problem.code for problem in trimtab.validate(messages, provider="anthropic")}
    split = trimtab.split(messages, keep_last=count - 8)
    if (
        cuts != pairs(messages)
        or split != max(cut for cut in cuts if cut <= 8)
        or judged(messages)
        or found - {"request_too_large"}
    ):  # a million messages are 100 MB
        print("the answers differ")
        return 1
    works: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "scan": (lambda: scan(messages, trimtab.Counter.chars(), "anthropic"), lambda: lengths(messages)),
        "validate": (
            lambda: trimtab.validate(messages, provider="anthropic"),
            lambda: (lengths(messages), judged(messages)),
        ),
        "cuts, from the end": (lambda: np.flatnonzero(held.safe)[::-1], lambda: pairs(messages)),
        "split": (lambda: trimtab.split(messages, keep_last=count - 8), lambda: pairs(messages)),
    }
    took: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in works}
    for _ in range(ROUNDS):
        for name, both in works.items():
            for work, times in zip(both, took[name], strict=True):
                times.append(spent(work) / len(messages) * 1e9)
    print(f"{len(messages):,} messages, {ROUNDS} rounds, interleaved, CPU time; trimtab {trimtab.__version__}")
    late = []
    for name, (ours, plain) in took.items():
        here, there = statistics.median(ours), statistics.median(plain)
        spread = f"({min(ours):.0f} to {max(ours):.0f})"
        print(f"{name:20} {here:6.0f} ns {spread:16} plain Python {there:6.0f} ns   {there / here:.1f} x")
        late += [name] if here > LIMITS.get(name, here) else []
    print("what bounds them; loops in C:")
    for name, work in bounds(messages).items():
        times = [spent(work) / len(messages) * 1e9 for _ in range(ROUNDS)]
        print(f"{name:20} {statistics.median(times):6.0f} ns ({min(times):.0f} to {max(times):.0f})")
    if late:
        print(f"over what they may take: {', '.join(late)}")
    return bool(late)


if __name__ == "__main__":
    raise SystemExit(main())
