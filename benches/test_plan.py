"""Planning under every policy, alone and with the ledger that it needs, beside LangChain; ``make bench-plan``.

One warm process, one thread. A plan reads nothing but a ledger. The rows with a ledger include the first reading of the
messages and their counts, the policy's own or exact ones. LangChain's row is the cut-off search of its
``SummarizationMiddleware``, which counts as it searches, so that it stands beside the rows with a ledger. The plain
Python row is the partition of ``tests/oracle.py`` on a ledger.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest
from _transcripts import digest, openai

import oracle
import trimtab
from trimtab.planning.decide import decide
from trimtab.planning.plan import Need
from trimtab.planning.stages.costs import Costs
from trimtab.policies import POLICIES

if TYPE_CHECKING:
    from trimtab import Policy

SIZES = (10_000, 100_000, 1_000_000)
ROUNDS = 7
WINDOW = 200_000
LIMIT = 0.075
"""Seconds that planning over 1,000,000 messages may take; medians were 24 to 55 ms on a shared machine."""


@cache
def transcript(count: int) -> list[dict[str, Any]]:
    return openai(count)


@pytest.fixture(params=SIZES, ids="{:,}".format)
def messages(request: pytest.FixtureRequest, small: bool) -> list[dict[str, Any]]:
    return transcript(request.param // 100 if small else request.param)


def ledger_of(messages: list[dict[str, Any]], policy: Policy) -> trimtab.Ledger:
    """A new ledger, by a counter that has read nothing yet."""
    counter = policy.counter.counter() if policy.counter else trimtab.Counter("o200k_base")
    return trimtab.Ledger.of(messages, counter=counter, provider="openai_chat")


@cache
def input_digest(count: int) -> str:
    return digest(transcript(count))


def group(what: str, messages: list[dict[str, Any]]) -> str:
    return f"{what}, {len(messages):,} messages, {input_digest(len(messages))}"


@pytest.mark.parametrize("name", POLICIES)
def test_plan_alone(benchmark: Any, messages: list[dict[str, Any]], name: str) -> None:
    policy = POLICIES[name]
    ledger = ledger_of(messages, policy)
    benchmark.group = group("plan alone", messages)
    benchmark.name = name
    need = Need(ledger.total // 3, window=WINDOW)
    benchmark.pedantic(lambda: decide(Costs(ledger), policy, need), rounds=ROUNDS, warmup_rounds=1)
    if benchmark.stats:
        assert len(messages) < SIZES[-1] or benchmark.stats.stats.median <= LIMIT


@pytest.mark.parametrize("name", POLICIES)
def test_plan_with_its_ledger(benchmark: Any, messages: list[dict[str, Any]], name: str) -> None:
    policy = POLICIES[name]

    def work() -> None:
        ledger = ledger_of(messages, policy)
        decide(Costs(ledger), policy, Need(ledger.total // 3, window=WINDOW))

    benchmark.group = group("ledger and plan", messages)
    benchmark.name = f"{name} ({policy.counter.name if policy.counter else 'o200k_base'})"
    benchmark.pedantic(work, rounds=ROUNDS, warmup_rounds=1)


def test_langchain_search(benchmark: Any, messages: list[dict[str, Any]]) -> None:
    summarization = pytest.importorskip("langchain.agents.middleware.summarization")
    models = pytest.importorskip("langchain_core.language_models")
    core = pytest.importorskip("langchain_core.messages")
    chat: list[Any] = []
    for message in messages:
        text = str(message["content"])
        if message["role"] == "tool":
            chat.append(core.ToolMessage(text, tool_call_id=message["tool_call_id"]))
        elif message["role"] == "user":
            chat.append(core.HumanMessage(text))
        else:
            calls = [{"id": c["id"], "name": "bash", "args": {"command": "ls"}} for c in message.get("tool_calls", ())]
            chat.append(core.AIMessage(text, tool_calls=calls))
    model = models.FakeListChatModel(responses=[""])
    middleware = summarization.SummarizationMiddleware(model=model, keep=("tokens", 40_000))
    benchmark.group = group("ledger and plan", messages)
    benchmark.name = f"LangChain {version('langchain')}"
    benchmark.pedantic(middleware._determine_cutoff_index, (chat,), rounds=1)  # noqa: SLF001 - what runs before a call


def test_partition_in_plain_python(benchmark: Any, messages: list[dict[str, Any]]) -> None:
    ledger = ledger_of(messages, POLICIES["agentpg"])
    costs, safe = ledger.per_message.tolist(), ledger.safe.tolist()
    none = [False] * len(costs)
    keepers = [("tokens", 40_000), ("messages", 10), ("pins", 0)]
    benchmark.group = group("plan alone", messages)
    benchmark.name = "partition in plain Python"
    benchmark.pedantic(oracle.partition, (costs, safe, safe, none, none), {"keepers": keepers}, rounds=3)
