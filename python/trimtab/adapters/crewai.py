"""CrewAI: an LLM whose calls fit its context window, in place of CrewAI's own summaries.

CrewAI's executor keeps one list for a task and hands the whole of it to the LLM at each call. Its own compaction counts
a token for four characters where a provider counts none, parts the list by size, and asks the model for a summary of
each part. All calls of an LLM go through two methods, of which a wrapped LLM has its own.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeVar

from ..counting.counter import count
from .mirror import PROVIDER
from .sessions import Conversation, Sessions, opening

if TYPE_CHECKING:
    from ..models.model import Model
    from ..session.call import Fitted
    from ..session.compactor import Compactor

L = TypeVar("L")


def wrap(llm: L, model: str | Model | Compactor | None = None, *, session: str | None = None, **options: Any) -> L:
    """Return an LLM like the given one, whose calls fit its window.

    CrewAI hands in the whole list of a task at each call; the last compaction stands in for the messages that it was
    made of. A call that is refused as too long is repeated with fewer messages. CrewAI's own compaction does not run
    before a call, and what it asks for tokens is counted by the model's tokenizer.

    Args:
        llm: an ``LLM`` or any ``BaseLLM``; it is not changed, and shares its connections.
        model: an id, a ``Model``, or a ``Compactor``; None takes the id of the LLM.
        session: the conversation's name; None takes the task's and the agent's id, or how the messages begin.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """
    made: Any = copy.copy(llm)
    given = model if model is not None else made.model
    guard = _Guard(llm, Sessions(given, options, PROVIDER), session)
    made.call, made.acall = guard.call, guard.acall
    made.get_input_tokens_count = guard.count
    made.is_context_window_overflowing_threshold = guard.is_full
    return made  # type: ignore[no-any-return]


def compactor_of(llm: Any) -> Compactor:
    """Return the Compactor of a wrapped LLM: its history, pins and archive.

    Args:
        llm: of ``wrap``.

    Raises:
        TypeError: the LLM is not wrapped.
    """
    guard = getattr(getattr(llm, "call", None), "__self__", None)
    if not isinstance(guard, _Guard):
        raise TypeError(f"{type(llm).__name__} is not wrapped")
    return guard.sessions.compactor


class _Guard:
    """The methods of a wrapped LLM."""

    def __init__(self, llm: Any, sessions: Sessions, session: str | None) -> None:
        self._llm, self.sessions, self._session = llm, sessions, session

    def call(self, messages: Any, *arguments: Any, **options: Any) -> Any:
        """Call the LLM."""
        if isinstance(messages, str):
            return self._llm.call(messages, *arguments, **options)
        conversation, tools = self._calling(messages, arguments, options)

        def send(fitted: Fitted[Any]) -> Any:
            before = self._llm.get_token_usage_summary()
            answer = self._llm.call(_back(messages, fitted), *arguments, **options)
            self._record(conversation, before)
            return answer

        return conversation.call(send, messages, tools=tools)

    async def acall(self, messages: Any, *arguments: Any, **options: Any) -> Any:
        """Call the LLM without blocking the event loop."""
        if isinstance(messages, str):
            return await self._llm.acall(messages, *arguments, **options)
        conversation, tools = self._calling(messages, arguments, options)

        async def send(fitted: Fitted[Any]) -> Any:
            before = self._llm.get_token_usage_summary()
            answer = await self._llm.acall(_back(messages, fitted), *arguments, **options)
            self._record(conversation, before)
            return answer

        return await conversation.acall(send, messages, tools=tools)

    def count(self, messages: Any, tools: Any = None, _response_model: Any = None) -> int:
        """Return the tokens of a request, or of a text alone."""
        return count(messages, model=self.sessions.compactor.model, tools=[*tools] if tools else None)

    def is_full(self, *_: Any, **__: Any) -> bool:
        """Return False: whether a call fits is decided at the call, and the list that grows is the executor's."""
        return False

    def _calling(self, messages: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[Conversation, Any]:
        """Return the conversation of a call, and its tools."""
        task, agent = options.get("from_task"), options.get("from_agent")
        name = self._session or (f"{task.id} {agent and agent.id}" if task is not None else opening(messages))
        return self.sessions.of(name), options.get("tools", arguments[0] if arguments else None) or None

    def _record(self, conversation: Conversation, before: Any) -> None:
        """Record the usage of an answer, where it is that of one request: an LLM sums up all its calls."""
        after = self._llm.get_token_usage_summary()
        used = {name: getattr(after, name) - getattr(before, name) for name in ("prompt_tokens", "completion_tokens")}
        if after.successful_requests - before.successful_requests == 1:
            conversation.record(used)


def _back(messages: Any, fitted: Fitted[Any]) -> Any:
    """Return the messages of a call; the given list where nothing was compacted."""
    return messages if fitted.messages is messages else [*fitted.messages]
