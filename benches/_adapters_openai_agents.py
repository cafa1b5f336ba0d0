"""The sessions and the trimmer of the OpenAI Agents SDK and ours, for ``adapters.py``."""

from __future__ import annotations

import json
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import agents
from agents import RunConfig, Runner, SQLiteSession
from agents.extensions import ToolOutputTrimmer
from agents.memory import OpenAIResponsesCompactionSession, SessionSettings
from agents.memory.openai_responses_compaction_session import default_should_trigger_compaction

from adapters import TRIGGER, Summaries
from support.agent_openai_agents import agent
from support.agents import MODEL, OPTIONS
from trimtab.adapters.openai_agents import CompactingSession

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Judged

agents.set_tracing_disabled(disabled=True)


async def talk(stub: Judged, *, make: Callable[[Judged, Any], dict[str, Any]]) -> None:
    running = agent(stub)
    options = make(stub, running)
    for said in stub.requests():
        await Runner.run(running, said, max_turns=10_000, **options)


def plain(stub: Judged, running: Any, **settings: Any) -> dict[str, Any]:
    del stub, running
    return {"session": SQLiteSession("1", session_settings=SessionSettings(**settings))}


def trimmer(stub: Judged, running: Any) -> dict[str, Any]:
    return plain(stub, running) | {"run_config": RunConfig(call_model_input_filter=ToolOutputTrimmer())}


class Endpoint:
    """OpenAI's ``responses.compact``: the user's messages stay, one item stands for all others."""

    def __init__(self, stub: Judged) -> None:
        self.responses, self.summaries = self, Summaries(stub.encode, judged=stub)

    async def compact(self, *, model: str, input: list[Any], **_: Any) -> Any:
        del model
        item = {"type": "compaction", "encrypted_content": self.summaries.answer(input, None).text}
        return SimpleNamespace(output=[*(each for each in input if each.get("role") == "user"), item], usage=None)


def compacting(stub: Judged, running: Any) -> dict[str, Any]:
    """Return a session that begins where the others do, but not before its own default: ten items to replace."""
    del running

    def due(context: dict[str, Any]) -> bool:
        is_large = len(stub.encode(json.dumps(context["session_items"]))) > TRIGGER
        return is_large and default_should_trigger_compaction(context)

    options = {"model": MODEL, "compaction_mode": "input", "should_trigger_compaction": due}
    return {"session": OpenAIResponsesCompactionSession("1", SQLiteSession("1"), client=Endpoint(stub), **options)}


def ours(stub: Judged, running: Any, **options: Any) -> dict[str, Any]:
    del stub
    session = CompactingSession(SQLiteSession("1"), MODEL, agent=running, **options, **OPTIONS)
    fits = session.input_filter()
    return {"session": session, "hooks": fits.hooks, "run_config": RunConfig(call_model_input_filter=fits)}


def ours_with_a_model(stub: Judged, running: Any) -> dict[str, Any]:
    return ours(stub, running, summarizer=stub.summarize)


ROWS = {
    "no compaction": partial(talk, make=plain),
    "`SessionSettings(limit=40)`": partial(talk, make=partial(plain, limit=40)),
    "`ToolOutputTrimmer()`": partial(talk, make=trimmer),
    "`OpenAIResponsesCompactionSession`": partial(talk, make=compacting),
    "trimtab: `CompactingSession` and its filter": partial(talk, make=ours),
    "the same, summaries by a model": partial(talk, make=ours_with_a_model),
}
