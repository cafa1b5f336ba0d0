"""Answers the effects of a compaction: asks the hook, writes to the archive, calls the summarizer, tells listeners."""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import isawaitable, iscoroutine
from time import monotonic
from typing import TYPE_CHECKING

from .._log import log, outline
from ..archive.originals import originals
from ..errors import ArchiveError, CountError, SummaryError
from ..hooks import Review
from ..summarize import open_summarizer
from ..summarize.drive import in_thread, result
from ..summarize.write import awrite, awrite_all, write, write_all
from .effects import Commit, Count, Long, Note, Originals, Owner, Start, Store, Wait, Write, WriteAll

if TYPE_CHECKING:
    from ..archive import Receipt
    from ..archive.opener import Opener
    from ..hooks import PreCompact
    from ..summarize import Limits, Writer
    from .effects import Effect
    from .listeners import Listeners

AT_ONCE = 4
"""Most simultaneous calls to a summarizer: providers answer more with 429."""


@dataclass(frozen=True, slots=True)
class EffectHandler:
    """Answers effects, with or without a running event loop.

    Attributes:
        archive: opens the archive that stores the originals.
        summarizer: the caller's own.
        pre_compact: the hook.
        listeners: functions that are told events.
    """

    archive: Opener
    summarizer: Writer
    pre_compact: PreCompact
    listeners: Listeners

    def answer(self, effect: Effect) -> object:
        """Return the answer to an effect; that of a hook may be awaitable."""
        match effect:
            case Review():
                return self.pre_compact(effect)
            case Count():
                return _answered(effect.ask())
            case Store(messages, session):
                return self.archive.open().store(messages, session), monotonic()
            case Owner(ref):
                return self.archive.open().owner(ref)
            case Originals(refs, session):
                return originals(self.archive.open(), refs, session)
            case Commit(stored):
                self.archive.open().commit(stored, effect.timed())
            case Note(receipt):
                self._note(receipt)
            case Write(ask, fallback):
                return write(ask, self.writer(fallback), limits=self.limits(effect))
            case WriteAll(asks, fallback):
                return write_all(asks, self.writer(fallback), AT_ONCE)
            case Start(run):
                run(None)
            case Wait(job, loop):
                if loop is None:
                    from concurrent.futures import wait  # noqa: PLC0415 - loaded with the first background job

                    wait([job])
            case Long():
                pass
            case event:
                self.listeners.tell(event)
        return None

    async def aanswer(self, effect: Effect) -> object:
        """``answer`` in a running event loop: awaits what is asynchronous, and runs the archive in a thread."""
        match effect:
            case Count():
                return await _awaited(effect.ask())
            case Write(ask, fallback):
                return await awrite(ask, self.writer(fallback), limits=self.limits(effect))
            case WriteAll(asks, fallback):
                return await awrite_all(asks, self.writer(fallback), AT_ONCE)
            case Store() | Owner() | Originals() | Commit() | Note():
                return result(await in_thread(lambda: self.answer(effect)))
            case Start(run):
                import asyncio  # noqa: PLC0415

                run(asyncio.get_running_loop())
            case Wait(job, loop):
                import asyncio  # noqa: PLC0415

                if loop in {None, asyncio.get_running_loop()}:
                    await asyncio.wait({asyncio.wrap_future(job)})
            case Long():
                pass
            case Review():
                return await _awaited(self.answer(effect))
            case event:
                await self.listeners.atell(event)
        return None

    def _note(self, receipt: Receipt) -> None:
        """Add an entry to the log of an archive that keeps one; a failure is logged, and stops nothing."""
        try:
            if archive := self.archive.known():
                archive.note([receipt])
        except ArchiveError as error:
            log.warning("the archive's log lacks an entry: %s", outline(error))

    def writer(self, fallback: str | None) -> Writer:
        """Return the summarizer: the policy's fallback, or the caller's own."""
        return open_summarizer(fallback)[1] if fallback else self.summarizer

    def limits(self, effect: Write) -> Limits:
        """Return the writer's limits, with the time that is left.

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


def _answered(answer: object) -> object:
    if iscoroutine(answer):
        answer.close()
    if isawaitable(answer):
        raise CountError("the client is asynchronous, await acheck or afit")
    return answer


async def _awaited(answer: object) -> object:
    return await answer if isawaitable(answer) else answer
