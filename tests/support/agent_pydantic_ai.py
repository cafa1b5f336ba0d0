"""The stub as a model of pydantic-ai, and an agent with it."""

from __future__ import annotations

import json
from typing import Any

from pydantic_ai import Agent, Tool
from pydantic_ai import messages as ai
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage

from support.agents import Model, RefusedError, look


def wire(messages: list[Any], info: Any) -> tuple[list[dict[str, Any]], Any]:
    """The prompt as a provider of Anthropic's shape is sent it; system text apart."""
    sent: list[dict[str, Any]] = []
    for n, message in enumerate(messages):
        blocks: list[dict[str, Any]] = []
        for part in message.parts:
            match part.part_kind:
                case "system-prompt":
                    assert n == 0, "pydantic-ai finds the system prompt in the first request alone"
                case "user-prompt" | "text" | "compaction":
                    blocks.append({"type": "text", "text": part.content})
                case "tool-call":
                    args = part.args_as_dict()
                    blocks.append({"type": "tool_use", "id": part.tool_call_id, "name": part.tool_name, "input": args})
                case "tool-return":
                    text = part.model_response_str()
                    blocks.append({"type": "tool_result", "tool_use_id": part.tool_call_id, "content": text})
        sent.append({"role": "user" if message.kind == "request" else "assistant", "content": blocks})
    prompts = [part.content for part in messages[0].parts if part.part_kind == "system-prompt"]
    assert prompts == ["Be good."]
    tools = [[tool.name, tool.description, json.dumps(tool.parameters_json_schema)] for tool in info.function_tools]
    return sent, [tools, info.instructions or "", prompts]


def asked(stub: Model, messages: list[Any], info: Any) -> Any:
    try:
        return stub.answer(*wire(messages, info), provider="anthropic")
    except RefusedError as error:
        raise ModelHTTPError(400, "stub", {"message": str(error), "code": "context_length_exceeded"}) from error


def model(stub: Model) -> FunctionModel:
    def function(messages: list[Any], info: Any) -> ai.ModelResponse:
        answer = asked(stub, messages, info)
        calls = [ai.ToolCallPart(call.name, call.input, call.id) for call in answer.calls]
        usage = RequestUsage(input_tokens=answer.prompt, output_tokens=answer.usage)
        return ai.ModelResponse(parts=[*([ai.TextPart(answer.text)] if answer.text else []), *calls], usage=usage)

    async def stream(messages: list[Any], info: Any) -> Any:
        answer = asked(stub, messages, info)
        if answer.text:
            for word in answer.text.split():
                yield f"{word} "
        for n, call in enumerate(answer.calls):
            yield {n: DeltaToolCall(call.name, json.dumps(call.input), tool_call_id=call.id)}

    return FunctionModel(function, stream_function=stream, model_name="stub")


def agent(stub: Model, *capabilities: Any) -> Agent[None, str]:
    tools = [Tool.from_schema(each.run, each.name, each.name, each.schema) for each in stub.tools] or [look]
    return Agent(
        model(stub), system_prompt="Be good.", instructions="And brief.", tools=tools, capabilities=capabilities
    )
