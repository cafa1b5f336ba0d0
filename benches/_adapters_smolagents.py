"""smolagents, which has no compaction of its own, and ours, for ``adapters.py``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from support.agent_smolagents import agent
from support.agents import MODEL, OPTIONS
from trimtab.adapters.smolagents import MemoryCompaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Judged


async def talk(stub: Judged, *, make: Callable[[Judged], list[Any]]) -> None:
    running = agent(stub, *make(stub))
    for said in stub.requests():
        running.run(said, reset=False)


def ours(stub: Judged) -> list[Any]:
    del stub
    return [MemoryCompaction(MODEL, **OPTIONS)]


def ours_with_a_model(stub: Judged) -> list[Any]:
    return [MemoryCompaction(MODEL, summarizer=stub.summarize, **OPTIONS)]


ROWS = {
    "no compaction; it has none": partial(talk, make=lambda _: []),
    "trimtab: `MemoryCompaction`": partial(talk, make=ours),
    "the same, summaries by a model": partial(talk, make=ours_with_a_model),
}
