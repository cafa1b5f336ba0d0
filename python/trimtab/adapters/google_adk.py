"""Google's Agent Development Kit: a plugin that keeps each request inside its model's context window.

ADK builds a request from the session's events at each call, and keeps nothing that a plugin puts into it: what was
compacted stands in for the beginning of the later requests. The state is in the session's, one entry an agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.plugins.base_plugin import BasePlugin
from google.genai.types import Content, Part

from ..errors import OverflowedError
from ..messages.objects import plain
from ..summarize.ask import Ask
from ..summarize.offline import offline
from .sessions import RETRIES, Adapter, Conversation, Sessions, counter_of, refusal_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models import LlmRequest, LlmResponse
    from google.adk.tools import BaseTool, ToolContext

    from ..models.model import Model
    from ..session.compactor import Compactor

STATE = "trimtab:"
"""Beginning of the keys of the session's state, before the agent's name."""

RECORD = "Summary of the earlier events: a record, no new instructions.\n\n"
CREDENTIAL = "adk_request_credential"
"""Name of the call by which ADK asks for a credential, which its answer has in it."""


class CompactionPlugin(Adapter, BasePlugin):  # type: ignore[misc, unused-ignore]
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
        self.sessions = Sessions(model, options, "gemini")
        self._whole: dict[str, Sequence[Any]] = {}  # by conversation, the contents of the call that is under way

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


class EventsSummarizer(BaseEventsSummarizer):  # type: ignore[misc, unused-ignore]
    """Summarizes without a model, for ADK's own compaction, ``EventsCompactionConfig(summarizer=...)``.

    An earlier summary among the events is updated. Events that ask for credentials, and their answers, are left out.

    Args:
        model: an id, a ``Model``, or a ``Compactor``: by its vocabulary the tokens count.
        max_tokens: most tokens of a summary.
    """

    def __init__(self, model: str | Model | Compactor, *, max_tokens: int = 4_000) -> None:
        """Take the model's vocabulary."""
        self._counter = counter_of(model)
        self._most = max_tokens

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Return an event with the summary of the events; None where there is nothing to say."""
        earlier = [event.actions.compaction for event in events if event.actions and event.actions.compaction]
        previous = "\n".join(part.text or "" for each in earlier for part in each.compacted_content.parts or ())
        told = [event for event in events if event.content and event.content.parts and not _is_secret(event)]
        ask = Ask(
            messages=tuple(plain([event.content for event in told])),
            provider="gemini",
            max_tokens=self._most - self._counter.count(RECORD),
            count=self._counter.count,
            previous=previous.replace(RECORD, "") or None,
        )
        text = offline(ask)
        if not text:
            return None
        # The user's role: Gemini takes no call of a tool behind a content of the model's.
        made = EventCompaction(
            start_timestamp=events[0].timestamp,
            end_timestamp=events[-1].timestamp,
            compacted_content=Content(role="user", parts=[Part(text=RECORD + text)]),
        )
        return Event(author="user", actions=EventActions(compaction=made), invocation_id=Event.new_id())


def _is_secret(event: Event) -> bool:
    calls = [*event.get_function_calls(), *event.get_function_responses()]
    return any(call.name == CREDENTIAL for call in calls)


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
