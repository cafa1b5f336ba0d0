"""Compactions of pydantic-ai-harness and ours, for ``adapters.py``; pydantic-ai has none of its own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic_ai import UsageLimits
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai_harness.compaction import (
    ClearToolResults,
    SlidingWindowCompaction,
    SummarizingCompaction,
    TieredCompaction,
)

from adapters import TRIGGER, Summaries
from support.agent_pydantic_ai import agent
from support.agents import MODEL, OPTIONS
from trimtab.adapters.pydantic_ai import CompactionCapability

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Judged

FREE = UsageLimits(request_limit=None)


async def talk(stub: Judged, *, make: Callable[[Judged], list[Any]]) -> None:
    running, history = agent(stub, *make(stub)), None
    for said in stub.requests():
        result = await running.run(said, message_history=history, conversation_id="1", usage_limits=FREE)
        history = result.all_messages()


def summarizing(stub: Judged) -> SummarizingCompaction[Any]:
    summaries = Summaries(stub.encode, judged=stub)

    def write(messages: list[Any], info: Any) -> ModelResponse:
        texts = [{"content": getattr(part, "content", "")} for message in messages for part in message.parts]
        return ModelResponse(parts=[TextPart(summaries.answer(texts, info.instructions).text)])

    return SummarizingCompaction(model=FunctionModel(write, model_name="stub"), max_tokens=TRIGGER)


def tiers(stub: Judged) -> list[Any]:
    cheap = ClearToolResults[Any](max_tokens=1)
    return [TieredCompaction[Any](tiers=[cheap, summarizing(stub)], target_tokens=TRIGGER)]


ROWS = {
    "no compaction": partial(talk, make=lambda _: []),
    "harness: `ClearToolResults`": partial(talk, make=lambda _: [ClearToolResults[Any](max_tokens=TRIGGER)]),
    "harness: `SlidingWindowCompaction`": partial(
        talk, make=lambda _: [SlidingWindowCompaction[Any](max_tokens=TRIGGER)]
    ),
    "harness: `SummarizingCompaction`": partial(talk, make=lambda stub: [summarizing(stub)]),
    "harness: `TieredCompaction` of the first and the last": partial(talk, make=tiers),
    "trimtab: `CompactionCapability`": partial(talk, make=lambda _: [CompactionCapability(MODEL, **OPTIONS)]),
    "the same, summaries by a model": partial(
        talk, make=lambda stub: [CompactionCapability(MODEL, summarizer=stub.summarize, **OPTIONS)]
    ),
}
