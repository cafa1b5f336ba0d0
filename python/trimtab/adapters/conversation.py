"""One conversation of a framework: its session, one call at a time, and the model call that survives an overflow."""

from __future__ import annotations

import asyncio
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from .._log import log
from ..errors import OverflowedError
from ..session.overflow import is_overflow

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence

    from ..session.call import Fitted
    from ..session.session import Session

T = TypeVar("T")

RETRIES = 3
"""Smaller prompts after a refusal. A refusal may state no limit: then each one lowers the window by a tenth."""

POLL = 0.005
"""Seconds between looks at a session that another task uses; a lock of threads cannot be awaited."""

NO_ROOM = "the framework's calls have no room for its parameters"
"""Why the provider's server is not asked to compact."""

COMPACTING = ("fit", "overflow")
"""Steps of a call that read system text and tools."""

OVERFLOWS = frozenset(
    {
        "ContextOverflowError",  # langchain-core
        "ModelContextWindowExceededError",  # pydantic-ai
        "ContextWindowExceededError",  # litellm
        "ContextWindowOverflowException",  # strands
        "LLMContextWindowExceedError",  # openhands
        "LLMContextLengthExceededError",  # crewai
    }
)
"""Names of the frameworks' own errors for a prompt that is too long; their text may say less than the provider's."""


class Conversation:
    """A session that takes one call at a time, from any thread or task.

    Args:
        session: the session.
        state: the state that it goes on from; None for a new one.
        carries: whether the calls carry what ``fitted.server`` asks of the provider's server.

    Attributes:
        session: the session.
        last_state: the last state that went in or out.
    """

    def __init__(self, session: Session, state: Mapping[str, Any] | None = None, *, carries: bool = False) -> None:
        """Take a session; without ``carries``, nothing is asked of the provider's server."""
        if session.policy.server and not carries:
            session.compact_here(NO_ROOM)
        self.session = session
        self.last_state = state
        self._lock = Lock()

    def fit(self, messages: Sequence[Any], *, system: object = None, tools: object = None) -> Fitted[Any]:
        """Return the input of the next call; as ``Session.fit``."""
        with self._lock:
            return self.session.fit(messages, system=system, tools=tools)

    async def afit(self, messages: Sequence[Any], *, system: object = None, tools: object = None) -> Fitted[Any]:
        """Return the input of the next call, with hooks and a summarizer that may be asynchronous."""
        await self._acquire()
        try:
            return await self.session.afit(messages, system=system, tools=tools)
        finally:
            self._lock.release()

    def overflow(
        self, error: BaseException, messages: Sequence[Any], *, system: object = None, tools: object = None
    ) -> Fitted[Any]:
        """Return a smaller input after a refusal; as ``Session.overflow``, and for a framework's own errors.

        Raises:
            ValueError: the error is another one.
            OverflowedError: too little can leave.
        """
        with self._lock:
            return self.session.overflow(refusal_in(error) or error, messages, system=system, tools=tools)

    async def aoverflow(
        self, error: BaseException, messages: Sequence[Any], *, system: object = None, tools: object = None
    ) -> Fitted[Any]:
        """Return a smaller input after a refusal, with hooks and a summarizer that may be asynchronous.

        Raises:
            ValueError: the error is another one.
            OverflowedError: too little can leave.
        """
        await self._acquire()
        try:
            return await self.session.aoverflow(refusal_in(error) or error, messages, system=system, tools=tools)
        finally:
            self._lock.release()

    def record(self, usage: object) -> None:
        """Record the usage of the last call; ignore one without prompt tokens, as stub models and streams have."""
        try:
            if usage is not None:
                self.session.record(usage)
        except ValueError as error:
            log.debug("no usage is recorded: %s", error)

    async def arecord(self, usage: object) -> None:
        """Record like ``record``, with listeners that may be asynchronous."""
        try:
            if usage is not None:
                await self.session.arecord(usage)
        except ValueError as error:
            log.debug("no usage is recorded: %s", error)

    def learn_window(self, tokens: object) -> None:
        """Take the window that the framework's profile of the model states, if it states one."""
        try:
            if isinstance(tokens, int):
                self.session.learn_window(tokens)
        except ValueError as error:
            log.debug("the window of the framework's profile is not used: %s", error)

    def state(self) -> dict[str, Any]:
        """Return the session's state, for the framework's checkpoint; ``Sessions.of`` recognizes it."""
        state = self.session.state()
        self.last_state = state
        return state

    def call(
        self,
        send: Callable[[Fitted[Any]], T],
        messages: Sequence[Any],
        *,
        system: object = None,
        tools: object = None,
    ) -> T:
        """Call the model with an input that fits; after a refusal as too long, with a smaller one.

        Args:
            send: calls the model.
            messages: the transcript, in whatever kind ``fit`` takes; after a refusal the whole of it is compacted.
            system: system text beside the messages.
            tools: tool definitions.

        Raises:
            Exception: the provider's own error, where too little can leave or the error is another one.
        """
        steps = _steps(messages)
        beside = {"system": system, "tools": tools}
        verbs: dict[str, Any] = {"fit": self.fit, "overflow": self.overflow, "send": send, "record": self.record}
        step = next(steps)
        try:
            while True:
                name, given = step
                try:
                    answer = verbs[name](*given, **(beside if name in COMPACTING else {}))
                except Exception as error:  # noqa: BLE001 - the steps raise what they do not handle
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as done:
            answered: T = done.value
            return answered

    async def acall(
        self,
        send: Callable[[Fitted[Any]], Awaitable[T]],
        messages: Sequence[Any],
        *,
        system: object = None,
        tools: object = None,
    ) -> T:
        """Call the model like ``call``, without blocking the event loop."""
        steps = _steps(messages)
        beside = {"system": system, "tools": tools}
        verbs: dict[str, Any] = {"fit": self.afit, "overflow": self.aoverflow, "send": send, "record": self.arecord}
        step = next(steps)
        try:
            while True:
                name, given = step
                try:
                    answer = await verbs[name](*given, **(beside if name in COMPACTING else {}))
                except Exception as error:  # noqa: BLE001 - the steps raise what they do not handle
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as done:
            answered: T = done.value
            return answered

    async def _acquire(self) -> None:
        while not self._lock.acquire(blocking=False):  # noqa: ASYNC110 - an event of asyncio belongs to one loop
            await asyncio.sleep(POLL)


def _steps(messages: Sequence[Any]) -> Generator[tuple[str, tuple[Any, ...]], Any, Any]:
    """Yield what a call does, and is sent the outcome of each: fit, send, and after a refusal overflow and send.

    A compaction on the provider's server, which is a request of its own, is sent, recorded, and fitted again.
    """
    fitted = yield "fit", (messages,)
    for _ in range(RETRIES):
        try:
            answer = yield "send", (fitted,)
            if fitted.server is None or not fitted.server.is_pass:
                return answer
        except Exception as error:
            if refusal_in(error) is None and fitted.server is None:
                raise
            refused = error
        else:
            yield "record", (answer,)
            fitted = yield "fit", (messages,)
            continue
        try:
            fitted = yield "overflow", (refused, messages)
        except OverflowedError as floor:
            refused.add_note(f"trimtab: {floor}")
            raise refused from floor
        except ValueError:
            raise refused from None
    return (yield "send", (fitted,))


def refusal_in(error: BaseException) -> object:
    """Return what says that a prompt was too long: the error, one that caused it, or a text; None for another error."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    for each in causes:
        if is_overflow(each):
            return each
    named = any(kind.__name__ in OVERFLOWS for each in causes for kind in type(each).__mro__)
    return f"prompt is too long: {error}" if named else None
