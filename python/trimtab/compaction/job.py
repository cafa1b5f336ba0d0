"""A compaction in the background: stored and summarized by a thread, committed by the session at its trigger."""

from __future__ import annotations

import os
from concurrent.futures import CancelledError, wait
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..hooks import Review
from ..summarize.drive import AwaitableError, result
from ..summarize.write import on_thread, write, write_all
from .effects import Commit, Originals, Owner, Store, Write, WriteAll
from .flow import compaction
from .handler import AT_ONCE

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future

    from ..events import Event
    from ..ledger.columns import Ledger
    from ..summarize.drive import Outcome
    from ..summarize.write import CallSession
    from .effects import Effect, Flow
    from .handler import EffectHandler
    from .request import CompactionRequest
    from .result import Compaction

LOOK = 1.0
"""Seconds between two looks whether the event loop that awaits the summarizer was closed."""


class _Calls(list["CallSession"]):
    """The open sessions of a summarizer; one that is opened after the end is closed at once."""

    ended = False

    def append(self, session: CallSession) -> None:
        """Add a session."""
        super().append(session)
        if self.ended:
            session.close()


class Job:
    """A compaction that runs in the background up to its commit.

    The thread is a daemon and knows nothing of the session: neither a session that is dropped nor the interpreter's
    end waits for it. A job that has ended changes nothing until ``commit``.

    Attributes:
        length: number of the messages that are compacted.
        digest: of these messages.
        pid: of the process that runs it: a forked one has no such thread.
        loop: the event loop that awaits the summarizer; None if the thread calls it.
        future: done when the job has ended.
        events: of the summarizer's failures, to be told by the session.
    """

    def __init__(self, request: CompactionRequest, handler: EffectHandler) -> None:
        """Take the request; ``review`` and ``start`` come next."""
        # The caller appends to its own list meanwhile.
        self._flow = compaction(replace(request, given=request.inputs.given))
        self._context = copy_context()  # that of every step: a span is left where it was entered
        self._handler = handler
        self._effect: Effect
        self._calls = _Calls()
        self._task: Future[Any] | None = None
        self.length, self.digest, self.pid = len(request.originals), request.origin.digest, os.getpid()
        self.loop: AbstractEventLoop | None = None
        self.future: Future[Outcome]
        self.events: list[Event] = []

    def begins(self, ledger: Ledger) -> bool:
        """Return whether a list begins with the messages that are compacted."""
        return len(ledger) >= self.length and ledger.digest_until(self.length) == self.digest

    def review(self) -> Flow[Compaction[Any] | None]:
        """Plan and ask the hook, in the caller's thread; return what was made if that is all, because it refused."""
        try:
            effect = self._context.run(next, self._flow)
            while not isinstance(effect, Store):
                effect = self._context.run((yield from self._answered(effect)))
        except StopIteration as ended:
            done: Compaction[Any] = ended.value
            return done
        self._effect = effect
        return None

    def _answered(self, effect: Effect) -> Flow[Callable[[], Effect]]:
        """Have an effect answered; return the function that goes on to the next one."""
        try:
            answer = yield effect
        except Exception as error:  # noqa: BLE001 - the compaction decides what a failure means
            return partial(self._flow.throw, error)
        return partial(self._flow.send, answer)

    def start(self, loop: AbstractEventLoop | None) -> None:
        """Start the thread; ``loop`` awaits the summarizer in a task, without one the thread calls it.

        Raises:
            RuntimeError: no thread can be started.
        """
        self.loop = loop
        self.future = on_thread(partial(self._context.run, self._run))

    def _run(self) -> Compaction[Any] | None:
        """Go on up to the commit; return what was made if there is nothing to commit."""
        flow = self._flow
        try:
            while not isinstance(self._effect, Commit):
                if self._calls.ended:
                    flow.close()
                    return None
                try:
                    answer = self._answer(self._effect)
                except AwaitableError:
                    flow.close()
                    raise
                except Exception as error:  # noqa: BLE001 - the compaction decides what a failure means
                    self._effect = flow.throw(error)
                else:
                    self._effect = flow.send(answer)
        except StopIteration as ended:
            done: Compaction[Any] = ended.value
            return done
        return None

    def _answer(self, effect: Effect) -> object:
        handler = self._handler
        if isinstance(effect, Write | WriteAll) and self.loop is not None:
            return self._await(handler.aanswer(effect), self.loop)
        match effect:
            case Write(ask, fallback):
                return write(ask, handler.writer(fallback), self._calls, limits=handler.limits(effect))
            case WriteAll(asks, fallback):
                return write_all(asks, handler.writer(fallback), AT_ONCE, self._calls)
            case Store() | Owner() | Originals():
                return handler.answer(effect)
            case Review():
                raise AssertionError("the hook is asked before the job starts")
            case event:
                self.events.append(event)  # type: ignore[arg-type]
        return None

    def _await(self, work: Coroutine[Any, Any, object], loop: AbstractEventLoop) -> object:
        """Return the result of a coroutine that runs in the event loop; the end of the loop ends the job."""
        import asyncio  # noqa: PLC0415 - paid only with a running loop

        try:
            self._task = asyncio.run_coroutine_threadsafe(work, loop)
        except RuntimeError:
            work.close()
            self._calls.ended = True
            raise
        if self._calls.ended:
            self._task.cancel()
        while not self._task.done() and not loop.is_closed():
            wait([self._task], LOOK)
        if not self._task.done():
            self._calls.ended = True
            raise CancelledError
        try:
            return self._task.result()
        except CancelledError:
            self._calls.ended = True
            raise

    @property
    def ready(self) -> Commit | None:
        """What is to be committed; None while the job runs, and after one that led to nothing."""
        return self._effect if self.future.done() and isinstance(self._effect, Commit) else None

    def ended(self) -> Compaction[Any] | None:
        """Return what a job made that has nothing to commit; None if it was cancelled.

        Raises:
            BaseException: what ended the job.
        """
        done: Compaction[Any] | None = result(self.future.result())
        return done

    def commit(self, ready: Commit) -> Flow[Compaction[Any]]:
        """Record the compaction, and tell its events.

        Args:
            ready: what is to be committed.

        Raises:
            ArchiveError: the archive cannot record it; nothing was changed.
        """
        yield from self.events
        try:
            effect: Effect = ready
            while True:
                effect = self._context.run((yield from self._answered(effect)))
        except StopIteration as ended:
            done: Compaction[Any] = ended.value
            return done

    def cancel(self) -> None:
        """End the job and its call of the summarizer. Idempotent; a job of another process is left alone."""
        if self.pid != os.getpid():
            return
        self._calls.ended = True
        if self._task is not None:
            self._task.cancel()
        for session in tuple(self._calls):
            session.close()
        self.future.add_done_callback(lambda _: self._context.run(self._flow.close))

    def explain(self) -> str:
        """Return a line about the job."""
        waits = "waits for the trigger" if self.ready else "came to nothing"
        state = waits if self.future.done() else "is being written"
        return f"a summary of the first {self.length:,} messages {state}"
