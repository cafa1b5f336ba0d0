"""LlamaIndex's own memories and ours, for ``adapters.py``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import Memory

from adapters import TRIGGER
from support.agent_llama_index import Chat, tools
from support.agents import MODEL, OPTIONS
from trimtab import Compactor
from trimtab.adapters.llama_index import CompactingFunctionAgent, tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Judged

COUNT = tokenizer(MODEL)


def whole(stub: Judged) -> Any:
    del stub
    return Memory.from_defaults(token_limit=10**9, tokenizer_fn=COUNT)


def limited(stub: Judged) -> Any:
    del stub
    return Memory.from_defaults(token_limit=TRIGGER, tokenizer_fn=COUNT)


async def talk(
    stub: Judged, *, memory: Callable[[Judged], Any] = whole, make: Callable[..., Any] = FunctionAgent
) -> None:
    options = {"compactor": make(stub)} if make is not FunctionAgent else {}
    kind = CompactingFunctionAgent if options else FunctionAgent
    running = kind(tools=tools(), llm=Chat(stub=stub), system_prompt="Be good.", **options)
    kept = memory(stub)
    for said in stub.requests():
        await running.run(said, memory=kept, max_iterations=10_000)


def ours(stub: Judged) -> Any:
    del stub
    return Compactor(MODEL, provider="openai_chat", **OPTIONS)


def ours_with_a_model(stub: Judged) -> Any:
    return Compactor(MODEL, provider="openai_chat", summarizer=stub.summarize, **OPTIONS)


ROWS = {
    "no compaction": talk,
    "`Memory`, with our `tokenizer`": partial(talk, memory=limited),
    "trimtab: `CompactingFunctionAgent`": partial(talk, make=ours),
    "the same, summaries by a model": partial(talk, make=ours_with_a_model),
}
