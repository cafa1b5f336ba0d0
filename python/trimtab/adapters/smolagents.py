"""smolagents: a step callback that keeps an agent's memory inside its model's context window.

smolagents writes each prompt anew from the steps of ``agent.memory``. A step is read as a call and its result, so that
tool calls and observations stay together, and is written back as a step.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from smolagents.memory import ActionStep, MemoryStep
from smolagents.models import ChatMessage, MessageRole, get_tool_json_schema
from smolagents.utils import encode_image_base64, make_image_url

from ..errors import OverflowedError
from ..messages.frameworks import Origin, origin
from .sessions import Adapter, Conversation, Sessions, refusal_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..models.model import Model
    from ..session.compactor import Compactor


@dataclass
class NoticeStep(MemoryStep):
    """A summary or a notice in place of the steps that left.

    Attributes:
        role: who says it.
        text: what is said.
    """

    role: str
    text: str

    def to_messages(self, summary_mode: bool = False) -> list[Any]:  # noqa: ARG002, FBT001, FBT002 - smolagents' names
        """Return the message."""
        return [ChatMessage(MessageRole(self.role), [{"type": "text", "text": self.text}])]


class MemoryCompaction(Adapter):
    """Keeps the memory of a smolagents agent inside the model's context window, for ``step_callbacks``.

    The compacted steps replace those of ``agent.memory`` after each step. System prompt and tools count. An agent, and
    each managed agent, needs a callback of its own.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
        session: the conversation's name in the archive.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """

    def __init__(self, model: str | Model | Compactor, *, session: str | None = None, **options: Any) -> None:
        """Make the Compactor where none was given."""
        self.sessions = Sessions(model, options, "openai_chat")
        self._conversation = self.sessions.of(session)
        self._last: Any = None  # the last step of the list that fits
        self._pictures: dict[
            int, tuple[Any, str]
        ] = {}  # by id, which the picture beside it keeps from being given again

    def state(self) -> dict[str, Any]:
        """Return the session's state, to be stored beside ``agent.memory.steps``."""
        return self._conversation.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a stored state.

        Args:
            state: of ``state``.
        """
        self._conversation = self.sessions.of(None, state)

    def __call__(self, memory_step: Any, agent: Any) -> None:
        """Compact the agent's memory and the step that ends, which is not in it yet.

        After a model call that was refused as too long the memory shrinks, and smolagents raises the error: run the
        agent again with ``reset=False``.
        """
        conversation, steps = self._conversation, agent.memory.steps
        usage = memory_step.token_usage
        if usage is not None and steps and steps[-1] is self._last:
            conversation.record({"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens})
        given = [message for step in (*steps, memory_step) for message in self._read(step)]
        messages = _compacted(conversation, given, _beside(agent))
        self._last = memory_step
        if messages is given:
            return
        groups = groupby(messages, key=lambda message: id(origin(message["role"])))
        made = [step for _, group in groups for step in self._written([*group])]
        if origin(messages[-1]["role"]) is memory_step:  # smolagents appends it itself
            vars(memory_step).update(vars(made.pop()))
        steps[:] = made

    def _read(self, step: Any) -> list[dict[str, Any]]:
        """Return the messages of a step, whose roles remember it: one, or a call, its result and its pictures."""
        if not isinstance(step, ActionStep):
            return [
                {"role": Origin(_role(message), step), "content": [*map(self._block, message.content)]}
                for message in step.to_messages()
            ]
        read: list[dict[str, Any]] = []
        said, result = _text(step.model_output), _result(step)
        if step.tool_calls:
            name = f"step_{step.step_number}_{step.timing.start_time:.6f}"
            call = {"id": name, "type": "function", "function": _function(step.tool_calls)}
            read.append({"role": Origin("assistant", step), "content": said, "tool_calls": [call]})
            read.append({"role": Origin("tool", step), "tool_call_id": name, "content": result})
        else:
            read += [{"role": Origin("assistant", step), "content": said}] if said else []
            read += [{"role": Origin("user", step), "content": result}] if result else []
        if step.observations_images:
            pictures = [self._block({"type": "image", "image": image}) for image in step.observations_images]
            read.append({"role": Origin("user", step), "content": pictures})
        return read

    def _block(self, block: Mapping[str, Any]) -> dict[str, Any]:
        """Return a block of content as Chat Completions has it; a picture is encoded once."""
        if block["type"] != "image":
            return {"type": "text", "text": block["text"]}
        image = block["image"]
        if id(image) not in self._pictures:
            self._pictures[id(image)] = (image, make_image_url(encode_image_base64(image)))
        return {"type": "image_url", "image_url": {"url": self._pictures[id(image)][1]}}

    def _written(self, messages: list[Any]) -> Iterator[Any]:
        """Yield the step that messages were read from, with what was edited; a new message is a step of its own."""
        step = origin(messages[0]["role"])
        if step is not None and messages == self._read(step):
            yield step
        elif isinstance(step, ActionStep):
            yield replace(step, **_changes(step, messages))
        else:
            for message in messages:
                yield NoticeStep(str(message["role"]), _text(message["content"]))


def _compacted(conversation: Conversation, given: list[Any], beside: Mapping[str, Any]) -> Sequence[Any]:
    """Return messages that fit; fewer after a refusal, which is on its way through smolagents then."""
    error = sys.exception()
    if error is None or refusal_in(error) is None:
        return conversation.fit(given, **beside).messages
    try:
        return conversation.overflow(error, given, **beside).messages
    except OverflowedError as floor:
        error.add_note(f"trimtab: {floor}")
        return given


def _beside(agent: Any) -> Mapping[str, Any]:
    """Return the system prompt of an agent, and its tools where the model is sent them apart."""
    sent = () if hasattr(agent, "python_executor") else agent.tools_and_managed_agents
    tools = [get_tool_json_schema(tool) for tool in sent]
    return {"system": agent.memory.system_prompt.system_prompt, "tools": tools or None}


def _changes(step: Any, messages: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of an action that its edited messages have otherwise."""
    made: dict[str, Any] = {"model_output": None, "tool_calls": None, "observations": None, "observations_images": None}
    for message in messages:
        content = message["content"]
        if message["role"] == "assistant":
            made["model_output"] = step.model_output if content == _text(step.model_output) else _text(content)
            if "tool_calls" in message:
                made["tool_calls"] = _calls(step.tool_calls, message["tool_calls"][0]["function"])
        elif content == _result(step):
            made["observations"] = step.observations
        elif isinstance(content, list) and all(block["type"] == "image_url" for block in content):
            made["observations_images"] = step.observations_images
        else:  # an edited result, or a notice in place of a picture
            made |= {"observations": "\n".join(filter(None, [made["observations"], _text(content)])), "error": None}
    return made


def _function(calls: Sequence[Any]) -> dict[str, str]:
    """Return the calls of a step as one, because they have one observation."""
    if len(calls) == 1:
        given = calls[0].arguments
        arguments = given if isinstance(given, dict) else {"code": str(given)}
        return {"name": calls[0].name, "arguments": json.dumps(arguments, default=str)}
    every = [{"name": call.name, "arguments": call.arguments} for call in calls]
    return {"name": "tools", "arguments": json.dumps({"calls": every}, default=str)}


def _calls(calls: Sequence[Any], function: Mapping[str, str]) -> list[Any]:
    """Return the calls of a step with the arguments that an edit left."""
    if function == _function(calls):
        return [*calls]
    arguments = json.loads(function["arguments"])
    if len(calls) == 1:
        kept = arguments if isinstance(calls[0].arguments, dict) else arguments["code"]
        return [replace(calls[0], arguments=kept)]
    edited = zip(calls, arguments["calls"], strict=True)
    return [replace(call, arguments=made["arguments"]) for call, made in edited]


def _role(message: Any) -> str:
    return "assistant" if message.role == MessageRole.ASSISTANT else "user"


def _result(step: Any) -> str:
    """Return what a step observed, and its error."""
    error = f"Error:\n{step.error}" if step.error is not None else None
    return "\n".join(filter(None, [step.observations, error]))


def _text(content: Any) -> str:
    """Return the text of content, whatever its form."""
    if isinstance(content, list):
        return "\n".join(block.get("text", "") for block in content)
    return content or ""
