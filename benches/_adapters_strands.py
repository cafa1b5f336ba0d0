"""The conversation managers of Strands and ours, for ``adapters.py``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from strands.agent.conversation_manager import (
    NullConversationManager,
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)

from adapters import TRIGGER, Summaries
from support.agent_strands import Converse, agent
from support.agents import MODEL, OPTIONS
from trimtab.adapters.strands import CompactingConversationManager

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Judged

LIMIT = OPTIONS["window"] - OPTIONS["max_output"]
EARLY = {"compression_threshold": TRIGGER / LIMIT}


class Sized(Converse):
    """The stub, which says how much it takes: Strands begins before the limit only where it knows it."""

    context_window_limit = LIMIT


async def talk(stub: Judged, *, make: Callable[[Judged], Any]) -> None:
    running = agent(stub, make(stub))
    running.model = Sized(stub)
    for said in stub.requests():
        await running.invoke_async(said)


def summarizing(stub: Judged) -> Any:
    writer = agent(Summaries(stub.encode, judged=stub), NullConversationManager())
    return SummarizingConversationManager(summarization_agent=writer, proactive_compression=EARLY)


def ours(stub: Judged, **options: Any) -> Any:
    del stub
    return CompactingConversationManager(MODEL, **options, **OPTIONS)


def ours_with_a_model(stub: Judged) -> Any:
    return ours(stub, summarizer=stub.summarize)


ROWS = {
    "no compaction": partial(talk, make=lambda _: NullConversationManager()),
    "`SlidingWindowConversationManager`": partial(
        talk, make=lambda _: SlidingWindowConversationManager(proactive_compression=EARLY)
    ),
    "the same, `per_turn=True`": partial(
        talk, make=lambda _: SlidingWindowConversationManager(per_turn=True, proactive_compression=EARLY)
    ),
    "`SummarizingConversationManager`": partial(talk, make=summarizing),
    "trimtab: `CompactingConversationManager`": partial(talk, make=ours),
    "the same, summaries by a model": partial(talk, make=ours_with_a_model),
}
