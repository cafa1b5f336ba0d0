"""Inspect's own compaction and ours, for ``adapters.py``."""

from __future__ import annotations

import os
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from inspect_ai.model import CompactionAuto, CompactionEdit, CompactionSummary, CompactionTrim

from adapters import TRIGGER, Summaries
from support.agent_inspect_ai import agent, chat, evaluate
from support.agents import MODEL, OPTIONS
from trimtab.adapters.inspect_ai import CompactionTrimtab

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Judged

os.environ["INSPECT_DISPLAY"] = "none"


class Both:
    """The stub, which is asked for summaries too: such a request has no tools."""

    def __init__(self, stub: Judged) -> None:
        self.stub, self.encode = stub, stub.encode
        self._summaries = Summaries(stub.encode, judged=stub)

    def answer(self, messages: list[dict[str, Any]], tools: Any) -> Any:
        return (self.stub if tools else self._summaries).answer(messages, tools)


async def talk(stub: Judged, *, make: Callable[[Judged], Any]) -> None:
    requests = iter(stub.requests())

    async def go_on(state: Any) -> Any:
        return True if state.output.message.tool_calls else next(requests, False)

    with TemporaryDirectory() as folder:
        running = agent(make(stub), on_continue=go_on)
        await evaluate(chat(Both(stub)), next(requests), running, folder)


def auto(stub: Judged) -> Any:
    del stub
    return CompactionAuto(threshold=TRIGGER)


def summary(stub: Judged) -> Any:
    del stub
    return CompactionSummary(threshold=TRIGGER)


def trim(stub: Judged) -> Any:
    del stub
    return CompactionTrim(threshold=TRIGGER)


def edit(stub: Judged) -> Any:
    del stub
    return CompactionEdit(threshold=TRIGGER)


def ours(stub: Judged) -> Any:
    del stub
    return CompactionTrimtab(MODEL, **OPTIONS)


def ours_with_a_model(stub: Judged) -> Any:
    return CompactionTrimtab(MODEL, summarizer=stub.summarize, **OPTIONS)


ROWS = {
    "no compaction": partial(talk, make=lambda _: None),
    "`CompactionSummary`": partial(talk, make=summary),
    "`CompactionAuto`": partial(talk, make=auto),
    "`CompactionTrim`": partial(talk, make=trim),
    "`CompactionEdit`": partial(talk, make=edit),
    "trimtab: `CompactionTrimtab`": partial(talk, make=ours),
    "the same, summaries by a model": partial(talk, make=ours_with_a_model),
}
