"""What deciding costs for 1,000,000 messages; ``make bench-plan``.

A row a policy: the median of the plans. Behind them, on the same messages, the search for a cut-off of LangChain's
``SummarizationMiddleware``, as it is, and a partition in plain Python on our counts. All in one process, in turn;
LangChain counts anew with every step of its search, so it has one round.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable  # noqa: TC003 - read with the module
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import oracle  # noqa: E402 - beside the tests, not in the package
import trimtab  # noqa: E402
from trimtab.planning.decide import decide  # noqa: E402
from trimtab.policies import POLICIES  # noqa: E402

ROUNDS = 7
LIMIT = 0.050
"""Seconds that no policy may take."""


def transcript(count: int) -> list[dict[str, Any]]:
    """So many messages: requests, calls with their results, answers."""
    call = {"id": "", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    out: list[dict[str, Any]] = []
    for n in range(count // 4):
        out += [
            {"role": "user", "content": f"step {n}: do what is to be done"},
            {"role": "assistant", "content": "looking", "tool_calls": [{**call, "id": f"c{n}"}]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"file {n} " + "of many words " * (n % 7)},
            {"role": "assistant", "content": "done"},
        ]
    return out


def rival(messages: list[dict[str, Any]], keep: int) -> Callable[[], int] | None:
    """LangChain's own search for a cut-off, on its own messages with its own count; None where it does not install."""
    try:
        from langchain.agents.middleware.summarization import SummarizationMiddleware
        from langchain_core.language_models import FakeListChatModel
        from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    except ImportError as error:
        print(f"LangChain is not here: {error}; pip install 'langchain>=1,<2'")
        return None
    talk: list[Any] = []
    for message in messages:
        text = str(message["content"])
        if message["role"] == "tool":
            talk.append(ToolMessage(text, tool_call_id=message["tool_call_id"]))
        elif message["role"] == "user":
            talk.append(HumanMessage(text))
        else:
            made = message.get("tool_calls", ())
            calls = [{"id": call["id"], "name": "bash", "args": {"command": "ls"}} for call in made]
            talk.append(AIMessage(text, tool_calls=calls))
    middleware = SummarizationMiddleware(model=FakeListChatModel(responses=[""]), keep=("tokens", keep))
    return lambda: int(middleware._determine_cutoff_index(talk))  # noqa: SLF001 - what the middleware runs before a call


def seconds(work: Callable[[], object]) -> float:
    """Processor time that it takes: what else the machine does is no part of it."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> int:
    """Prints the table; 1 where a policy takes longer than it may."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    messages = transcript(count)
    ledgers: dict[str, trimtab.Ledger] = {}
    works: dict[str, Callable[[], object]] = {}
    for name, policy in POLICIES.items():
        counter = policy.counter.counter() if policy.counter else trimtab.Counter.chars()
        key = repr(policy.counter)
        if key not in ledgers:
            ledgers[key] = trimtab.Ledger.of(messages, counter=counter, provider="openai_chat")
        held = ledgers[key]
        works[name] = lambda held=held, policy=policy: decide(held, policy, held.total // 3, window=200_000)
    first = next(iter(ledgers.values()))
    costs, safe = first.per_message.tolist(), first.safe.tolist()
    none = [False] * len(costs)
    keepers = [("tokens", 40_000), ("messages", 10), ("pins", 0)]
    slow = rival(messages, 40_000)
    works["(plain Python)"] = lambda: oracle.partition(costs, safe, safe, none, none, keepers=keepers)
    took: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            took[name].append(seconds(work))
    if slow:
        took[f"(LangChain {version('langchain')})"] = [seconds(slow)]
    print(f"{len(messages):,} messages, {ROUNDS} rounds, interleaved, processor time; trimtab {trimtab.__version__}")
    late = []
    for name, times in took.items():
        middle = statistics.median(times)
        print(f"{name:24} {middle * 1000:9.1f} ms   ({min(times) * 1000:.1f} to {max(times) * 1000:.1f})")
        late += [name] if name in POLICIES and middle > LIMIT else []
    if late:
        print(f"over {LIMIT * 1000:.0f} ms: {', '.join(late)}")
    return bool(late)


if __name__ == "__main__":
    raise SystemExit(main())
