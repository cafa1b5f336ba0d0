"""LangChain's own middlewares and ours, for ``adapters.py``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from adapters import TRIGGER, Summaries
from support.agent_langchain import Chat, agent
from support.agents import MODEL, OPTIONS
from trimtab.adapters.langchain import CompactionMiddleware, token_counter

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Judged


async def talk(stub: Judged, *, make: Callable[[Judged], list[Any]]) -> None:
    running = agent(stub, *make(stub), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}, "recursion_limit": 10_000}
    for said in stub.requests():
        await running.ainvoke({"messages": [{"role": "user", "content": said}]}, config)


def summarization(stub: Judged, **options: Any) -> list[Any]:
    model = Chat(stub=Summaries(stub.encode, judged=stub))
    return [SummarizationMiddleware(model, trigger=("tokens", TRIGGER), **options)]


def editing(stub: Judged, **options: Any) -> list[Any]:
    del stub
    return [ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=TRIGGER)], **options)]


def ours(stub: Judged) -> list[Any]:
    del stub
    return [CompactionMiddleware(MODEL, **OPTIONS)]


def ours_with_a_model(stub: Judged) -> list[Any]:
    return [CompactionMiddleware(MODEL, summarizer=stub.summarize, **OPTIONS)]


COUNTER = token_counter(MODEL)
ROWS = {
    "no compaction": partial(talk, make=lambda _: []),
    "`SummarizationMiddleware`": partial(talk, make=summarization),
    "the first with our `token_counter`": partial(talk, make=partial(summarization, token_counter=COUNTER)),
    "the first, `trim_tokens_to_summarize=None`": partial(
        talk, make=partial(summarization, trim_tokens_to_summarize=None)
    ),
    "`ContextEditingMiddleware`": partial(talk, make=editing),
    "the second with our `token_counter`": partial(talk, make=partial(editing, token_counter=COUNTER)),
    "trimtab: `CompactionMiddleware`": partial(talk, make=ours),
    "the same, summaries by a model": partial(talk, make=ours_with_a_model),
}
