"""CrewAI's own compaction and ours, for ``adapters.py``."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}

from crewai.events.utils.console_formatter import set_suppress_console_output

from adapters import TRIGGER, Summaries
from support.agent_crewai import Chat, agent
from support.agents import MODEL, OPTIONS
from trimtab.adapters.crewai import wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Judged


set_suppress_console_output(True)


class Own(Chat):
    """The stub, of whose window CrewAI uses as much as ours; another one writes the summaries."""

    def get_context_window_size(self) -> int:
        return TRIGGER

    def summarize_messages(self, messages: Any, callbacks: Any, verbose: bool = True) -> None:  # noqa: FBT002
        Chat(Summaries(self._stub.encode, judged=self._stub)).summarize_messages(messages, callbacks, verbose)


async def talk(stub: Judged, *, make: Callable[[Judged], tuple[Any, dict[str, Any]]]) -> None:
    llm, options = make(stub)
    history: list[Any] = []
    for said in stub.requests():
        answer = await agent(llm, **options).kickoff_async([*history, {"role": "user", "content": said}])
        history = [message for message in answer.messages if message["role"] != "system"]


def none(stub: Judged) -> tuple[Any, dict[str, Any]]:
    return Chat(stub), {"respect_context_window": False}


def own(stub: Judged) -> tuple[Any, dict[str, Any]]:
    return Own(stub), {}


def ours(stub: Judged) -> tuple[Any, dict[str, Any]]:
    return wrap(Chat(stub), MODEL, session="talk", **OPTIONS), {}


def ours_with_a_model(stub: Judged) -> tuple[Any, dict[str, Any]]:
    return wrap(Chat(stub), MODEL, session="talk", summarizer=stub.summarize, **OPTIONS), {}


ROWS = {
    "no compaction": partial(talk, make=none),
    "`respect_context_window=True`": partial(talk, make=own),
    "trimtab: `wrap`": partial(talk, make=ours),
    "the same, summaries by a model": partial(talk, make=ours_with_a_model),
}
