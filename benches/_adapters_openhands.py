"""OpenHands's own condenser and ours, for ``adapters.py``."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import tiktoken
from tiktoken_ext import openai_public

from adapters import TRIGGER, Summaries
from support.agents import MODEL, OPTIONS
from trimtab._core import Counter

os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1"}

from openhands.sdk.context.condenser import LLMSummarizingCondenser

from support.agent_openhands import agent, chat, conversation
from trimtab.adapters.openhands import TrimtabCondenser

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Judged

# The count of OpenHands's own condenser is tiktoken's, which would fetch the vocabulary.
RANKS = {token: rank for rank, token in enumerate(Counter("o200k_base").vocabulary("o200k_base"))}
openai_public.load_tiktoken_bpe = lambda *_, **__: RANKS
tiktoken.get_encoding("o200k_base")


async def talk(stub: Judged, *, make: Callable[[Judged], Any]) -> None:
    with TemporaryDirectory() as folder:
        running = conversation(agent(chat(stub), condenser=make(stub)), Path(folder))
        for said in stub.requests():
            running.send_message(said)
            await running.arun()
        running.close()


def none(stub: Judged) -> None:
    del stub


def own(stub: Judged, **options: int) -> LLMSummarizingCondenser:
    model = chat(Summaries(stub.encode, judged=stub), "summaries")
    return LLMSummarizingCondenser(llm=model, **options)


def ours(stub: Judged) -> TrimtabCondenser:
    del stub
    return TrimtabCondenser(MODEL, **OPTIONS)


def ours_with_a_model(stub: Judged) -> TrimtabCondenser:
    return TrimtabCondenser(MODEL, summarizer=stub.summarize, **OPTIONS)


ROWS = {
    "no condenser": partial(talk, make=none),
    "`LLMSummarizingCondenser(max_size=80, keep_first=4)`, the default agent's": partial(
        talk, make=partial(own, max_size=80, keep_first=4)
    ),
    "`LLMSummarizingCondenser(max_size=10_000, max_tokens=14_400)`": partial(
        talk, make=partial(own, max_size=10_000, max_tokens=TRIGGER)
    ),
    "trimtab: `TrimtabCondenser`": partial(talk, make=ours),
    "the same, summaries by a model": partial(talk, make=ours_with_a_model),
}
