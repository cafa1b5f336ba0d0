"""The stub as a model of the OpenAI Agents SDK, and an agent with it."""

from __future__ import annotations

import json
from typing import Any

from agents import Agent, ModelResponse, Usage, function_tool
from agents.models.interface import Model as Interface
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseUsage,
)

from support.agents import Model, look


class Stub(Interface):
    """The stub as the SDK calls models."""

    def __init__(self, stub: Model) -> None:
        self.stub = stub

    def _output(self, system: Any, items: Any, tools: Any) -> tuple[list[Any], int]:
        sent = [[tool.name, tool.description, json.dumps(tool.params_json_schema)] for tool in tools]
        answer = self.stub.answer(items, [system, sent], provider="openai_responses")
        if answer.calls:
            calls = [
                ResponseFunctionToolCall(
                    type="function_call", name="look", arguments=json.dumps({"n": n}), call_id=name, id=f"fc_{name}"
                )
                for name, n in answer.calls
            ]
            return list(calls), answer.prompt
        text = ResponseOutputText(type="output_text", text=answer.text, annotations=[])
        name = f"msg_{self.stub.calls}"
        said = ResponseOutputMessage(id=name, type="message", role="assistant", status="completed", content=[text])
        return [said], answer.prompt

    async def get_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, *_: Any, **__: Any
    ) -> Any:
        output, prompt = self._output(system_instructions, input, tools)
        usage = Usage(requests=1, input_tokens=prompt, output_tokens=9, total_tokens=prompt + 9)
        return ModelResponse(output=output, usage=usage, response_id=f"resp_{self.stub.calls}")

    async def stream_response(self, system: Any, input: Any, settings: Any, tools: Any, *_: Any, **__: Any) -> Any:
        output, prompt = self._output(system, input, tools)
        usage = ResponseUsage(
            input_tokens=prompt,
            output_tokens=9,
            total_tokens=prompt + 9,
            input_tokens_details={"cached_tokens": 0, "cache_write_tokens": 0},
            output_tokens_details={"reasoning_tokens": 0},
        )
        answer = Response(
            id=f"resp_{self.stub.calls}",
            created_at=0,
            model="stub",
            object="response",
            output=output,
            usage=usage,
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(type="response.completed", response=answer, sequence_number=0)


def agent(stub: Model) -> Agent[None]:
    return Agent("worker", instructions="Be good.", model=Stub(stub), tools=[function_tool(look)])
