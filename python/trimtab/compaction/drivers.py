"""Two drivers of a flow, one plain, one asynchronous, and the outside world that answers it."""

from __future__ import annotations

import inspect
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from .._log import log
from ..errors import InternalError, SummaryError
from ..hooks import Review
from ..summarize import AwaitableError, awrite, awrite_all, open_summarizer, write, write_all
from .effects import Commit, Store, Write, WriteAll
from .result import Compaction

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ..archive import Archive, SqlArchive
    from ..events import Event
    from ..hooks import PreCompact
    from ..summarize import Answer, Limits, Writer
    from .effects import Want


AT_ONCE = 4
"""Most calls to a summarizer at the same time: providers answer more with 429."""


class Outside:
    """Answers a flow's wants: asks the hook, keeps the archive, calls the summarizer, tells the listeners.

    Attributes:
        archive: keeps the originals.
        summarizer: the caller's own.
        pre_compact: the hook.
        listeners: told what happened.
    """

    def __init__(
        self,
        archive: Archive,
        summarizer: Writer,
        pre_compact: PreCompact,
        listeners: tuple[Callable[[Event], None], ...],
    ) -> None:
        """Holds the four; opens nothing."""
        self.archive = archive
        self.summarizer = summarizer
        self.pre_compact = pre_compact
        self.listeners = listeners

    def answer(self, want: Want) -> object:
        """What the flow asked for; may be awaitable."""
        match want:
            case Review():
                return self.pre_compact(want)
            case Store(messages, session):
                return self.archive.store(messages, session), monotonic()
            case Write(ask, fallback):
                return write(ask, self.writer(fallback), limits=self.limits(want))
            case Commit(stored, record, since):
                took = round((monotonic() - since) * 1000)
                self.archive.commit(stored, replace(record, duration_ms=took))
            case WriteAll():
                raise InternalError("a driver asks for the parts one by one")
            case event:
                self._tell(event)
        return None

    async def awrite(self, want: Write) -> Answer:
        """The summary that the flow asked for."""
        return await awrite(want.ask, self.writer(want.fallback), limits=self.limits(want))

    def writer(self, fallback: str | None) -> Writer:
        """Who writes: the one that the policy falls back to, or the caller's own."""
        return open_summarizer(fallback)[1] if fallback else self.summarizer

    def limits(self, want: Write) -> Limits:
        """The writer's limits; of its time, what is left.

        Raises:
            SummaryError: nothing is.
        """
        limits = self.writer(want.fallback).limits
        if want.since is None or limits.seconds is None:
            return limits
        left = limits.seconds - (monotonic() - want.since)
        if left <= 0:
            raise SummaryError(f"the {limits.seconds:g} s are over")
        return replace(limits, seconds=left)

    async def keep(self, want: Store | Commit) -> object:
        """The archive's part of what the flow asks for, awaited."""
        archive: SqlArchive = cast("SqlArchive", self.archive)
        if isinstance(want, Store):
            return await archive.aio.store(want.messages, want.session), monotonic()
        took = round((monotonic() - want.since) * 1000)
        await archive.aio.commit(want.stored, replace(want.record, duration_ms=took))
        return None

    def _tell(self, event: Event) -> None:
        for listener in self.listeners:
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - told after the fact: a listener cannot undo it
                log.exception("a listener raised on %s", type(event).__name__)


def run(flow: Generator[Want, Any, Compaction], outside: Outside) -> Compaction:
    """Drives a flow where nothing is asynchronous.

    Raises:
        TypeError: a hook or a summarizer is asynchronous; nothing was changed.
    """
    step = _advance(flow, None, None)
    while not isinstance(step, Compaction):
        answer, failure = _together(outside, step) if isinstance(step, WriteAll) else _attempt(outside, step)
        if isinstance(failure, AwaitableError):
            flow.close()
            raise failure
        if inspect.isawaitable(answer):
            flow.close()
            if inspect.iscoroutine(answer):
                answer.close()
            raise AwaitableError("a hook is asynchronous: use acompact")
        step = _advance(flow, answer, failure)
    return step


def _together(outside: Outside, wanted: WriteAll) -> tuple[object, Exception | None]:
    """An answer or an exception for each, asked for in parallel."""
    answers = write_all(wanted.asks, outside.writer(wanted.fallback), AT_ONCE)
    return answers, next((each for each in answers if isinstance(each, AwaitableError)), None)


async def arun(flow: Generator[Want, Any, Compaction], outside: Outside) -> Compaction:
    """Drives a flow whose hooks and summarizers may be asynchronous; archive and plain summarizers work in threads."""
    import asyncio  # noqa: PLC0415 - 24 ms, paid by those who have a loop running anyway

    awaits = hasattr(outside.archive, "aio")
    answer: object
    failure: Exception | None
    step = _advance(flow, None, None)
    while not isinstance(step, Compaction):
        failure = None
        if isinstance(step, WriteAll):
            answer = awrite_all(step.asks, outside.writer(step.fallback), AT_ONCE)
        elif isinstance(step, Write):
            answer = outside.awrite(step)
        elif awaits and isinstance(step, Store | Commit):
            answer = outside.keep(step)
        elif isinstance(step, Store | Commit):
            answer, failure = await asyncio.to_thread(_attempt, outside, step)
        else:
            answer, failure = _attempt(outside, step)
        if inspect.isawaitable(answer):
            try:
                answer = await answer
            except Exception as error:  # noqa: BLE001 - the flow decides what a failure means
                failure = error
        step = _advance(flow, answer, failure)
    return step


def _attempt(outside: Outside, want: Want) -> tuple[object, Exception | None]:
    """The answer or the failure, as values: some exceptions, StopIteration first, do not travel between threads."""
    try:
        return outside.answer(want), None
    except Exception as error:  # noqa: BLE001 - the flow decides what a failure means
        return None, error


def _advance(flow: Generator[Want, Any, Compaction], answer: object, failure: Exception | None) -> Want | Compaction:
    """The next want, or what came of it all."""
    try:
        return flow.send(answer) if failure is None else flow.throw(failure)
    except StopIteration as done:
        result: Compaction = done.value
        return result
