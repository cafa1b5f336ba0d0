"""The stub as a model of Inspect, and an evaluation of an agent with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from inspect_ai import Task, eval_async
from inspect_ai.agent import AgentPrompt, AgentState, react
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ChatMessageUser,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    get_model,
    modelapi,
)
from inspect_ai.solver import solver
from inspect_ai.tool import ToolCall, tool

import support.agents
from support.agents import Model, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@modelapi("stub")
class Stub(ModelAPI):
    """The stub as Inspect calls models; a prompt that is too long is an answer there.

    Attributes:
        stub: the model.
        collapses: whether user messages that follow each other are made one, as for Anthropic's models.
        inputs: the messages of each call.
    """

    def __init__(self, model_name: str, *, stub: Model, collapses: bool = False, **_: Any) -> None:
        super().__init__(model_name)
        self.stub, self.collapses = stub, collapses
        self.inputs: list[list[Any]] = []

    async def generate(self, input: list[Any], tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        del tool_choice, config
        self.inputs.append([*input])
        try:
            answer = self.stub.answer([*map(wire, input)], [each.model_dump(exclude_none=True) for each in tools])
        except RefusedError as error:
            return ModelOutput.from_content("stub", str(error), stop_reason="model_length")
        calls = [ToolCall(id=call.id, function=call.name, arguments=call.input) for call in answer.calls]
        message = ChatMessageAssistant(content=answer.text, tool_calls=calls or None, source="generate")
        total = answer.prompt + answer.usage
        usage = ModelUsage(input_tokens=answer.prompt, output_tokens=answer.usage, total_tokens=total)
        choice = ChatCompletionChoice(message=message, stop_reason="tool_calls" if calls else "stop")
        return ModelOutput(model="stub", choices=[choice], usage=usage)

    async def count_text_tokens(self, text: str) -> int:
        """Count as Inspect does for a model whose provider counts nothing."""
        return max(1, int(len(self.stub.encode(text)) * 1.1))

    def collapse_user_messages(self) -> bool:
        return self.collapses


def wire(message: Any) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.role == "tool":
        sent["tool_call_id"] = message.tool_call_id
    elif message.role == "assistant" and message.tool_calls:
        sent["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function, "arguments": json.dumps(call.arguments)},
            }
            for call in message.tool_calls
        ]
    return sent


def chat(stub: Model, **options: Any) -> Any:
    return get_model("stub/stub", stub=stub, memoize=False, **options)


@tool
def look() -> Any:
    async def execute(n: int) -> str:
        """Look at something.

        Args:
            n: its number.
        """
        return support.agents.look(n)

    return execute


def agent(compaction: Any = None, **options: Any) -> Any:
    """Return an agent that ends when the model calls no tool."""
    prompt = AgentPrompt("Be good.", assistant_prompt=None)
    return react(prompt=prompt, tools=[look()], submit=False, compaction=compaction, **options)


@solver
def turns(requests: Callable[[], Iterable[str]], compaction: Callable[[], Any]) -> Any:
    """Ask an agent again and again, each time a new one that has the messages alone."""

    async def solve(state: Any, generate: Any) -> Any:
        del generate
        asked = iter(requests())
        next(asked)
        while True:
            done = await agent(compaction())(AgentState(messages=state.messages))
            state.messages = [message for message in done.messages if message.role != "system"]
            state.output = done.output
            said = next(asked, None)
            if said is None:
                return state
            state.messages.append(ChatMessageUser(content=said))

    return solve


async def evaluate(model: Any, said: str, solver: Any, folder: Any, **options: Any) -> Any:
    """Return the log of an evaluation with one sample."""
    task = Task(dataset=[Sample(input=said, target="")], solver=solver, name="looks")
    (log,) = await eval_async(task, model=model, log_dir=str(folder), **options)
    assert log.status == "success", log.error
    return log
