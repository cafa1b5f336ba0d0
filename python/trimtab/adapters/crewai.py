"""CrewAI: an LLM whose calls fit its context window, in place of CrewAI's own summaries.

CrewAI's executor keeps one list for a task and hands the whole of it to the LLM at each call. Its own compaction counts
a token for four characters where a provider counts none, parts the list by size, and asks the model for a summary of
each part. All calls of an LLM go through two methods, of which the class of a wrapped LLM has its own.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from ..counting.counter import count
from .mirror import PROVIDER
from .sessions import Conversation, Sessions, opening

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..models.model import Model
    from ..session.call import Fitted
    from ..session.compactor import Compactor

L = TypeVar("L")

GUARD = "_trimtab"
"""Name of the guard in the class of a wrapped LLM."""


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
    whole: Any = llm
    made = BaseModel.__copy__(whole)  # CrewAI's own copy loses fields of some LLMs
    given = model if model is not None else whole.model
    guard = _Guard(type(llm), Sessions(given, options, PROVIDER), session)
    return guard.stand_before(made)  # type: ignore[no-any-return]


def compactor_of(llm: Any) -> Compactor:
    """Return the Compactor of a wrapped LLM: its history, pins and archive.

    Args:
        llm: of ``wrap``.

    Raises:
        TypeError: the LLM is not wrapped.
    """
    guard = getattr(type(llm), GUARD, None)
    if not isinstance(guard, _Guard):
        raise TypeError(f"{type(llm).__name__} is not wrapped")
    return guard.sessions.compactor


class _Guard:
    """What a wrapped LLM and its copies do before and after each call.

    CrewAI notes stop words and streaming for one LLM, by its identity: the methods are those of the wrapped LLM's
    class, so that the LLM that CrewAI knows is the one that is called.
    """

    def __init__(self, kind: Any, sessions: Sessions, session: str | None) -> None:
        self._kind, self.sessions, self._session = kind, sessions, session
        self._sending: set[int] = set()  # ids of the lists under way: one method of an LLM may call the other

    def stand_before(self, llm: Any) -> Any:
        """Return an LLM whose class is a subclass of its own, with the guard's methods."""
        kind = self._kind
        guarded = type(kind.__name__, (kind,), {"__module__": kind.__module__, "__doc__": kind.__doc__})

        def copied(llm: Any) -> Any:
            made = kind.__copy__(llm)  # some LLMs make a new one of their own class
            object.__setattr__(made, "__class__", guarded)
            return made

        def call(llm: Any, messages: Any, *arguments: Any, **options: Any) -> Any:
            return self.call(llm, messages, *arguments, **options)

        async def acall(llm: Any, messages: Any, *arguments: Any, **options: Any) -> Any:
            return await self.acall(llm, messages, *arguments, **options)

        methods = {
            "call": call,
            "acall": acall,
            "__copy__": copied,
            "get_input_tokens_count": self.count,
            "is_context_window_overflowing_threshold": self.is_full,
        }
        for name, method in methods.items():  # set later than the class is made, which would repeat refused calls twice
            setattr(guarded, name, method)
        setattr(guarded, GUARD, self)
        object.__setattr__(llm, "__class__", guarded)
        return llm

    def call(self, llm: Any, messages: Any, *arguments: Any, **options: Any) -> Any:
        """Call the LLM."""
        if isinstance(messages, str) or id(messages) in self._sending:
            return self._kind.call(llm, messages, *arguments, **options)
        conversation, tools = self._calling(messages, arguments, options)

        def send(fitted: Fitted[Any]) -> Any:
            fits, before = _back(messages, fitted), llm.get_token_usage_summary()
            with self._under_way(fits):
                answer = self._kind.call(llm, fits, *arguments, **options)
            _record(conversation, before, llm.get_token_usage_summary())
            return answer

        return conversation.call(send, messages, tools=tools)

    async def acall(self, llm: Any, messages: Any, *arguments: Any, **options: Any) -> Any:
        """Call the LLM without blocking the event loop."""
        if isinstance(messages, str) or id(messages) in self._sending:
            return await self._kind.acall(llm, messages, *arguments, **options)
        conversation, tools = self._calling(messages, arguments, options)

        async def send(fitted: Fitted[Any]) -> Any:
            fits, before = _back(messages, fitted), llm.get_token_usage_summary()
            with self._under_way(fits):
                answer = await self._kind.acall(llm, fits, *arguments, **options)
            _record(conversation, before, llm.get_token_usage_summary())
            return answer

        return await conversation.acall(send, messages, tools=tools)

    @contextmanager
    def _under_way(self, messages: Any) -> Iterator[None]:
        """Know a list while it is sent."""
        self._sending.add(id(messages))
        try:
            yield
        finally:
            self._sending.discard(id(messages))

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


def _record(conversation: Conversation, before: Any, after: Any) -> None:
    """Record the usage of an answer, where it is that of one request: an LLM sums up all its calls."""
    used = {name: getattr(after, name) - getattr(before, name) for name in ("prompt_tokens", "completion_tokens")}
    if after.successful_requests - before.successful_requests == 1:
        conversation.record(used)


def _back(messages: Any, fitted: Fitted[Any]) -> Any:
    """Return the messages of a call; the given list where nothing was compacted."""
    return messages if fitted.messages is messages else [*fitted.messages]
