"""ADK's own compaction and ours, for ``adapters.py``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.adk.sessions import InMemorySessionService
from google.genai import types

from adapters import TRIGGER, Summaries
from support.agent_google_adk import RUNS, Gemini, runner
from support.agents import MODEL, OPTIONS
from trimtab.adapters.google_adk import CompactionPlugin, EventsSummarizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Judged


async def talk(stub: Judged, *, make: Callable[[Judged], list[Any]] | None = None, **options: Any) -> None:
    service = InMemorySessionService()
    await service.create_session(app_name="app", user_id="ann", session_id="talk")
    running = runner(stub, service, *(make(stub) if make else ()), **options)
    for said in stub.requests():
        asked = {"user_id": "ann", "session_id": "talk", "new_message": types.UserContent(said)}
        async for _ in running.run_async(**asked, run_config=RUNS[False]):
            pass


async def compacting(stub: Judged) -> None:
    summarizer = LlmEventSummarizer(llm=Gemini(stub=Summaries(stub.encode, judged=stub)))
    config = EventsCompactionConfig(summarizer=summarizer, token_threshold=TRIGGER, event_retention_size=10)
    await talk(stub, events_compaction_config=config)


async def compacting_without_a_model(stub: Judged) -> None:
    summarizer = EventsSummarizer(MODEL)
    config = EventsCompactionConfig(summarizer=summarizer, token_threshold=TRIGGER, event_retention_size=10)
    await talk(stub, events_compaction_config=config)


def filtering(stub: Judged) -> list[Any]:
    del stub
    return [ContextFilterPlugin(num_invocations_to_keep=2)]


def ours(stub: Judged) -> list[Any]:
    del stub
    return [CompactionPlugin(MODEL, **OPTIONS)]


def ours_with_a_model(stub: Judged) -> list[Any]:
    return [CompactionPlugin(MODEL, summarizer=stub.summarize, **OPTIONS)]


ROWS = {
    "no compaction": talk,
    "`EventsCompactionConfig(event_retention_size=10)`": compacting,
    "the same with our `EventsSummarizer`": compacting_without_a_model,
    "`ContextFilterPlugin(num_invocations_to_keep=2)`": partial(talk, make=filtering),
    "trimtab: `CompactionPlugin`": partial(talk, make=ours),
    "the same, summaries by a model": partial(talk, make=ours_with_a_model),
}
