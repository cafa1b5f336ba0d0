"""Strands Agents: a conversation manager that keeps an agent's messages inside its model's context window.

A session manager of Strands stores the messages that were appended, and no replacement of them. At a resume it puts
what ``restore_from_session`` returns in front of the stored messages from ``removed_message_count`` on: the manager's
state holds the compacted head of the list, and the count is that of the stored messages which the head stands for.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from strands.agent.conversation_manager import ConversationManager
from strands.hooks import AfterModelCallEvent, AfterToolCallEvent, BeforeModelCallEvent

from ..errors import OverflowedError
from .mirror import parted
from .sessions import RETRIES, Adapter, Conversation, Sessions, refusal_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..models.model import Model
    from ..session.compactor import Compactor

FORCED = 0.5
"""Share of the messages' tokens that ``reduce_context`` without an error aims at: the trigger need not be reached."""


class CompactingConversationManager(Adapter, ConversationManager):
    """Keeps the messages of a Strands agent inside the model's context window.

    The compacted list replaces ``agent.messages`` before a model call, in the middle of a run too. System prompt and
    tools count. A call that the provider refuses as too long is repeated with a smaller list. A tool's output is cut as
    it enters, if the policy says so. The state goes into the agent's session or snapshot. An agent needs a manager of
    its own.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
        **options: keywords of a new ``Compactor``.

    Attributes:
        removed_message_count: stored messages that the compacted head of the list stands for.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """

    def __init__(self, model: str | Model | Compactor, **options: Any) -> None:
        """Make the Compactor where none was given."""
        super().__init__()
        self.sessions = Sessions(model, options, "bedrock")
        self._conversation: Conversation | None = None
        self._head: list[Any] = []  # the messages at the beginning that no session manager stores
        self._refusals = 0  # one after the other

    def register_hooks(self, registry: Any, **options: Any) -> None:
        """Register what runs before and after each model call, and after each tool."""
        super().register_hooks(registry, **options)
        registry.add_callback(BeforeModelCallEvent, self._before_call)
        registry.add_callback(AfterModelCallEvent, self._after_call)
        registry.add_callback(AfterToolCallEvent, self._after_tool)

    def apply_management(self, agent: Any, **options: Any) -> None:
        """Do nothing: Strands calls this at the end of a run, and the next model call compacts, if there is one."""

    def reduce_context(self, agent: Any, e: Exception | None = None, **options: Any) -> None:
        """Replace the messages by fewer.

        Args:
            agent: the agent.
            e: the refusal of a prompt as too long; None compacts to half of the messages' tokens.
            **options: none is used.

        Raises:
            Exception: ``e``, where too little can leave or it is another error.
        """
        del options
        conversation = self._of(agent)
        messages, apart = _joined(agent.messages)
        if e is None:
            made = conversation.session.compact(messages, target_share=FORCED, **_beside(agent)).messages
        elif self._refusals > RETRIES or refusal_in(e) is None:
            raise e
        else:
            self._refusals += 1
            try:
                made = conversation.overflow(e, messages, **_beside(agent)).messages
            except OverflowedError as floor:
                e.add_note(f"trimtab: {floor}")
                raise e from floor
        self._replace(agent, parted(made, apart))

    def get_state(self) -> dict[str, Any]:
        """Return the state for the agent's session: the compacted head of the list, and the session's state."""
        session = self._conversation.state() if self._conversation else None
        return {**super().get_state(), "head": [*self._head], "session": session}

    def restore_from_session(self, state: dict[str, Any]) -> list[Any]:
        """Go on from a state, and return the compacted head of the list.

        Raises:
            ValueError: the state is of another conversation manager.
        """
        super().restore_from_session(state)
        self._head, session = [*state["head"]], state["session"]
        self._conversation = None if session is None else self.sessions.of(None, session)
        return [*self._head]

    async def _before_call(self, event: Any) -> None:
        """Replace the agent's messages where the trigger is reached."""
        agent, conversation = event.agent, self._of(event.agent)
        messages, apart = _joined(agent.messages)
        conversation.learn_window(getattr(agent.model, "context_window_limit", None))
        fitted = await conversation.afit(messages, **_beside(agent))
        self._replace(agent, parted(fitted.messages, apart))

    async def _after_call(self, event: Any) -> None:
        """Record the usage of an answer; after a refusal as too long, repeat the call with fewer messages."""
        if event.stop_response is not None:
            self._refusals = 0
            usage = event.stop_response.message.get("metadata", {}).get("usage") or {}
            self._of(event.agent).record(usage if usage.get("inputTokens") else None)
        elif refusal_in(event.exception) is not None and self._refusals < RETRIES:
            agent = event.agent
            messages, apart = _joined(agent.messages)
            self._refusals += 1
            try:
                fitted = await self._of(agent).aoverflow(event.exception, messages, **_beside(agent))
            except OverflowedError as floor:
                event.exception.add_note(f"trimtab: {floor}")
                return
            self._replace(agent, parted(fitted.messages, apart))
            event.retry = True

    def _after_tool(self, event: Any) -> None:
        """Cut a tool's output as the policy says; the whole of it is archived."""
        if self.compactor.policy.ingest is None:
            return
        session, tool = self._of(event.agent).session, event.tool_use["name"]
        blocks = event.result["content"]
        short = [
            {**block, "text": session.ingest(tool, block["text"])} if "text" in block else block for block in blocks
        ]
        event.result = {**event.result, "content": short}

    def _of(self, agent: Any) -> Conversation:
        """Return the conversation; a session manager gives it its name."""
        if self._conversation is None:
            name = getattr(getattr(agent, "_session_manager", None), "session_id", None)
            self._conversation = self.sessions.of(name and f"{name} {agent.agent_id}")
        return self._conversation

    def _replace(self, agent: Any, made: Sequence[Any]) -> None:
        """Put a compacted list in place of the agent's messages, and count the stored ones that are not at its end."""
        messages: list[Any] = agent.messages
        if len(made) == len(messages) and all(new is old for new, old in zip(made, messages, strict=True)):
            return
        head = len(self._head) if messages[: len(self._head)] == self._head else 0  # the list was replaced from outside
        kept = 0
        while kept < min(len(messages) - head, len(made)) and made[-1 - kept] is messages[-1 - kept]:
            kept += 1
        self.removed_message_count += len(messages) - head - kept
        self._head = [*made[: len(made) - kept]]
        messages[:] = made


def _joined(messages: Sequence[Any]) -> tuple[list[Any], dict[int, list[Any]]]:
    """Return the messages with those of one role in a row as one, and by its id what each such one is made of.

    Strands puts a request behind the result of a structured answer, which is a message of the user too. It is the
    model's affair whether that is sent; Bedrock's shape has no such list.
    """
    joined: list[Any] = []
    apart: dict[int, list[Any]] = {}
    for role, each in groupby(messages, key=itemgetter("role")):
        run = [*each]
        if len(run) > 1:
            whole = {"role": role, "content": [block for message in run for block in message["content"]]}
            apart[id(whole)] = run
            joined.append(whole)
        else:
            joined += run
    return joined, apart


def _beside(agent: Any) -> Mapping[str, Any]:
    """Return the system prompt and the tools of an agent."""
    tools = [{"toolSpec": spec} for spec in agent.tool_registry.get_all_tool_specs()]
    return {"system": agent.system_prompt, "tools": tools or None}
