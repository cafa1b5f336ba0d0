"""Compaction in the background: a summary starts below the trigger, and is put in its place at the trigger.

Below the danger line ``fit`` waits for no summarizer: a prompt past its trigger passes while the summary is written. At
the danger line it waits for the summary that is under way, and compacts by itself where there is none.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from operator import is_
from typing import TYPE_CHECKING, Any

from .. import _core
from .._log import details, log, outline
from .._mask import mask
from ..compaction.apply import without_thinking
from ..compaction.effects import Commit, Start, Store, Wait
from ..compaction.flow import noted, stored_view
from ..compaction.job import Job
from ..compaction.view import View
from ..counting.counter import scan
from ..errors import ArchiveError, BusyError, Error, SummaryError
from ..events import Refused
from ..messages.objects import InputMessages
from ..planning.edits import Summarize
from ..summarize.drive import AwaitableError
from .fit import automatic
from .standin import StandIn

if TYPE_CHECKING:
    from ..compaction.effects import Flow
    from ..compaction.result import Compaction
    from ..compaction.settings import Settings
    from ..ledger.columns import Ledger
    from .call import Call, Size, When
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
        ledger: of the new list.
        done: the compaction, with the new list.
    """

    call: Call
    ledger: Ledger
    done: Compaction[Any]


def beside(at: Memory, call: Call, size: Size, when: When, *, danger: bool) -> Flow[tuple[Swapped | None, str]]:
    """Start a summary in the background, or put a finished one in its place.

    Args:
        at: the session.
        call: the call, whose prompt is near the trigger or past it.
        size: sizes of its prompt.
        when: the moment.
        danger: whether the prompt is past the danger line: then it must not pass.

    Returns:
        The new list if the trigger is reached and a summary is ready, and the reason to compact nothing else below the
        danger line; empty to go on as without a background.

    Raises:
        TypeError: the summarizer is asynchronous: ``afit`` awaits it.
        BusyError: another compaction of the named session is under way.
    """
    due = danger or (when in at.policy.trigger.when and size.pressure.is_past_trigger)
    job = at.job
    if job is not None and job.pid != os.getpid():  # its thread stayed in the process that this one was forked from
        at.job = job = None
    if job is None:
        waits = "" if danger or when not in at.policy.trigger.when else (yield from _start(at, call, size))
        return None, waits if due else ""
    raw = call if call.given is None else replace(call, messages=call.given, given=None, view=None)
    ledger = at.scan(raw.messages)
    if len(ledger) < job.length or ledger.digest_until(job.length) != job.digest:
        at.stop()
        yield from _discarded(at, "the messages were changed while they were summarized")
        return None, "" if danger or not due else (yield from _start(at, call, size))
    if danger and not job.future.done():
        yield Wait(job.future, job.loop)
    if not job.future.done():
        if danger:  # another event loop has to go on before the summary is there
            at.stop()
        return None, WRITING if due and not danger else ""
    if job.ready is None:
        reason = yield from _failed(at, job, size)
        return None, reason if due and not danger else ""
    swapped = (yield from _swapped(at, job, raw, ledger, size)) if due else None
    return swapped, swapped.done.reason if swapped else ""


def _start(at: Memory, call: Call, size: Size) -> Flow[str]:
    """Start a summary; return the reason to leave a prompt past its trigger as it is, empty without any."""
    most, reason = at.held
    if size.prompt < most:
        return reason
    if at.rests():
        return ""
    at.held = (size.prompt + size.prompt // GROWTH, "")
    request = automatic(at, call, size, at.policy)
    plan = request.decide()
    if not isinstance(plan.zone(), Summarize):
        return ""
    # The session goes on counting with its own counter, which knows the list that it saw last.
    settings = replace(request.settings, counter=at.settings.new_counter())
    job = Job(replace(request, settings=settings, plan=plan), at.handler)
    refused = yield from job.review()
    if refused is not None:
        at.held = (at.held[0], refused.reason if refused.outcome == "refused" else "")
        return at.held[1]
    try:
        yield Start(job.start)
    except RuntimeError as error:
        log.warning("no summary in the background: %s", outline(error))
        return ""
    at.job = job
    return WRITING


def _failed(at: Memory, job: Job, size: Size) -> Flow[str]:
    """Record a job that led to nothing, and tell its events; return the reason."""
    at.stop()
    yield from job.events
    try:
        made = job.ended()
    except AwaitableError:
        raise
    except BaseException as error:  # noqa: BLE001 - a thread's failure is no exception of this call
        told = error.account if isinstance(error, SummaryError) else mask(f"{type(error).__name__}: {error}")
        log.warning("the compaction in the background failed: %s", outline(error))
        details.warning("the compaction in the background failed: %s", told)
        at.fail()
        reason = mask(str(error)) if isinstance(error, Error) else told
        yield from _discarded(at, reason)
    else:
        if made is None:
            return ""
        at.done(made, size)
        reason = made.reason
    at.held = (size.prompt + size.prompt // GROWTH, reason)
    return reason


def _swapped(at: Memory, job: Job, raw: Call, ledger: Ledger, size: Size) -> Flow[Swapped | None]:
    """Put a finished summary in the place of the messages that it was made of; None if it cannot stand there."""
    ready: Any = job.ready
    standin = StandIn(ready.view, is_known=True)
    call, found = standin.put(raw, ledger, at.settings)
    at.job = None
    if call.view is None:
        at.stop()
        yield from _discarded(at, "a message that was summarized shall stay now")
        return None
    view = _unbound(ready.view, raw, ledger, found, at.settings) if at.settings.strips else ready.view
    if view is not ready.view:
        standin = StandIn(view, is_known=True)
        call, found = standin.put(raw, ledger, at.settings)
    with at.alone():
        try:
            if view is not ready.view:  # the messages that have lost their thinking are restored too
                request = at.request(raw, trigger="auto").archivable()
                stored, since = yield Store(request.stored, at.settings.session)
                kept = (part for part in view.parts if isinstance(part, list))
                preserved = tuple(place for part in kept for place in range(*part))
                record = replace(ready.record, preserved=preserved, view=stored_view(request, view))
                ready = Commit(stored, record, since, view)
            made = yield from job.commit(ready)
        except BusyError:
            raise
        except ArchiveError as error:
            log.warning("the compaction in the background failed: %s", outline(error))
            yield from _discarded(at, str(error))
            return None
        at.done(made, size)
    at.standin = standin
    return Swapped(call, found, replace(made, messages=call.messages))


def _unbound(view: View, raw: Call, ledger: Ledger, found: Ledger, settings: Settings) -> View:
    """Return the view without the thinking of the messages behind it: the provider has bound it to the old list."""
    plain = InputMessages(raw.messages).messages
    made = view.apply(plain) or []
    new = without_thinking(made, found, view.made)
    if len(new) == len(made) and all(map(is_, new, made)):
        return view
    result = scan(new, settings.new_counter(), found.provider).digest
    return View(view.ref, len(plain), ledger.digest, len(new), result, _core.parts_of(plain, new))


def _discarded(at: Memory, reason: str) -> Flow[None]:
    yield Refused("auto", reason)
    yield noted(at.settings.session, "skipped", "a summary that was written in the background is not used")
