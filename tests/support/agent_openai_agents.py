"""The stub as a model of the OpenAI Agents SDK, and an agent with it."""

from __future__ import annotations

import json
from typing import Any

from agents import Agent, FunctionTool, ModelResponse, Usage, function_tool
from agents.models.interface import Model as Interface
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseUsage,
)

from support.agents import Answer, Model, Tool, look


class Stub(Interface):
    """The stub as the SDK calls models."""

    def __init__(self, stub: Model) -> None:
        self.stub = stub

    def _output(self, system: Any, items: Any, tools: Any) -> tuple[list[Any], Answer]:
        sent = [[tool.name, tool.description, json.dumps(tool.params_json_schema)] for tool in tools]
        answer = self.stub.answer(items, [system, sent], provider="openai_responses")
        calls = [
            ResponseFunctionToolCall(
                type="function_call",
                name=call.name,
                arguments=json.dumps(call.input),
                call_id=call.id,
                id=f"fc_{call.id}",
            )
            for call in answer.calls
        ]
        if calls and not answer.text:
            return list(calls), answer
        text = ResponseOutputText(type="output_text", text=answer.text, annotations=[])
        name = f"msg_{self.stub.calls}"
        said = ResponseOutputMessage(id=name, type="message", role="assistant", status="completed", content=[text])
        return [said, *calls], answer

    async def get_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, *_: Any, **__: Any
    ) -> Any:
        output, answer = self._output(system_instructions, input, tools)
        prompt, made = answer.prompt, answer.usage
        usage = Usage(requests=1, input_tokens=prompt, output_tokens=made, total_tokens=prompt + made)
        return ModelResponse(output=output, usage=usage, response_id=f"resp_{self.stub.calls}")

    async def stream_response(self, system: Any, input: Any, settings: Any, tools: Any, *_: Any, **__: Any) -> Any:
        output, answer = self._output(system, input, tools)
        prompt, made = answer.prompt, answer.usage
        usage = ResponseUsage(
            input_tokens=prompt,
            output_tokens=made,
            total_tokens=prompt + made,
            input_tokens_details={"cached_tokens": 0, "cache_write_tokens": 0},
            output_tokens_details={"reasoning_tokens": 0},
        )
        response = Response(
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
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


def invoked(tool: Tool) -> FunctionTool:
    """Return a tool as the SDK has them."""

    async def invoke(context: Any, arguments: str) -> str:
        del context
        return tool.run(**json.loads(arguments))

    return FunctionTool(tool.name, tool.name, tool.schema, invoke, strict_json_schema=False)


def agent(stub: Model) -> Agent[None]:
    tools = [*map(invoked, stub.tools)] or [function_tool(look)]
    return Agent("worker", instructions="Be good.", model=Stub(stub), tools=tools)
