"""The stub as a model of OpenHands, and a conversation with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from litellm import BadRequestError
from litellm.types.utils import ModelResponse
from openhands.sdk import LLM, Action, Agent, Conversation, Observation, Tool, ToolDefinition, register_tool
from openhands.sdk.event import ActionEvent, MessageEvent, ObservationEvent, SystemPromptEvent
from openhands.sdk.llm import Message, MessageToolCall, TextContent, ThinkingBlock
from openhands.sdk.tool import ToolExecutor
from pydantic import PrivateAttr

from support.agents import RefusedError, look

if TYPE_CHECKING:
    from pathlib import Path

    from support.agents import Model

TALK = UUID("00000000-0000-4000-8000-000000000001")
"""Id of the conversation."""


class Chat(LLM):
    """The stub in place of the provider: messages are in the form in which they would be sent."""

    _stub: Any = PrivateAttr()

    def _transport_call(self, *, messages: Any, **options: Any) -> ModelResponse:
        try:
            answer = self._stub.answer(messages, options.get("tools"))
        except RefusedError as error:
            said = f"ContextWindowExceededError: {error}"
            raise BadRequestError(said, model=self.model, llm_provider="openai") from error
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.input)}}
            for call in answer.calls
        ]
        message = {"role": "assistant", "content": answer.text or None, "tool_calls": calls or None}
        usage = {"prompt_tokens": answer.prompt, "completion_tokens": answer.usage}
        return ModelResponse(
            id=f"answer_{self._stub.calls}",
            choices=[{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
            usage={**usage, "total_tokens": sum(usage.values())},
        )

    async def _atransport_call(self, **options: Any) -> ModelResponse:
        return self._transport_call(**options)


class LookAction(Action):
    """The input of the tool."""

    n: int


class LookObservation(Observation):
    """The output of the tool."""


class LookExecutor(ToolExecutor):
    """Runs the tool."""

    def __call__(self, action: LookAction, conversation: Any = None) -> LookObservation:
        return LookObservation.from_text(look(action.n))


class LookTool(ToolDefinition[LookAction, LookObservation]):
    """The tool of the agents' stub."""

    name: ClassVar[str] = "look"

    @classmethod
    def create(cls, *_: Any, **__: Any) -> Sequence[LookTool]:
        executor = LookExecutor()
        return [
            cls(
                description="Look at something.",
                action_type=LookAction,
                observation_type=LookObservation,
                executor=executor,
            )
        ]


register_tool("look", LookTool)


def chat(stub: Model, name: str = "agent", **options: Any) -> Chat:
    model = Chat(model="openai/gpt-4o", usage_id=name, api_key="none", num_retries=0, **options)
    model._stub = stub
    return model


def agent(model: Any, **options: Any) -> Agent:
    return Agent(llm=model, tools=[Tool(name="look")], include_default_tools=[], system_prompt="Be good.", **options)


def conversation(running: Agent, folder: Path, id: UUID = TALK) -> Any:
    return Conversation(
        agent=running,
        workspace=str(folder),
        persistence_dir=str(folder / "talks"),
        conversation_id=id,
        visualizer=None,
        max_iteration_per_run=1_000,
        stuck_detection=False,
    )


def system(id: str = "system") -> SystemPromptEvent:
    return SystemPromptEvent(id=id, system_prompt=TextContent(text="Be good."), tools=LookTool.create())


def said(text: str, *more: Any) -> MessageEvent:
    return MessageEvent(source="user", llm_message=Message(role="user", content=[TextContent(text=text), *more]))


def answer(
    response: str, *ids: str, reasoning: str | None = None, thinking: str = "", arguments: str = '{"n": 1}'
) -> list[ActionEvent]:
    """Return the events of an answer: its calls, the first of which has its thoughts."""
    blocks = [ThinkingBlock(thinking=thinking, signature="signed")] if thinking else []
    return [
        ActionEvent(
            id=name,
            thought=[],
            reasoning_content=None if index else reasoning,
            thinking_blocks=[] if index else blocks,
            tool_name="look",
            tool_call_id=name,
            tool_call=MessageToolCall(id=name, name="look", arguments=arguments, origin="completion"),
            llm_response_id=response,
        )
        for index, name in enumerate(ids)
    ]


def result(call: ActionEvent, text: str, *more: Any) -> ObservationEvent:
    return ObservationEvent(
        tool_name=call.tool_name,
        tool_call_id=call.tool_call_id,
        action_id=call.id,
        observation=LookObservation(content=[TextContent(text=text), *more]),
    )
