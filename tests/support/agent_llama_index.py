"""The stub as a model of LlamaIndex, and an agent with it."""

from __future__ import annotations

import json
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata, TextBlock, ToolCallBlock
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import FunctionTool

from support.agents import look


def wire(message: Any) -> dict[str, Any]:
    """A message as a provider of OpenAI's shape is sent it."""
    sent: dict[str, Any] = {"role": message.role.value, "content": message.content or ""}
    if calls := [block for block in message.blocks if isinstance(block, ToolCallBlock)]:
        sent["tool_calls"] = [
            {
                "id": each.tool_call_id,
                "type": "function",
                "function": {"name": each.tool_name, "arguments": json.dumps(each.tool_kwargs)},
            }
            for each in calls
        ]
    if message.role.value == "tool":
        sent["tool_call_id"] = message.additional_kwargs["tool_call_id"]
    return sent


class Chat(FunctionCallingLLM):
    """The stub as LlamaIndex calls models."""

    stub: Any

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True, context_window=10**9)

    def _prepare_chat_with_tools(self, tools: Any, user_msg: Any = None, chat_history: Any = None, **_: Any) -> Any:
        return {"messages": chat_history, "tools": [tool.metadata.to_openai_tool() for tool in tools]}

    def _response(self, messages: Any, tools: Any) -> ChatResponse:
        answer = self.stub.answer([wire(message) for message in messages], tools)
        calls = [
            ToolCallBlock(tool_call_id=call.id, tool_name=call.name, tool_kwargs=call.input) for call in answer.calls
        ]
        said = [TextBlock(text=answer.text)] if answer.text else []
        usage = {"prompt_tokens": answer.prompt, "completion_tokens": answer.usage}
        message = ChatMessage(role="assistant", blocks=[*said, *calls])
        return ChatResponse(message=message, raw={"usage": usage}, delta=answer.text)

    async def achat(self, messages: Any, tools: Any = None, **_: Any) -> ChatResponse:
        return self._response(messages, tools)

    async def astream_chat(self, messages: Any, tools: Any = None, **_: Any) -> Any:
        async def stream() -> Any:
            yield self._response(messages, tools)

        return stream()

    def get_tool_calls_from_response(self, response: Any, **_: Any) -> list[ToolSelection]:
        return [
            ToolSelection(tool_id=block.tool_call_id, tool_name=block.tool_name, tool_kwargs=block.tool_kwargs)
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]

    def chat(self, messages: Any, tools: Any = None, **_: Any) -> ChatResponse:
        return self._response(messages, tools)

    def complete(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    stream_chat = stream_complete = acomplete = astream_complete = complete


def tools() -> list[Any]:
    return [FunctionTool.from_defaults(look)]
