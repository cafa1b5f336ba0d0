"""The stub as a chat client of Microsoft's Agent Framework, and an agent with it."""

from __future__ import annotations

from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
)
from agent_framework.exceptions import ChatClientException

from support.agents import Model, RefusedError, look


def wire(message: Any) -> list[dict[str, Any]]:
    """A message as a provider of OpenAI's shape is sent it: each result apart."""
    if message.role == "tool":
        return [{"role": "tool", "tool_call_id": each.call_id, "content": each.result} for each in message.contents]
    calls = [
        {"id": each.call_id, "type": "function", "function": {"name": each.name, "arguments": each.arguments}}
        for each in message.contents
        if each.type == "function_call"
    ]
    return [{"role": message.role, "content": message.text} | ({"tool_calls": calls} if calls else {})]


class RawChat(BaseChatClient):
    """The stub as the framework calls models."""

    def __init__(self, *, stub: Model, **options: Any) -> None:
        super().__init__(**options)
        self.stub = stub

    def _answer(self, messages: Any, options: Any) -> tuple[list[Any], Any]:
        tools = [tool.to_json_schema_spec() for tool in options.get("tools") or ()]
        sent = [part for message in messages for part in wire(message)]
        try:
            answer = self.stub.answer(sent, [tools, options.get("instructions")])
        except RefusedError as error:
            raise ChatClientException(str(error)) from error
        calls = [
            Content.from_function_call(call.id, call.name, arguments=f'{{"n": {call.input["n"]}}}')
            for call in answer.calls
        ]
        said = [Content.from_text(answer.text)] if answer.text else []
        usage = {"input_token_count": answer.prompt, "output_token_count": answer.usage}
        return [*said, *calls], usage

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        async def whole() -> ChatResponse:
            contents, usage = self._answer(messages, options)
            return ChatResponse(messages=[Message("assistant", contents)], usage_details=usage)

        async def updates() -> Any:
            contents, usage = self._answer(messages, options)
            yield ChatResponseUpdate(role="assistant", contents=contents)
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_usage(usage)])

        return self._build_response_stream(updates()) if stream else whole()


class Chat(FunctionInvocationLayer, ChatMiddlewareLayer, RawChat):
    """The stub with the framework's loop of tool calls."""


def agent(stub: Model, *middleware: Any, **options: Any) -> Agent:
    client = Chat(stub=stub, function_invocation_configuration={"max_iterations": 1_000})
    options.setdefault("tools", [look])
    return Agent(client=client, instructions="Be good.", middleware=[*middleware], **options)
