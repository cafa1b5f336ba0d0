"""Agno's own compaction and ours, for ``adapters.py``."""

from __future__ import annotations

from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import tiktoken
from agno.compaction import Compaction
from agno.db.sqlite import SqliteDb
from tiktoken_ext import openai_public

from adapters import TRIGGER, Summaries
from support.agent_agno import agent, chat
from support.agents import MODEL, OPTIONS
from trimtab._core import Counter
from trimtab.adapters.agno import token_counter, wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Judged

# Agno's own estimate is tiktoken's, which would fetch the vocabulary.
RANKS = {token: rank for rank, token in enumerate(Counter("o200k_base").vocabulary("o200k_base"))}
openai_public.load_tiktoken_bpe = lambda *_, **__: RANKS
tiktoken.get_encoding("o200k_base")

Made = tuple[Any, dict[str, Any]]


async def talk(stub: Judged, *, make: Callable[[Judged], Made]) -> None:
    model, options = make(stub)
    with TemporaryDirectory() as folder:
        running = agent(model, db=SqliteDb(db_file=f"{folder}/agno.db"), **options)
        for said in stub.requests():
            await running.arun(said, session_id="talk")


def none(stub: Judged) -> Made:
    return chat(stub), {}


def own(stub: Judged) -> Made:
    model = chat(Summaries(stub.encode, judged=stub))
    return chat(stub), {"compaction": Compaction(model=model, compact_at_tokens=TRIGGER, uncompacted_tokens=5_000)}


def counted(stub: Judged) -> Made:
    model, options = own(stub)
    options["compaction"].token_counter = token_counter(MODEL)
    return model, options


def ours(stub: Judged) -> Made:
    return wrap(chat(stub), MODEL, **OPTIONS), {}


def ours_with_a_model(stub: Judged) -> Made:
    return wrap(chat(stub), MODEL, summarizer=stub.summarize, **OPTIONS), {}


ROWS = {
    "no compaction": partial(talk, make=none),
    "`Compaction(uncompacted_tokens=5_000)`": partial(talk, make=own),
    "the same with our `token_counter`": partial(talk, make=counted),
    "trimtab: `wrap`": partial(talk, make=ours),
    "the same, summaries by a model": partial(talk, make=ours_with_a_model),
}
