"""Compaction in the background: a summary starts below the trigger, and is put in its place at the trigger.

Below the danger line ``fit`` waits for no summarizer: a prompt past its trigger passes while the summary is written. At
the danger line it waits for the summary that is under way, and compacts by itself where there is none.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from operator import is_
from typing import TYPE_CHECKING, Any

from .._log import details, log, outline
from .._mask import mask
from ..compaction.effects import Commit, Start, Store, Wait
from ..compaction.flow import noted, stored_view
from ..compaction.job import Job
from ..compaction.rows import without_thinking
from ..compaction.view import View
from ..counting.counter import scan
from ..errors import ArchiveError, BusyError, Error, SummaryError
from ..events import Refused
from ..messages.objects import InputMessages
from ..planning.edits import Summarize
from ..summarize.drive import AwaitableError
from .goals import by_policy
from .standin import StandIn

if TYPE_CHECKING:
    from ..compaction.effects import Flow
    from ..compaction.result import Compaction
    from ..compaction.settings import Settings
    from ..ledger.columns import Ledger
    from .call import ReadCall, Size, When
    from .memory import Memory

WRITING = "a summary is being written in the background"
"""Why a prompt passes its trigger."""

GROWTH = 20
"""A list from which nothing could be summarized is looked at again when its prompt has grown by this part."""


@dataclass(frozen=True, slots=True)
class Swapped:
    """A finished summary in the place of the messages that it was made of.

    Attributes:
        call: the call with the new list.
        done: the compaction, with the new list.
    """

    call: ReadCall
    done: Compaction[Any]


def in_background(
    memory: Memory, call: ReadCall, size: Size, when: When, *, danger: bool, cut: bool
) -> Flow[tuple[Swapped | None, str]]:
    """Start a summary in the background, or put a finished one in its place.

    Args:
        memory: of the session.
        call: the call, whose prompt is near the trigger or past it.
        size: sizes of its prompt.
        when: the moment.
        danger: whether the prompt is past the danger line: then it must not pass.
        cut: whether this call of ``fit`` has cut a result.

    Returns:
        The new list if the trigger is reached and a summary is ready, and the reason to compact nothing else below the
        danger line; empty to go on as without a background.

    Raises:
        TypeError: the summarizer is asynchronous: ``afit`` awaits it.
        BusyError: another compaction of the named session is under way.
    """
    due = danger or (when in memory.policy.trigger.when and size.pressure.is_past_trigger)
    job = memory.background.job
    if job is not None and job.pid != os.getpid():  # its thread stayed in the process that this one was forked from
        memory.background.job = job = None
    if job is None:
        waits = (
            "" if danger or when not in memory.policy.trigger.when else (yield from _start(memory, call, size, cut=cut))
        )
        return None, waits if due else ""
    raw = call if call.given is None else memory.read(call.whole())
    base = call if call.view is not None and job.begins(call.ledger) else raw
    if not job.begins(base.ledger):
        memory.background.stop()
        yield from _discarded(memory, "the messages were changed while they were summarized")
        return None, "" if danger or not due else (yield from _start(memory, call, size, cut=cut))
    if danger and not job.future.done():
        yield Wait(job.future, job.loop)
    if not job.future.done():
        if danger:  # another event loop has to go on before the summary is there
            memory.background.stop()
        return None, WRITING if due and not danger else ""
    if job.ready is None:
        reason = yield from _failed(memory, job, size)
        return None, reason if due and not danger else ""
    swapped = (yield from _swapped(memory, job, (base, raw), size)) if due else None
    return swapped, swapped.done.reason if swapped else ""


def _start(memory: Memory, call: ReadCall, size: Size, *, cut: bool) -> Flow[str]:
    """Start a summary; return the reason to leave a prompt past its trigger as it is, empty without any."""
    background = memory.background
    if size.prompt < background.above:
        return background.reason
    if memory.rests():
        return ""
    background.above, background.reason = size.prompt + size.prompt // GROWTH, ""
    if cut:  # next, a caller has the cut list that it gets now; where it has its own again, the cut list stands in
        call = memory.read(call.compacted(call.messages))
    request = by_policy(memory, call, size, memory.policy)
    plan = request.decide()
    if not isinstance(plan.zone(), Summarize):
        return ""
    # The session goes on counting with its own counter, which knows the list that it saw last.
    settings = replace(request.settings, counter=memory.settings.new_counter())
    job = Job(replace(request, settings=settings, plan=plan), memory.handler)
    refused = yield from job.review()
    if refused is not None:
        background.reason = refused.reason if refused.outcome == "refused" else ""
        return background.reason
    try:
        yield Start(job.start)
    except RuntimeError as error:
        log.warning("no summary in the background: %s", outline(error))
        return ""
    background.job = job
    return WRITING


def _failed(memory: Memory, job: Job, size: Size) -> Flow[str]:
    """Record a job that led to nothing, and tell its events; return the reason."""
    memory.background.stop()
    yield from job.events
    try:
        made = job.ended()
    except AwaitableError:
        raise
    except BaseException as error:  # noqa: BLE001 - a thread's failure is no exception of this call
        told = error.account if isinstance(error, SummaryError) else mask(f"{type(error).__name__}: {error}")
        log.warning("the compaction in the background failed: %s", outline(error))
        details.warning("the compaction in the background failed: %s", told)
        memory.rounds.fail()
        reason = mask(str(error)) if isinstance(error, Error) else told
        yield from _discarded(memory, reason)
    else:
        if made is None:
            return ""
        memory.done(made, size)
        reason = made.reason
    memory.background.above, memory.background.reason = size.prompt + size.prompt // GROWTH, reason
    return reason


def _swapped(memory: Memory, job: Job, calls: tuple[ReadCall, ReadCall], size: Size) -> Flow[Swapped | None]:
    """Put a finished summary in the place of the messages that it was made of; None if it cannot stand there.

    Args:
        memory: of the session.
        job: the finished job.
        calls: the call whose messages begin with those, and the call with the caller's own list.
        size: sizes of the prompt.
    """
    (base, raw), ready = calls, _ready(job)
    standin = StandIn(ready.view, is_known=True)
    call, view = standin.put(base, memory.settings), ready.view
    memory.background.job = None
    if call is not base and view is not None and (memory.settings.strips or base is not raw):
        view = _told_by(raw, base, view, call.ledger, memory.settings)
    if view is not ready.view:
        standin = StandIn(view, is_known=True)
        call = standin.put(raw, memory.settings)
    if view is None or call is base or call.view is None:
        memory.background.stop()
        yield from _discarded(memory, "a message that was summarized shall stay now")
        return None
    undone = memory.undone
    with memory.alone():
        try:
            if view is not ready.view:  # what was cut, and what has lost its thinking, is restored too
                request = memory.request(raw, trigger="auto").archivable()
                stored, since = yield Store(request.stored, memory.settings.session)
                kept = [part for part in view.parts if isinstance(part, list)] + [[view.length, len(raw.ledger)]]
                preserved = tuple(place for part in kept for place in range(*part))
                record = replace(ready.record, preserved=preserved, view=stored_view(request, view))
                ready = Commit(stored, record, since, view)
            made = yield from job.commit(ready)
        except BusyError:
            raise
        except ArchiveError as error:
            log.warning("the compaction in the background failed: %s", outline(error))
            yield from _discarded(memory, str(error))
            return None
        if memory.undone != undone:  # a listener has pinned what may have left
            made, standin = replace(made, view=None), StandIn(is_known=True)
        memory.done(made, size)
    memory.standin = standin
    return Swapped(call, replace(made, messages=call.messages))


def _ready(job: Job) -> Commit:
    """Return what a finished job has to commit."""
    if job.ready is None:
        raise AssertionError("the job has nothing to commit")
    return job.ready


def _told_by(raw: ReadCall, base: ReadCall, view: View, found: Ledger, settings: Settings) -> View | None:
    """Return a view of ``base``, told by the caller's own list; None if it cannot be.

    It lacks the thinking of the messages behind it where the provider has bound that to the old list.
    """
    plain = InputMessages(raw.messages).messages
    told = plain if base.view is None else base.view.apply(plain)
    made = None if told is None else view.apply(told)
    if made is None:
        return None
    new = without_thinking(made, found, view.made) if settings.strips else made
    if base is raw and len(new) == len(made) and all(map(is_, new, made)):
        return view
    ledger = scan(new, settings.new_counter(), found.provider)
    return View.of(view.ref, plain, raw.ledger, new, ledger, strips=settings.strips)


def _discarded(memory: Memory, reason: str) -> Flow[None]:
    yield Refused("auto", reason)
    yield noted(memory.settings.session, "skipped", "a summary that was written in the background is not used")
