"""The stub as a model of smolagents, and an agent with it."""

from __future__ import annotations

import json
from typing import Any

from smolagents import ToolCallingAgent, tool
from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    MessageRole,
    get_clean_message_list,
    get_tool_json_schema,
    tool_role_conversions,
)
from smolagents.models import Model as Interface
from smolagents.monitoring import LogLevel, TokenUsage

from support.agents import Call, Model, look


class Chat(Interface):
    """The stub as smolagents calls models: its last answer of a turn is a call of ``final_answer``."""

    def __init__(self, stub: Model) -> None:
        super().__init__(model_id="stub")
        self.stub = stub

    def _answer(self, messages: Any, tools: Any) -> Any:
        sent = get_clean_message_list(messages, role_conversions=tool_role_conversions)
        sent = [{**message, "role": message["role"].value} for message in sent]
        answer = self.stub.answer(sent, [get_tool_json_schema(each) for each in tools or ()])
        if answer.text:
            answer.calls = [Call("call_end", "final_answer", {"answer": answer.text})]
        return answer, TokenUsage(answer.prompt, answer.usage)

    def generate(self, messages: Any, tools_to_call_from: Any = None, **_: Any) -> ChatMessage:
        answer, usage = self._answer(messages, tools_to_call_from)
        calls = [
            ChatMessageToolCall(ChatMessageToolCallFunction(call.input, call.name), call.id, "function")
            for call in answer.calls
        ]
        return ChatMessage(MessageRole.ASSISTANT, "", calls, token_usage=usage)

    def generate_stream(self, messages: Any, tools_to_call_from: Any = None, **_: Any) -> Any:
        answer, usage = self._answer(messages, tools_to_call_from)
        for n, call in enumerate(answer.calls):
            function = ChatMessageToolCallFunction(json.dumps(call.input), call.name)
            yield ChatMessageStreamDelta("", [ChatMessageToolCallStreamDelta(n, call.id, "function", function)])
        yield ChatMessageStreamDelta("", token_usage=usage)


def agent(stub: Model, *callbacks: Any, **options: Any) -> ToolCallingAgent:
    return ToolCallingAgent(
        tools=options.pop("tools", [tool(look)]),
        model=Chat(stub),
        step_callbacks=[*callbacks],
        max_steps=1_000,
        verbosity_level=LogLevel.OFF,
        instructions="Be good.",
        **options,
    )
