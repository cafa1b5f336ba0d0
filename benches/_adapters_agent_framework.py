"""The Agent Framework's own strategies and ours, for ``adapters.py``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from agent_framework import (
    AgentSession,
    CharacterEstimatorTokenizer,
    SummarizationStrategy,
    TruncationStrategy,
)

from adapters import TRIGGER, Summaries
from support.agent_framework_stub import Chat, agent
from support.agents import MODEL, OPTIONS, look
from trimtab.adapters.agent_framework import CompactionChatMiddleware, ExactTokenizer, FittingStrategy

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Judged


async def talk(stub: Judged, *, make: Callable[[Judged], list[Any]] | None = None, **options: Any) -> None:
    running, session = agent(stub, *(make(stub) if make else ()), **options), AgentSession()
    for said in stub.requests():
        await running.run(said, session=session)


async def truncating(stub: Judged, *, tokenizer: Any) -> None:
    strategy = TruncationStrategy(max_n=TRIGGER, compact_to=TRIGGER // 2, tokenizer=tokenizer)
    await talk(stub, compaction_strategy=strategy, tokenizer=tokenizer)


async def summarizing(stub: Judged) -> None:
    client = Chat(stub=Summaries(stub.encode, judged=stub))
    await talk(stub, compaction_strategy=SummarizationStrategy(client=client, target_count=20))


async def fitting(stub: Judged) -> None:
    strategy = FittingStrategy(MODEL, instructions="Be good.", tools=[look], **OPTIONS)
    await talk(stub, compaction_strategy=strategy)


def ours(stub: Judged) -> list[Any]:
    del stub
    return [CompactionChatMiddleware(MODEL, **OPTIONS)]


def ours_with_a_model(stub: Judged) -> list[Any]:
    return [CompactionChatMiddleware(MODEL, summarizer=stub.summarize, **OPTIONS)]


ROWS = {
    "no compaction": talk,
    "`TruncationStrategy` with its own tokenizer": partial(truncating, tokenizer=CharacterEstimatorTokenizer()),
    "the same with our `ExactTokenizer`": partial(truncating, tokenizer=ExactTokenizer(MODEL)),
    "`SummarizationStrategy(target_count=20)`": summarizing,
    "trimtab: `CompactionChatMiddleware`": partial(talk, make=ours),
    "the same, summaries by a model": partial(talk, make=ours_with_a_model),
    "trimtab: `FittingStrategy`": fitting,
}
