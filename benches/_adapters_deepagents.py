"""Deep Agents' own summarization and ours, for ``adapters.py``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from deepagents.backends import StateBackend
from deepagents.middleware import SummarizationMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from adapters import TRIGGER, Summaries
from support.agent_deepagents import agent
from support.agent_langchain import Chat
from support.agents import MODEL, OPTIONS
from trimtab.adapters.deepagents import DeepAgentsMiddleware
from trimtab.adapters.langchain import token_counter

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Judged


async def talk(stub: Judged, *, make: Callable[[Judged], Any]) -> None:
    running = agent(stub, make(stub), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}, "recursion_limit": 10_000}
    for said in stub.requests():
        await running.ainvoke({"messages": [{"role": "user", "content": said}]}, config)


def summarization(stub: Judged, trigger: int = TRIGGER, **options: Any) -> Any:
    model = Chat(stub=Summaries(stub.encode, judged=stub))
    return SummarizationMiddleware(model, backend=StateBackend(), trigger=("tokens", trigger), **options)


def ours(stub: Judged) -> Any:
    del stub
    return DeepAgentsMiddleware(MODEL, **OPTIONS)


def ours_with_a_model(stub: Judged) -> Any:
    return DeepAgentsMiddleware(MODEL, summarizer=stub.summarize, **OPTIONS)


COUNTER = token_counter(MODEL)
ROWS = {
    "no compaction": partial(talk, make=partial(summarization, trigger=10**9)),
    "`SummarizationMiddleware`": partial(talk, make=summarization),
    "the same with our `token_counter`": partial(talk, make=partial(summarization, token_counter=COUNTER)),
    "trimtab: `DeepAgentsMiddleware`": partial(talk, make=ours),
    "the same, summaries by a model": partial(talk, make=ours_with_a_model),
}
