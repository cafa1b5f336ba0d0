"""Google's Agent Development Kit: a plugin that keeps each request inside its model's context window.

ADK builds a request from the session's events at each call, and keeps nothing that a plugin puts into it: what was
compacted stands in for the beginning of the later requests. The state is in the session's, one entry an agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.plugins.base_plugin import BasePlugin

from ..errors import OverflowedError
from ..session.compactor import Compactor
from .conversation import RETRIES, refusal_in
from .sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models import LlmRequest, LlmResponse
    from google.adk.tools import BaseTool, ToolContext

    from ..models.model import Model
    from .conversation import Conversation

STATE = "trimtab:"
"""Beginning of the keys of the session's state, before the agent's name."""


class CompactionPlugin(BasePlugin):  # type: ignore[misc, unused-ignore]
    """Keeps the requests of every agent of an app inside the model's context window.

    System instruction and tools count. A call that the provider refuses as too long is repeated with a smaller request.
    A tool's output is cut as it enters, if the policy says so.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """

    def __init__(self, model: str | Model | Compactor, **options: Any) -> None:
        """Make the Compactor where none was given."""
        super().__init__(name="trimtab")
        if not isinstance(model, Compactor):
            options.setdefault("provider", "gemini")  # the shape of ADK's contents, whatever the provider
        self.sessions = Sessions(model, options)
        self._whole: dict[str, Sequence[Any]] = {}  # by conversation, the contents of the call that is under way

    @property
    def compactor(self) -> Compactor:
        """The Compactor: its history, pins and archive."""
        return self.sessions.compactor

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Put contents that fit into the request."""
        conversation, contents = self._conversation(callback_context), llm_request.contents
        fitted = await conversation.afit(contents, **_beside(llm_request))
        self._whole[conversation.session.id] = contents
        llm_request.contents = [*fitted.messages]
        self._save(callback_context, conversation)

    async def after_model_callback(self, *, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """Record the usage of an answer."""
        if llm_response.partial:
            return
        conversation, usage = self._conversation(callback_context), llm_response.usage_metadata
        self._whole.pop(conversation.session.id, None)
        if usage is not None and usage.prompt_token_count:
            conversation.record(usage)
            self._save(callback_context, conversation)

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Repeat a call that was refused as too long with a smaller request; None where it is another error."""
        conversation = self._conversation(callback_context)
        contents = self._whole.pop(conversation.session.id, llm_request.contents)
        refused, tries = error, 0
        while refusal_in(refused) is not None and tries < RETRIES:
            tries += 1
            try:
                fitted = await conversation.aoverflow(refused, contents, **_beside(llm_request))
            except OverflowedError as floor:
                error.add_note(f"trimtab: {floor}")
                break
            llm_request.contents = [*fitted.messages]
            self._save(callback_context, conversation)
            try:
                return await _answer(callback_context, llm_request)
            except Exception as again:  # noqa: BLE001 - the loop looks at it, and ADK raises the first one
                refused = again
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Cut the texts of a tool's output as the policy says; the whole of them is archived."""
        del tool_args
        if self.compactor.policy.ingest is None:
            return None
        session = self._conversation(tool_context).session
        if isinstance(result, str):
            return {"result": session.ingest(tool.name, result)}
        if not isinstance(result, dict):
            return None
        return {
            key: session.ingest(tool.name, value) if isinstance(value, str) else value for key, value in result.items()
        }

    def _conversation(self, context: Any) -> Conversation:
        """Return the conversation of an agent in a session."""
        agent = context.agent_name
        return self.sessions.of(f"{context.session.id} {agent}", context.state.get(STATE + agent))

    def _save(self, context: Any, conversation: Conversation) -> None:
        """Put the state into the session's; ADK stores it with the event of the call."""
        context.state[STATE + context.agent_name] = conversation.state()


async def _answer(context: Any, llm_request: LlmRequest) -> LlmResponse:
    """Return the whole answer of the agent's model."""
    model = context.get_invocation_context().agent.canonical_model
    answers = [answer async for answer in model.generate_content_async(llm_request, stream=False)]
    return answers[-1]


def _beside(llm_request: LlmRequest) -> Mapping[str, Any]:
    """Return the system instruction and the tools of a request."""
    config = llm_request.config
    tools = [
        tool.model_dump(exclude_none=True, mode="json") if hasattr(tool, "model_dump") else tool
        for tool in config.tools or ()
    ]
    return {"system": config.system_instruction, "tools": tools or None}
