"""Get one summary: the calls and pauses that ``attempts`` decides on, made on threads or in an event loop."""

from __future__ import annotations

import inspect
import threading
import time
from contextlib import closing, contextmanager
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

from .._log import log
from ..errors import SummaryError
from .attempts import Pause, attempts
from .drive import AwaitableError, adrive, drive, outcome, result
from .faults import fault

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Generator, Iterator, Sequence
    from concurrent.futures import Future

    from .ask import Answer, Ask
    from .attempts import Limits, Step
    from .drive import Outcome

T = TypeVar("T")

GRACE = 1.0
"""Seconds that a cancelled call gets to end."""


class CallSession(Protocol):
    """A summarizer's calls for one summary; they share a connection."""

    def call(self, ask: Ask, seconds: float | None, /) -> object:
        """Return a text, an ``Answer``, or an awaitable of one; blocks."""

    def close(self) -> None:
        """End a running call and everything that it started."""


class AsyncSession(Protocol):
    """``Session`` with coroutine methods; cancelling a call ends it."""

    async def call(self, ask: Ask, seconds: float | None, /) -> object:
        """Return a text or an ``Answer``."""

    async def close(self) -> None:
        """Close the connection."""


@runtime_checkable
class Writer(Protocol):
    """A summarizer: a value that opens a session for each summary."""

    @property
    def name(self) -> str:
        """The name in results and events."""

    @property
    def limits(self) -> Limits:
        """Deadline, number of calls and pauses."""

    def session(self) -> CallSession:
        """Return a session with blocking calls."""

    def asession(self) -> AsyncSession:
        """Return a session for a running event loop."""


def write(
    ask: Ask, writer: Writer, sessions: list[CallSession] | None = None, *, limits: Limits | None = None
) -> Answer:
    """Return a checked summary, within the writer's limits.

    Each call runs on a thread of its own, so that neither the deadline nor Ctrl-C waits for it.

    Args:
        ask: the request.
        writer: the summarizer.
        sessions: receives the session, so that another thread can close it.
        limits: replaces the writer's own limits.

    Raises:
        SummaryError: no summary; states why.
        AwaitableError: the summarizer is asynchronous.
    """
    session = writer.session()
    if sessions is not None:
        sessions.append(session)
    with _logged(writer), closing(session):
        flow = _attempts(ask, writer, session, limits)
        return drive(flow, next(flow), partial(_do, session))


async def awrite(ask: Ask, writer: Writer, *, limits: Limits | None = None) -> Answer:
    """``write`` in a running event loop; cancelling it ends the running call.

    Raises:
        SummaryError: no summary; states why.
    """
    session = writer.asession()
    with _logged(writer):
        flow = _attempts(ask, writer, session, limits)
        try:
            return await adrive(flow, next(flow), partial(_ado, session))
        finally:
            await session.close()


def _attempts(
    ask: Ask, writer: Writer, session: CallSession | AsyncSession, limits: Limits | None
) -> Generator[Step, Any, Answer]:
    """Return the steps; a session may have a method ``credentials``, whose values are masked."""
    from random import random  # noqa: PLC0415 - 5 ms, paid with the first summary

    credentials = getattr(session, "credentials", tuple)
    return attempts(ask, limits or writer.limits, clock=time.monotonic, chance=random, credentials=credentials)


def _do(session: CallSession, step: Step) -> object:
    """Pause, or call the summarizer on a thread; without a deadline, on this one."""
    if isinstance(step, Pause):
        time.sleep(step.seconds)
        return None
    if step.seconds is None:
        return session.call(step.ask, None)
    return result(on_thread(lambda: session.call(step.ask, step.seconds)).result(timeout=max(step.seconds, 0)))


async def _ado(session: AsyncSession, step: Step) -> object:
    """``_do`` in a running event loop."""
    import asyncio  # noqa: PLC0415 - 24 ms, paid only with a running loop

    if isinstance(step, Pause):
        await asyncio.sleep(step.seconds)
        return None
    return await _within(asyncio.ensure_future(session.call(step.ask, step.seconds)), step.seconds)


@contextmanager
def _logged(writer: Writer) -> Iterator[None]:
    """Log a failure that repeats until somebody changes the settings."""
    try:
        yield
    except SummaryError as error:
        if error.__cause__ is not None and fault(error.__cause__).loud:
            log.error("summarizer %s: %s", writer.name, error)
        raise


def write_all(
    asks: Sequence[Ask], writer: Writer, at_once: int, sessions: list[CallSession] | None = None
) -> list[Answer | Exception]:
    """``write`` each request, ``at_once`` at a time; return an answer or an exception for each.

    ``sessions`` receives the sessions, as in ``write``.

    Raises:
        AwaitableError: the summarizer is asynchronous.
    """
    slots, interrupted = threading.Semaphore(at_once), threading.Event()
    sessions = [] if sessions is None else sessions

    def one(ask: Ask) -> Answer:
        with slots:
            if interrupted.is_set():
                raise TimeoutError  # the caller was interrupted
            return write(ask, writer, sessions)

    try:
        running = [on_thread(partial(one, ask)) for ask in asks]  # the first work while the others are started
        outcomes = [future.result() for future in running]
    except BaseException:
        interrupted.set()
        for session in sessions:
            session.close()
        raise
    for _, error in outcomes:
        if isinstance(error, AwaitableError) or not isinstance(error, Exception | None):
            raise error
    return [answer if error is None else cast("Exception", error) for answer, error in outcomes]


async def awrite_all(asks: Sequence[Ask], writer: Writer, at_once: int) -> list[Answer | Exception]:
    """``write_all`` in a running event loop."""
    import asyncio  # noqa: PLC0415

    slots = asyncio.Semaphore(at_once)

    async def one(ask: Ask) -> Answer | Exception:
        async with slots:
            try:
                return await awrite(ask, writer)
            except Exception as error:  # noqa: BLE001 - the flow decides what a failure means
                return error

    return await asyncio.gather(*(one(ask) for ask in asks))


async def _within(task: asyncio.Task[T], seconds: float | None) -> T:
    """Return the task's result.

    Raises:
        TimeoutError: the time is over, whether or not the task ends.
    """
    import asyncio  # noqa: PLC0415

    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    done: set[asyncio.Task[T]] = set()
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds if seconds is None else max(seconds, 0))
    finally:
        if not done:
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE)  # a task that ignores it is left behind
    if not done:
        raise TimeoutError
    if task.cancelled():
        raise SummaryError("the call was cancelled")
    return task.result()


def on_thread(work: Callable[[], object]) -> Future[Outcome]:
    """Run ``work`` on a daemon thread: a call that never returns keeps no process alive."""
    from concurrent.futures import Future  # noqa: PLC0415

    future: Future[Outcome] = Future()
    future.set_running_or_notify_cancel()
    context = copy_context()

    def go() -> None:
        future.set_result(outcome(lambda: context.run(work)))

    threading.Thread(target=go, name="trimtab-summarizer", daemon=True).start()
    return future


class Threaded:
    """A blocking session in an event loop: each call blocks a thread of its own."""

    def __init__(self, session: CallSession) -> None:
        self._session = session

    async def call(self, ask: Ask, seconds: float | None, /) -> object:
        """Ask once; await what is awaitable."""
        import asyncio  # noqa: PLC0415

        found = result(await asyncio.wrap_future(on_thread(lambda: self._session.call(ask, seconds))))
        return await found if inspect.isawaitable(found) else found

    async def close(self) -> None:
        """End a running call."""
        self._session.close()
