"""The stub as a chat model of LangChain, and an agent with it."""

from __future__ import annotations

import json
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import StructuredTool, tool

from support.agents import Model, look


class Chat(BaseChatModel):
    """The stub as LangChain calls models."""

    stub: Any
    tools: Any = None

    @property
    def _llm_type(self) -> str:
        return "stub"

    def bind_tools(self, tools: Any, **options: Any) -> Chat:
        from langchain_core.utils.function_calling import convert_to_openai_tool

        return Chat(stub=self.stub, tools=[convert_to_openai_tool(each) for each in tools])

    def _message(self, messages: Any) -> dict[str, Any]:
        answer = self.stub.answer(convert_to_openai_messages(messages), self.tools)
        calls = [{"name": call.name, "args": call.input, "id": call.id} for call in answer.calls]
        usage = {"input_tokens": answer.prompt, "output_tokens": answer.usage}
        usage["total_tokens"] = answer.prompt + answer.usage
        return {"content": answer.text, "tool_calls": calls, "usage_metadata": usage}

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(**self._message(messages)))])

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> Any:
        found = self._message(messages)
        calls = [
            {"name": call["name"], "args": json.dumps(call["args"]), "id": call["id"], "index": n}
            for n, call in enumerate(found.pop("tool_calls"))
        ]
        for part in found.pop("content").split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(part + " "))
        yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=calls, **found))


def agent(stub: Model, *middleware: Any, **options: Any) -> Any:
    tools = [
        StructuredTool.from_function(each.run, None, each.name, each.name, args_schema=each.schema)
        for each in stub.tools
    ]
    return create_agent(
        Chat(stub=stub), tools or [tool(look)], system_prompt="Be good.", middleware=middleware, **options
    )
