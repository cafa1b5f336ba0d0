"""Two drivers of a flow, one plain and one asynchronous, and the handler that answers its effects."""

from __future__ import annotations

import inspect
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from .._log import log
from ..errors import InternalError, SummaryError
from ..hooks import Review
from ..summarize import AwaitableError, awrite, awrite_all, open_summarizer, write, write_all
from .effects import Commit, Store, Write, WriteAll
from .result import Compaction

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ..archive import Archive
    from ..events import Event
    from ..hooks import PreCompact
    from ..summarize import Answer, Limits, Writer
    from .effects import Effect


AT_ONCE = 4
"""Most calls to a summarizer at the same time: providers answer more with 429."""


class EffectHandler:
    """Answers a flow's effects: asks the hook, writes to the archive, calls the summarizer, tells the listeners.

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

    def answer(self, effect: Effect) -> object:
        """The answer to an effect; may be awaitable."""
        match effect:
            case Review():
                return self.pre_compact(effect)
            case Store(messages, session):
                return self.archive.store(messages, session), monotonic()
            case Write(ask, fallback):
                return write(ask, self.writer(fallback), limits=self.limits(effect))
            case Commit(stored, record, since):
                took = round((monotonic() - since) * 1000)
                self.archive.commit(stored, replace(record, duration_ms=took))
            case WriteAll():
                raise InternalError("a driver asks for the parts one by one")
            case event:
                self._tell(event)
        return None

    async def awrite(self, effect: Write) -> Answer:
        """The summary, awaited."""
        return await awrite(effect.ask, self.writer(effect.fallback), limits=self.limits(effect))

    def writer(self, fallback: str | None) -> Writer:
        """The summarizer: the policy's fallback, or the caller's own."""
        return open_summarizer(fallback)[1] if fallback else self.summarizer

    def limits(self, effect: Write) -> Limits:
        """The writer's limits, with the time that is left.

        Raises:
            SummaryError: no time is left.
        """
        limits = self.writer(effect.fallback).limits
        if effect.since is None or limits.seconds is None:
            return limits
        left = limits.seconds - (monotonic() - effect.since)
        if left <= 0:
            raise SummaryError(f"the {limits.seconds:g} s are over")
        return replace(limits, seconds=left)

    def _tell(self, event: Event) -> None:
        for listener in self.listeners:
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - told after the fact: a listener cannot undo it
                log.exception("a listener raised on %s", type(event).__name__)


def run(flow: Generator[Effect, Any, Compaction], handler: EffectHandler) -> Compaction:
    """Drives a flow where nothing is asynchronous.

    Raises:
        TypeError: a hook or a summarizer is asynchronous; nothing was changed.
    """
    step = _advance(flow, None, None)
    while not isinstance(step, Compaction):
        answer, failure = _together(handler, step) if isinstance(step, WriteAll) else _attempt(handler, step)
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


def _together(handler: EffectHandler, effect: WriteAll) -> tuple[object, Exception | None]:
    """An answer or an exception for each, asked for in parallel."""
    answers = write_all(effect.asks, handler.writer(effect.fallback), AT_ONCE)
    return answers, next((each for each in answers if isinstance(each, AwaitableError)), None)


async def arun(flow: Generator[Effect, Any, Compaction], handler: EffectHandler) -> Compaction:
    """Drives a flow whose hooks and summarizers may be asynchronous; archives and plain summarizers run in threads."""
    import asyncio  # noqa: PLC0415 - 24 ms, paid by those who have a loop running anyway

    answer: object
    failure: Exception | None
    step = _advance(flow, None, None)
    while not isinstance(step, Compaction):
        failure = None
        if isinstance(step, WriteAll):
            answer = awrite_all(step.asks, handler.writer(step.fallback), AT_ONCE)
        elif isinstance(step, Write):
            answer = handler.awrite(step)
        elif isinstance(step, Store | Commit):
            answer, failure = await asyncio.to_thread(_attempt, handler, step)
        else:
            answer, failure = _attempt(handler, step)
        if inspect.isawaitable(answer):
            try:
                answer = await answer
            except Exception as error:  # noqa: BLE001 - the flow decides what a failure means
                failure = error
        step = _advance(flow, answer, failure)
    return step


def _attempt(handler: EffectHandler, effect: Effect) -> tuple[object, Exception | None]:
    """The answer or the failure, as values: some exceptions, StopIteration first, do not travel between threads."""
    try:
        return handler.answer(effect), None
    except Exception as error:  # noqa: BLE001 - the flow decides what a failure means
        return None, error


def _advance(
    flow: Generator[Effect, Any, Compaction], answer: object, failure: Exception | None
) -> Effect | Compaction:
    """The next effect, or what came of it all."""
    try:
        return flow.send(answer) if failure is None else flow.throw(failure)
    except StopIteration as done:
        result: Compaction = done.value
        return result
