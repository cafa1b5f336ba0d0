"""The stub as a model of Agno, and an agent with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agno.agent import Agent
from agno.exceptions import ModelProviderError
from agno.metrics import MessageMetrics
from agno.models.base import Model as Interface
from agno.models.response import ModelResponse

from support.agents import Model, RefusedError, look


@dataclass
class Chat(Interface):
    """The stub as Agno calls models."""

    id: str = "stub"
    stub: Any = None

    def invoke(self, messages: Any, tools: Any = None, **_: Any) -> ModelResponse:
        sent = []
        for message in messages:
            wire = {"role": message.role, "content": message.content or ""}
            wire |= {"tool_calls": message.tool_calls} if message.tool_calls else {}
            sent.append(wire | ({"tool_call_id": message.tool_call_id} if message.role == "tool" else {}))
        try:
            answer = self.stub.answer(sent, tools)
        except RefusedError as error:
            raise ModelProviderError(str(error), status_code=400) from error
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.input)}}
            for call in answer.calls
        ]
        usage = MessageMetrics(input_tokens=answer.prompt, output_tokens=answer.usage)
        return ModelResponse(role="assistant", content=answer.text, tool_calls=calls, response_usage=usage)

    async def ainvoke(self, *arguments: Any, **options: Any) -> ModelResponse:
        return self.invoke(*arguments, **options)

    def invoke_stream(self, *arguments: Any, **options: Any) -> Any:
        yield self.invoke(*arguments, **options)

    async def ainvoke_stream(self, *arguments: Any, **options: Any) -> Any:
        yield self.invoke(*arguments, **options)

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        return response

    _parse_provider_response_delta = _parse_provider_response


def agent(model: Any, **options: Any) -> Agent:
    options.setdefault("tools", [look])
    return Agent(
        model=model,
        id="looker",
        instructions="Be good.",
        add_history_to_context=True,
        num_history_runs=1_000,
        telemetry=False,
        **options,
    )


def chat(stub: Model) -> Chat:
    return Chat(stub=stub)
