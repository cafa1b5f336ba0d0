"""Getting one summary: the two drivers of ``attempts``, one plain, one asynchronous."""

from __future__ import annotations

import inspect
import random
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from .._log import log
from ..errors import SummaryError
from .attempts import Pause, attempts
from .faults import fault

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from .ask import Answer, Ask
    from .attempts import Limits

T = TypeVar("T")

GRACE = 1.0
"""Seconds that a cancelled call is given to go away."""


class Session(Protocol):
    """One summarizer for the time of one summary: its calls share a connection."""

    def call(self, ask: Ask, seconds: float | None, /) -> object:
        """Asks once; blocks. Gives a text, an ``Answer``, or an awaitable of one."""

    def close(self) -> None:
        """Ends a call that is still running, and what it started."""


class AsyncSession(Protocol):
    """The same, awaited; cancelling a call ends it."""

    async def call(self, ask: Ask, seconds: float | None, /) -> object:
        """Asks once."""

    async def close(self) -> None:
        """Closes what is open."""


class Writer(Protocol):
    """Who writes: a value that opens a session for each summary."""

    @property
    def name(self) -> str:
        """What results and events call it."""

    @property
    def limits(self) -> Limits:
        """How long and how often it is asked."""

    def session(self) -> Session:
        """For plain callers."""

    def asession(self) -> AsyncSession:
        """For a running event loop."""


class AwaitableError(TypeError):
    """A plain caller got something to await."""


def write(ask: Ask, writer: Writer, sessions: list[Session] | None = None, *, limits: Limits | None = None) -> Answer:
    """A checked summary, within the writer's limits.

    Each call runs on a thread of its own, so that neither the deadline nor Ctrl-C waits for it.

    Args:
        ask: what to summarize.
        writer: who is to.
        sessions: where the session is put, for another thread to end it.
        limits: instead of the writer's own.

    Raises:
        SummaryError: none; says why.
        AwaitableError: the summarizer is asynchronous.
    """
    session = writer.session()
    if sessions is not None:
        sessions.append(session)
    with _told(writer):
        flow = attempts(ask, limits or writer.limits, clock=time.monotonic, chance=random.random)
        try:
            step = next(flow)
            while True:
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    step = flow.send(None)
                    continue
                try:
                    said = _call(session, step.ask, step.seconds)
                except Exception as error:  # noqa: BLE001 - the flow decides what a failure means
                    step = flow.throw(error)
                    continue
                if inspect.isawaitable(said):
                    if inspect.iscoroutine(said):
                        said.close()
                    raise AwaitableError("a summarizer is asynchronous: use acompact")
                step = flow.send(said)
        except StopIteration as done:
            answer: Answer = done.value
            return answer
        finally:
            session.close()


async def awrite(ask: Ask, writer: Writer, *, limits: Limits | None = None) -> Answer:
    """``write`` in a running event loop; cancelling it ends the call that is running.

    Raises:
        SummaryError: none; says why.
    """
    import asyncio  # noqa: PLC0415 - 24 ms, paid by those who have a loop running anyway

    session = writer.asession()
    with _told(writer):
        flow = attempts(ask, limits or writer.limits, clock=time.monotonic, chance=random.random)
        try:
            step = next(flow)
            while True:
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                    step = flow.send(None)
                    continue
                try:
                    said = await _within(asyncio.ensure_future(session.call(step.ask, step.seconds)), step.seconds)
                except Exception as error:  # noqa: BLE001 - the flow decides what a failure means
                    step = flow.throw(error)
                    continue
                step = flow.send(said)
        except StopIteration as done:
            answer: Answer = done.value
            return answer
        finally:
            await session.close()


@contextmanager
def _told(writer: Writer) -> Iterator[None]:
    """Says it loudly where a failure will not pass by itself."""
    try:
        yield
    except SummaryError as error:
        if error.__cause__ is not None and fault(error.__cause__).loud:
            log.error("summarizer %s: %s", writer.name, error)
        raise


def _call(session: Session, ask: Ask, seconds: float | None) -> object:
    if seconds is None:
        return session.call(ask, None)
    said, error = on_thread(lambda: session.call(ask, seconds)).result(timeout=max(seconds, 0))
    if error is not None:
        raise error
    return said


def write_all(asks: Sequence[Ask], writer: Writer, at_once: int) -> list[Answer | Exception]:
    """``write`` for each, so many at once: an answer or what went wrong. Interrupted, it ends all that run."""
    import threading  # noqa: PLC0415 - for the rare zone that is asked for in parts

    slots, over = threading.Semaphore(at_once), threading.Event()
    sessions: list[Session] = []

    def one(ask: Ask) -> Answer:
        with slots:
            if over.is_set():
                raise TimeoutError  # nobody waits for it any more
            return write(ask, writer, sessions)

    running = [on_thread(lambda ask=ask: one(ask)) for ask in asks]  # type: ignore[misc]
    try:
        pairs = [future.result() for future in running]
    except BaseException:
        over.set()
        for session in sessions:
            session.close()
        raise
    for _, error in pairs:
        if error is not None and not isinstance(error, Exception):
            raise error
    return [said if error is None else cast("Exception", error) for said, error in pairs]


async def awrite_all(asks: Sequence[Ask], writer: Writer, at_once: int) -> list[Answer | Exception]:
    """The same in a running event loop."""
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
    """The task's result; TimeoutError when the time is over, whether or not the task takes notice."""
    import asyncio  # noqa: PLC0415

    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait({task}, timeout=seconds if seconds is None else max(seconds, 0))
    except asyncio.CancelledError:
        await _ended(task)
        raise
    if not task.done():
        await _ended(task)
        raise TimeoutError
    if task.cancelled():
        raise SummaryError("the call was cancelled")
    return task.result()


async def _ended(task: asyncio.Task[T]) -> None:
    """Cancels a task and gives it a moment; one that takes no notice is left behind."""
    import asyncio  # noqa: PLC0415

    task.cancel()
    await asyncio.wait({task}, timeout=GRACE)


def on_thread(work: Callable[[], object]) -> Future[tuple[Any, BaseException | None]]:
    """What ``work`` gives or raises, as a pair: some exceptions, StopIteration first, do not travel between threads.

    The thread is a daemon: a call that never returns keeps no process alive.
    """
    import threading  # noqa: PLC0415 - a few ms, not paid by those who only count
    from concurrent.futures import Future  # noqa: PLC0415
    from contextvars import copy_context  # noqa: PLC0415

    future: Future[tuple[Any, BaseException | None]] = Future()
    future.set_running_or_notify_cancel()
    context = copy_context()

    def go() -> None:
        try:
            future.set_result((context.run(work), None))
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            future.set_result((None, error))

    threading.Thread(target=go, name="trimtab-summarizer", daemon=True).start()
    return future


class Threaded:
    """A plain session in an event loop: its calls block threads of their own."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def call(self, ask: Ask, seconds: float | None, /) -> object:
        """Asks once; what comes back may be awaitable, and then is awaited."""
        import asyncio  # noqa: PLC0415

        said, error = await asyncio.wrap_future(on_thread(lambda: self._session.call(ask, seconds)))
        if error is not None:
            raise error
        return await said if inspect.isawaitable(said) else said

    async def close(self) -> None:
        """Ends what is still running."""
        self._session.close()
