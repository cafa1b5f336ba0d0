"""LangChain: a middleware for ``create_agent``, and an exact token counter for LangChain's own middlewares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypeVar

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
    ToolCallRequest,
)
from langchain.agents.structured_output import AutoStrategy, ToolStrategy
from langchain_core.messages import RemoveMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command

from ..counting.counter import overhead, scan
from .sessions import Adapter, Conversation, Sessions, counter_of, opening

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from ..models.model import Model
    from ..session.call import Fitted
    from ..session.compactor import Compactor


T = TypeVar("T")


class CompactionState(AgentState[Any]):
    """The agent's state, with that of the session: a small dict of JSON values."""

    trimtab: NotRequired[Annotated[dict[str, Any] | None, PrivateStateAttr]]


class CompactionMiddleware(Adapter, AgentMiddleware[CompactionState, Any, Any]):
    """Keeps the messages of a LangChain agent inside the model's context window.

    The compacted list replaces the messages in the agent's state, and the session's state is saved beside them: a
    thread goes on from its checkpoint, in another process too. System text and tools count. A call that the provider
    refuses as too long is repeated with a smaller list. A tool's output is cut as it enters, if the policy says so.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """

    state_schema = CompactionState

    def __init__(self, model: str | Model | Compactor, **options: Any) -> None:
        """Make the Compactor where none was given."""
        super().__init__()
        self.sessions = Sessions(model, options)
        self._tools: tuple[tuple[Any, ...], list[Any]] = ((), [])

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ExtendedModelResponse[Any]:
        """Call the model with messages that fit; replace those of the agent's state where something was compacted."""
        conversation, send, sent = self._calling(request, handler)
        response = conversation.call(send, request.messages, **self._beside(request))
        return self._answered(conversation, request, sent[0], response)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ExtendedModelResponse[Any]:
        """Call the model like ``wrap_model_call``, with hooks and a summarizer that may be asynchronous."""
        conversation, send, sent = self._calling(request, handler)
        response = await conversation.acall(send, request.messages, **self._beside(request))
        return self._answered(conversation, request, sent[0], response)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Run the tool, and cut its output as the policy says; the whole of it is archived."""
        return self._ingested(request, handler(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Run the tool like ``wrap_tool_call``."""
        return self._ingested(request, await handler(request))

    def _calling(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], T]
    ) -> tuple[Conversation, Callable[[Fitted[Any]], T], list[Sequence[Any]]]:
        """Return the conversation of a model call, with the window of the model's profile; how to send it; what was."""
        conversation = self._conversation(request.state, request.runtime)
        conversation.learn_window((getattr(request.model, "profile", None) or {}).get("max_input_tokens"))
        sent: list[Sequence[Any]] = []

        def send(fitted: Fitted[Any]) -> T:
            sent[:] = [fitted.messages]
            return handler(_with(request, fitted.messages))

        return conversation, send, sent

    def _conversation(self, state: Any, runtime: Any) -> Conversation:
        """Return the conversation of a thread; agents inside an agent have conversations of their own."""
        about = getattr(runtime, "execution_info", None)
        thread, place = getattr(about, "thread_id", None), getattr(about, "checkpoint_ns", "") or ""
        kept = state.get("trimtab")
        if thread is not None and "|" in place:
            # A summary changes how the conversation begins: the name that it began with goes on.
            name = str((kept or {}).get("session"))
            thread = name if name.startswith(f"{thread} opening-") else f"{thread} {opening(state['messages'])}"
        return self.sessions.of(thread, kept)

    def _beside(self, request: ModelRequest[Any]) -> dict[str, Any]:
        """Return the system text and the tools of a call."""
        given = (*request.tools, *_schemas(request.response_format))
        known, tools = self._tools
        if len(known) != len(given) or any(old is not new for old, new in zip(known, given, strict=True)):
            tools = [_tool(tool) for tool in given]
            self._tools = (given, tools)  # the schema of a tool takes longer than all else here
        system = request.system_message
        return {"system": system.content if system else None, "tools": tools or None}

    def _answered(
        self, conversation: Conversation, request: ModelRequest[Any], sent: Sequence[Any], response: ModelResponse[Any]
    ) -> ExtendedModelResponse[Any]:
        for message in response.result:
            conversation.record(_usage(message))
        update: dict[str, Any] = {"trimtab": conversation.state()}
        kept = request.state["messages"]
        is_whole = len(kept) == len(request.messages) and all(map(_is_same, kept, request.messages))
        if sent is not request.messages and is_whole:  # what another middleware put into this call alone is not kept
            update["messages"] = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *sent, *response.result]
        return ExtendedModelResponse(response, Command(update=update))

    def _ingested(self, request: ToolCallRequest, result: Any) -> Any:
        if self.compactor.policy.ingest is None or not isinstance(result, ToolMessage):
            return result
        if not isinstance(result.content, str):
            return result
        session = self._conversation(request.state, request.runtime).session
        short = session.ingest(request.tool_call["name"], result.content)
        return result if short is result.content else result.model_copy(update={"content": short})


def token_counter(model: str | Model | Compactor) -> Callable[[Iterable[Any]], int]:
    """Return a function that counts the tokens of messages as the model does.

    For ``SummarizationMiddleware``, ``ContextEditingMiddleware`` and ``trim_messages``, whose own counters take four
    characters for a token.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
    """
    counter = counter_of(model)

    def count(messages: Iterable[Any]) -> int:
        total: int = scan([*messages], counter).total
        return total + overhead(counter)

    return count


def _with(request: ModelRequest[Any], messages: Sequence[Any]) -> ModelRequest[Any]:
    return request if messages is request.messages else request.override(messages=[*messages])


def _usage(message: Any) -> object:
    """Return the usage of an answer: the provider's own where it tells the calls of a server's loop apart."""
    own = getattr(message, "response_metadata", {}).get("usage")
    return own if isinstance(own, dict) and own.get("iterations") else getattr(message, "usage_metadata", None)


def _is_same(kept: Any, sent: Any) -> bool:
    return kept is sent or (kept.id is not None and kept == sent)


def _schemas(form: Any) -> Sequence[Any]:
    """Return the schemas of a structured answer: of tools, of the provider's own way, or of whichever is chosen."""
    form = ToolStrategy(form.schema) if isinstance(form, AutoStrategy) else form
    specs: Sequence[Any] = getattr(form, "schema_specs", None) or ()
    one: Any = getattr(form, "schema_spec", None)
    return specs or ([one] if one else [])


def _tool(tool: Any) -> Any:
    """Return a tool as a provider is sent it; one that the provider runs is a dict already."""
    if isinstance(tool, dict):
        return tool
    if hasattr(tool, "json_schema"):  # of a structured answer
        return {"type": "function", "function": {"name": tool.name, "parameters": tool.json_schema}}
    return convert_to_openai_tool(tool)
