"""The stub as an LLM of CrewAI, and an agent with it."""

from __future__ import annotations

import json
from typing import Any

from crewai import Agent
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool
from crewai.utilities.exceptions.context_window_exceeding_exception import LLMContextLengthExceededError
from pydantic import PrivateAttr

from support.agents import CALLS, Model, RefusedError
from support.agents import look as looked

WIRE = ("role", "content", "tool_calls", "tool_call_id")


class Chat(BaseLLM):
    """The stub as CrewAI calls LLMs."""

    model: str = "stub"
    _stub: Any = PrivateAttr()

    def __init__(self, stub: Model, **fields: Any) -> None:
        super().__init__(model="stub", **fields)
        self._stub = stub

    def call(self, messages: Any, tools: Any = None, *_: Any, **__: Any) -> Any:
        given = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        sent = [{name: message[name] for name in WIRE if name in message} for message in given]
        try:
            answer = self._stub.answer(sent, tools)
        except RefusedError as error:
            raise LLMContextLengthExceededError(str(error)) from error
        self._track_token_usage_internal({"prompt_tokens": answer.prompt, "completion_tokens": answer.usage})
        if not answer.calls:
            return answer.text
        return [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.input)}}
            for call in answer.calls
        ]

    async def acall(self, *arguments: Any, **options: Any) -> Any:
        return self.call(*arguments, **options)

    def supports_function_calling(self) -> bool:
        return True

    def get_context_window_size(self) -> int:
        return int(self._stub.window * 0.85)


@tool("look")
def look(n: int) -> str:
    """Look at something. n: its number."""
    return looked(n)


def agent(llm: Any, **options: Any) -> Agent:
    return Agent(
        role="looker",
        goal="look",
        backstory="Be good.",
        llm=llm,
        tools=options.pop("tools", [look]),
        max_iter=2 * CALLS,
        verbose=False,
        **options,
    )
