"""pydantic-ai: a capability that keeps an agent's messages inside its model's context window."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pydantic_ai import RetryModelRequest
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelRequest

from ..errors import OverflowedError
from ..messages.pydantic_ai import system as system_text
from .mirror import parted
from .sessions import RETRIES, Adapter, Conversation, Sessions, refusal_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import ModelRequestContext

    from ..models.model import Model
    from ..session.compactor import Compactor

RESULTS = frozenset({"tool-return", "retry-prompt"})
"""Kinds of parts of a request that answer calls."""


class CompactionCapability(Adapter, AbstractCapability[Any]):
    """Keeps the messages of a pydantic-ai agent inside the model's context window.

    The compacted list replaces the run's messages, so that ``result.all_messages()`` and the next run's
    ``message_history`` are short as well. System prompt, instructions and tools count. An attempt that the provider
    refuses as too long is repeated with a smaller list. A tool's output is cut as it enters, if the policy says so.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """

    def __init__(self, model: str | Model | Compactor, **options: Any) -> None:
        """Make the Compactor where none was given."""
        self.sessions = Sessions(model, options)
        self._smaller: dict[str, list[Any]] = {}  # by run, the list for a further attempt

    def state(self, conversation_id: str) -> dict[str, Any]:
        """Return the state of a conversation's session, to be stored beside its ``message_history``.

        Args:
            conversation_id: of the run's result.
        """
        return self.sessions.of(conversation_id).state()

    def restore(self, conversation_id: str, state: dict[str, Any]) -> None:
        """Go on from a stored state; without it, from what the archive holds of the conversation.

        Args:
            conversation_id: the conversation that the next run is given, by its ``message_history`` or by name.
            state: of ``state``.
        """
        self.sessions.of(conversation_id, state)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put messages that fit into the request and into the run."""
        conversation, messages = self._conversation(ctx), request_context.messages
        conversation.learn_window(getattr(request_context.model, "context_window", None))
        turns, apart = _turns(messages)
        fitted = await conversation.afit(turns, **_beside(request_context, messages))
        if fitted.messages is turns:
            return request_context
        return replace(request_context, messages=_kept(ctx, messages, parted(fitted.messages, apart)))

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put the smaller list into a further attempt, which begins with the messages of the first one."""
        smaller = self._smaller.pop(str(ctx.run_id), None)
        return request_context if smaller is None else replace(request_context, messages=smaller)

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Record the usage of the answer."""
        del request_context
        if response.usage.input_tokens:
            self._conversation(ctx).record(response.usage)
        return response

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Repeat a request that was refused as too long with a smaller list.

        Raises:
            RetryModelRequest: there is a smaller list.
            Exception: the error, where it is another one or too little can leave.
        """
        if refusal_in(error) is None or request_context.attempt > RETRIES:
            raise error
        messages = request_context.messages
        turns, apart = _turns(messages)
        try:
            fitted = await self._conversation(ctx).aoverflow(error, turns, **_beside(request_context, messages))
        except OverflowedError as floor:
            error.add_note(f"trimtab: {floor}")
            raise error from floor
        self._smaller[str(ctx.run_id)] = _kept(ctx, messages, parted(fitted.messages, apart))
        raise RetryModelRequest from error

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any, result: Any
    ) -> Any:
        """Cut a tool's output as the policy says; the whole of it is archived."""
        del tool_def, args
        if self.compactor.policy.ingest is None or not isinstance(result, str):
            return result
        return self._conversation(ctx).session.ingest(call.tool_name, result)

    def _conversation(self, ctx: RunContext[Any]) -> Conversation:
        return self.sessions.of(ctx.conversation_id)


def _turns(messages: list[Any]) -> tuple[list[Any], dict[int, list[Any]]]:
    """Return the messages as a provider is sent them, and by its id what each message that is not of them stands for.

    Results of a run that goes on after an approval are in a request of their own, behind what the user was shown of the
    others. pydantic-ai joins them, later than it asks a capability, and a provider takes results in no other way. A
    history may begin with the model's greeting, and the shape in which messages are read may not.
    """
    turns: list[Any] = []
    apart: dict[int, list[Any]] = {}
    if messages and messages[0].kind == "response":
        turns.append(ModelRequest(parts=[]))
        apart[id(turns[0])] = []
    for kind, each in groupby(messages, key=lambda message: message.kind):
        run = [*each]
        if kind == "request" and any(part.part_kind in RESULTS for message in run[1:] for part in message.parts):
            whole = replace(run[-1], parts=[part for message in run for part in message.parts])
            apart[id(whole)] = run
            turns.append(whole)
        else:
            turns += run
    return (turns, apart) if apart else (messages, apart)


def _kept(ctx: RunContext[Any], messages: Sequence[Any], made: list[Any]) -> list[Any]:
    """Return the new list; put it into the run where the request had the run's own messages.

    What a history processor or another capability put into this request alone is not kept.
    """
    if len(messages) == len(ctx.messages) and all(a is b for a, b in zip(messages, ctx.messages, strict=True)):
        ctx.messages[:] = made
    return made


def _beside(request_context: ModelRequestContext, messages: Sequence[Any]) -> dict[str, Any]:
    """Return the system text and the tools of a request."""
    about = request_context.model_request_parameters
    instructions = [part.content for part in about.instruction_parts or ()]
    first = messages[0] if messages else None
    prompts = [part.content for part in getattr(first, "parts", ()) if part.part_kind == "system-prompt"]
    system = "\n\n".join([*prompts, *instructions]) if instructions else system_text(messages)
    tools = [
        {
            "name": tool.name,
            "description": tool.description or "",
            "input_schema": tool.parameters_json_schema,
        }
        for tool in (*about.function_tools, *about.output_tools)
    ]
    return {"system": system or None, "tools": tools or None}
