"""A loop without a framework: nothing is compacted, or by trimtab's ``fit``; for ``compare.py``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from _compare import as_chat

from support.agents import MODEL, OPTIONS
from trimtab import Compactor

if TYPE_CHECKING:
    from collections.abc import Callable

    from _compare import Played

    Fit = Callable[[list[Any], list[Any]], list[Any]]
    Record = Callable[[dict[str, int]], object]


async def talk(stub: Played, *, make: Callable[[], tuple[Fit, Record]]) -> None:
    fit, record = make()
    tools = [
        {"type": "function", "function": {"name": tool.name, "description": tool.name, "parameters": tool.schema}}
        for tool in stub.tools
    ]
    messages: list[Any] = [{"role": "system", "content": "Be good."}]
    for said in stub.requests():
        messages = [*messages, {"role": "user", "content": said}]
        calls = True
        while calls:
            messages = fit(messages, tools)
            answer = stub.answer(messages, tools)
            record({"prompt_tokens": answer.prompt, "completion_tokens": answer.usage})
            calls = bool(answer.calls)
            messages = [*messages, *as_chat(stub.turn)]


def nothing() -> tuple[Fit, Record]:
    return lambda messages, tools: messages, len  # noqa: ARG005


def ours() -> tuple[Fit, Record]:
    cm = Compactor(MODEL, provider="openai_chat", summarizer="offline", **OPTIONS)
    return lambda messages, tools: list(cm.fit(messages, tools=tools).messages), cm.record


ROWS = {"no compaction": partial(talk, make=nothing), "trimtab: `fit`": partial(talk, make=ours)}
