"""The sessions of one Compactor, one a conversation, as all adapters use them.

An adapter makes one ``Sessions`` from its arguments, and asks it at each call for the ``Conversation``: by the
framework's conversation id, or by how the conversation began (``opening``). That takes one call at a time, and calls
the model again after an overflow.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import OrderedDict
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .._log import log, outline
from ..archive.names import UNNAMED
from ..counting.counter import Counter
from ..errors import ConfigError, ConflictError, OverflowedError
from ..messages.objects import plain, sendable
from ..messages.request import SYSTEM_ROLES
from ..session.compactor import Compactor
from ..session.overflow import is_overflow

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ..models.model import Model
    from ..models.provider import Provider
    from ..session.call import Fitted
    from ..session.session import Session

T = TypeVar("T")

RETRIES = 3
"""Smaller prompts after a refusal. A refusal may state no limit: then each one lowers the window by a tenth."""

CONFLICTS = 5
"""Compactions of the same conversation by other runs while one is under way, after which it is tried once more."""

POLL = 0.005
"""Seconds between looks at a lock that another task holds; a lock of threads cannot be awaited."""

NO_ROOM = "the framework's calls have no room for its parameters"
"""Why the provider's server is not asked to compact."""

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


class SharedLock:
    """A lock for threads, and for tasks of any event loop: one of asyncio belongs to one loop."""

    def __init__(self) -> None:
        """Make it free."""
        self._lock = Lock()

    def __enter__(self) -> None:
        """Take it; blocks."""
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        """Release it."""
        self._lock.release()

    async def __aenter__(self) -> None:
        """Take it without blocking the event loop."""
        while not self._lock.acquire(blocking=False):  # noqa: ASYNC110 - an event of asyncio belongs to one loop
            await asyncio.sleep(POLL)

    async def __aexit__(self, *_: object) -> None:
        """Release it."""
        self._lock.release()


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
        self._lock = SharedLock()

    def fit(self, messages: Sequence[Any], *, system: object = None, tools: object = None) -> Fitted[Any]:
        """Return the input of the next call; as ``Session.fit``."""
        with self._lock:
            return _after_conflicts(partial(self.session.fit, messages, system=system, tools=tools))

    async def afit(self, messages: Sequence[Any], *, system: object = None, tools: object = None) -> Fitted[Any]:
        """Return the input of the next call, with hooks and a summarizer that may be asynchronous."""
        async with self._lock:
            return await _aafter_conflicts(partial(self.session.afit, messages, system=system, tools=tools))

    def overflow(
        self, error: BaseException, messages: Sequence[Any], *, system: object = None, tools: object = None
    ) -> Fitted[Any]:
        """Return a smaller input after a refusal; as ``Session.overflow``, and for a framework's own errors.

        Raises:
            ValueError: the error is another one.
            OverflowedError: too little can leave.
        """
        refused = refusal_in(error) or error
        with self._lock:
            return _after_conflicts(partial(self.session.overflow, refused, messages, system=system, tools=tools))

    async def aoverflow(
        self, error: BaseException, messages: Sequence[Any], *, system: object = None, tools: object = None
    ) -> Fitted[Any]:
        """Return a smaller input after a refusal, with hooks and a summarizer that may be asynchronous.

        Raises:
            ValueError: the error is another one.
            OverflowedError: too little can leave.
        """
        overflow = partial(self.session.aoverflow, refusal_in(error) or error, messages, system=system, tools=tools)
        async with self._lock:
            return await _aafter_conflicts(overflow)

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
        fit = partial(self.fit, messages, system=system, tools=tools)
        overflow = partial(self.overflow, messages=messages, system=system, tools=tools)
        called = _called(_at_once(fit), _at_once(overflow), _at_once(send), _at_once(self.record))
        try:
            called.send(None)
        except StopIteration as done:
            answered: T = done.value
            return answered
        raise AssertionError("nothing here waits")

    async def acall(
        self,
        send: Callable[[Fitted[Any]], Awaitable[T]],
        messages: Sequence[Any],
        *,
        system: object = None,
        tools: object = None,
    ) -> T:
        """Call the model like ``call``, without blocking the event loop."""
        fit = partial(self.afit, messages, system=system, tools=tools)
        overflow = partial(self.aoverflow, messages=messages, system=system, tools=tools)
        answered: T = await _called(fit, overflow, send, self.arecord)
        return answered


def _after_conflicts(work: Callable[[], T]) -> T:
    """Return what work returns, done again where another run compacted the same conversation meanwhile.

    A framework may run one conversation twice at a time, and agents inside an agent that begin alike are one. The other
    run goes on with the list that it compacted, and this one with its own.
    """
    for _ in range(CONFLICTS):
        try:
            return work()
        except ConflictError as error:
            log.debug("once more: %s", outline(error))
    return work()


async def _aafter_conflicts(work: Callable[[], Awaitable[T]]) -> T:
    """Return what work returns, as ``_after_conflicts``."""
    for _ in range(CONFLICTS):
        try:
            return await work()
        except ConflictError as error:
            log.debug("once more: %s", outline(error))
    return await work()


Done: TypeAlias = "Callable[..., Awaitable[Any]]"


def _at_once(work: Callable[..., Any]) -> Done:
    """Return a blocking function as one to await, which never waits."""

    async def done(*given: Any, **options: Any) -> Any:
        return work(*given, **options)

    return done


async def _called(fit: Done, overflow: Done, send: Done, record: Done) -> Any:
    """Fit, send, and after a refusal as too long overflow and send.

    A compaction on the provider's server, which is a request of its own, is sent, recorded, and fitted again.
    """
    fitted = await fit()
    for _ in range(RETRIES):
        try:
            answer = await send(fitted)
            if fitted.server is None or not fitted.server.is_pass:
                return answer
        except Exception as error:
            if refusal_in(error) is None and fitted.server is None:
                raise
            refused = error
        else:
            await record(answer)
            fitted = await fit()
            continue
        try:
            fitted = await overflow(refused)
        except OverflowedError as floor:
            refused.add_note(f"trimtab: {floor}")
            raise refused from floor
        except ValueError:
            raise refused from None
    return await send(fitted)


def refusal_in(error: BaseException) -> object:
    """Return what says that a prompt was too long: the error, one that caused it, or a text; None for another error."""
    causes: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        cause = waiting.pop(0)
        if cause is not None and cause not in causes:
            causes.append(cause)
            waiting.append(cause.__cause__ or cause.__context__)
            waiting += getattr(cause, "exceptions", ())  # of a group, such as that of all models of a fallback
    for each in causes:
        if is_overflow(each):
            return each
    named = any(kind.__name__ in OVERFLOWS for each in causes for kind in type(each).__mro__)
    return f"prompt is too long: {error}" if named else None


MOST = 512
"""Conversations in memory. One that comes back later goes on from its checkpoint or from the archive."""


class Sessions:
    """The sessions of one Compactor, one a conversation; those that were used last stay in memory.

    Args:
        model: an id, a ``Model``, or a ``Compactor`` with its settings.
        options: keywords of a new ``Compactor``.
        provider: the shape in which the adapter reads messages, whatever the model's provider; a Compactor has its own.
        most: conversations in memory.
        carries: whether the adapter's calls carry what a request asks of the provider's server.

    Attributes:
        compactor: the Compactor.

    Raises:
        TypeError: there are options beside a Compactor, which has its own.
        ValueError: an option has an unknown value.
    """

    def __init__(
        self,
        model: str | Model | Compactor,
        options: Mapping[str, Any],
        provider: Provider | None = None,
        *,
        most: int = MOST,
        carries: bool = False,
    ) -> None:
        """Make the Compactor where none was given."""
        if isinstance(model, Compactor) and options:
            raise TypeError(f"a Compactor has its own settings: pass {', '.join(options)} to it")
        self.compactor = (
            model if isinstance(model, Compactor) else Compactor(model, **{"provider": provider, **options})
        )
        self._most, self._carries = most, carries
        if self.compactor.policy.server and not carries:
            log.warning("the provider's server is not asked to compact: %s", NO_ROOM)
        self._held: OrderedDict[str, Conversation] = OrderedDict()
        self._lock = Lock()

    def of(self, id: object = None, state: Mapping[str, Any] | None = None) -> Conversation:
        """Return a conversation: the one in memory, or a new one that goes on from a state.

        A state other than the last one that ``Conversation.state`` returned, such as that of an earlier checkpoint,
        replaces what is in memory. A state that cannot be read, or that another model or policy made, is ignored with
        a warning. Without a state, a conversation starts from what the archive holds of it.

        Args:
            id: the framework's conversation id, text or an object with one; None finds the conversation by its state,
                and makes a new one without a state.
            state: of the framework's checkpoint.
        """
        name = None if id is None else session_name(str(id))
        if name is None and state is not None:
            name = str(state.get("session"))
        with self._lock:
            held = None if name is None else self._held.get(name)
            if held is None or (state is not None and state != held.last_state):
                held = Conversation(self._session(name, state), state, carries=self._carries)
            self._held[held.session.id] = held
            self._held.move_to_end(held.session.id)
            while len(self._held) > self._most:
                self._held.popitem(last=False)
            return held

    def forget(self, id: object) -> None:
        """Let go of a conversation, because its list was cleared or replaced from outside."""
        with self._lock:
            self._held.pop(session_name(str(id)), None)

    def _session(self, name: str | None, state: Mapping[str, Any] | None) -> Session:
        if state is not None:
            try:
                return self.compactor.session(name, state)
            except ConfigError as error:
                log.warning("the state of the checkpoint is not used: %s", error)
        return self.compactor.session(None if name is None or name.startswith(UNNAMED) else name)


class Adapter:
    """What the adapters of agents have in common.

    Attributes:
        sessions: the sessions of the Compactor, one a conversation.
    """

    sessions: Sessions

    @property
    def compactor(self) -> Compactor:
        """The Compactor: its history, pins and archive."""
        return self.sessions.compactor


def counter_of(model: str | Model | Compactor) -> Counter:
    """Return the counter of a model, or of a Compactor's."""
    return Counter.for_model(model.model if isinstance(model, Compactor) else model)


def session_name(id: str) -> str:
    """Return a session's name for a framework's conversation id: the id itself where a session can have that name."""
    if id.strip() and id.isprintable() and not id.startswith(UNNAMED):
        return id
    return "id-" + _digest(id)


def opening(messages: Sequence[Any]) -> str:
    """Return a session's name from how a conversation began, for a hook that is told no conversation id.

    It is a digest of the messages from the first that is no system text to the user's first. Such a hook is handed the
    whole history at each call, so that the beginning stays, and names the same session in a new process. System text
    is not in it, because it may hold the time. Conversations that begin alike share a session: pass an id wherever the
    framework or the caller has one.
    """
    first: list[Any] = []
    for message in plain(messages):
        if message.get("role") not in SYSTEM_ROLES:
            first.append(message)
        if message.get("role") == "user":
            break
    return "opening-" + _digest(json.dumps(first, default=sendable, sort_keys=True))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:20]
