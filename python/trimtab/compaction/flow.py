"""The order in which a compaction is done: a generator that yields what it wants and is sent the answers.

It does no I/O: the drivers in ``_drive`` play the outside world, and a test plays it too.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..archive import Record
from ..errors import NothingToCompactError
from ..events import Compacted, Refused, told
from ..hooks import Review, Verdict
from ..messages.envelope import enveloped
from ..planning.plan import NOTHING
from .effects import Commit, Store
from .rebuild import check, rebuilt
from .result import Compaction
from .summary import summarized

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..archive import Stored
    from ..planning.plan import Plan
    from .effects import Want
    from .request import Job


def compaction(job: Job) -> Generator[Want, Any, Compaction]:
    """May I? Plan. May I do this? Store the originals; ask the model; build and check; commit; tell.

    Raises:
        MessageError: the transcript is not one that its provider takes.
        ArchiveError: the originals cannot be kept; nothing was changed and no model asked.
        SummaryError: no summary, and the policy has no other way.
    """
    if not job.policy.parity:
        check(job.ledger)
    verdict = yield from _asked(job, None)
    if verdict.refuse is not None:
        return (yield from _refused(job, verdict.refuse))
    job = _heard(job, verdict)
    plan = job.plan()
    if not plan.edits:
        if job.policy.on_nothing == "error" and job.trigger == "manual" and plan.reason.startswith(NOTHING):
            raise NothingToCompactError().during("Compact", job.session)
        return _unchanged(job, plan, plan.reason)
    verdict = yield from _asked(job, plan)
    if verdict.refuse is not None:
        return (yield from _refused(job, verdict.refuse, plan))
    job = _heard(job, verdict)
    stored, since = yield Store(job.told, job.session)
    outcome = yield from summarized(job, plan, since)
    plan, summary, author, usage = outcome.plan, outcome.text, outcome.author, outcome.usage
    if not plan.edits:
        yield Refused(job.trigger, plan.reason)
        undone = _unchanged(job, plan, plan.reason)
        return replace(undone, strategy=outcome.strategy, usage=usage, failed=outcome.failed)
    ref = _ref(job, stored, plan, summary)
    messages, after = rebuilt(job, plan, summary, ref)
    if after >= plan.tokens_before and not job.policy.parity:
        reason = "compaction would not make it smaller"
        yield Refused(job.trigger, reason)
        return replace(_unchanged(job, plan, reason), usage=usage)
    if after > plan.target and "not to the target" not in plan.reason:
        plan = replace(plan, reason=f"{plan.reason}; {after - plan.target:,} tokens over the target")
    done = Compaction(
        messages,
        plan,
        ref,
        plan.tokens_before,
        after,
        plan.reason,
        author,
        usage,
        summary,
        outcome.strategy,
        outcome.offer,
        outcome.failed,
    )
    yield Commit(stored, _record(job, done, summary), since)
    done = replace(done, messages=job.read.back(done.messages))
    event = Compacted(
        job.trigger,
        ref,
        plan.tokens_before,
        after,
        plan,
        author,
        usage,
        summary,
        outcome.strategy,
        job.turn,
        outcome.offer,
    )
    yield event
    yield from told(job.policy.order, event, uuid=job.uuid, session_id=job.session)
    return done


def _heard(job: Job, verdict: Verdict) -> Job:
    """The job with what a hook said."""
    lines = "\n".join(text for text in (job.context, verdict.context) if text)
    return replace(job, instructions=_either(verdict.instructions, job.instructions), context=lines or None)


def _asked(job: Job, plan: Plan | None) -> Generator[Want, Any, Verdict]:
    """The hook's verdict; one that raises refuses, with its reason."""
    try:
        verdict: object = yield Review(job.trigger, job.instructions, plan)
    except Exception as error:  # noqa: BLE001 - whatever a hook raises, it did not agree
        return Verdict(refuse=f"the hook raised {type(error).__name__}: {error}")
    if verdict is None:
        return Verdict()
    if isinstance(verdict, Verdict):
        return verdict
    return Verdict(refuse=f"the hook answered {verdict!r}: None goes on, a Verdict says more")


def _refused(job: Job, reason: str, plan: Plan | None = None) -> Generator[Want, Any, Compaction]:
    yield Refused(job.trigger, reason)
    return _unchanged(job, plan or job.plan(), f"refused: {reason}")


def _unchanged(job: Job, plan: Plan, reason: str) -> Compaction:
    undone = replace(plan, edits=(), tokens_after=plan.tokens_before, reason=reason)
    return Compaction(job.given, undone, None, plan.tokens_before, plan.tokens_before, reason)


def _either(new: str | None, old: str | None) -> str | None:
    return old if new is None else new


def _record(job: Job, done: Compaction, summary: str | None) -> Record:
    """What the archive is to remember."""
    kept = {id(message) for message in done.messages}
    return Record(
        ref=done.ref or "",
        strategy=done.strategy,
        tokens_before=done.tokens_before,
        tokens_after=done.tokens_after,
        plan=done.plan.to_json(),
        preserved=tuple(n for n, message in enumerate(job.messages) if id(message) in kept),
        summary=summary,
        summarizer=done.summarizer,
        live=tuple(found.ref for message in done.messages if (found := enveloped(message))),
        exclusive=job.exclusive,
    )


def _ref(job: Job, stored: Stored, plan: Plan, summary: str | None) -> str:
    """A name for this compaction: of the session, if somebody named it, the originals and what was done.

    Doing the same again is the same, so that a commit whose answer was lost is not doubled.
    """
    parts = "\0".join([job.session if job.exclusive else "", *stored.digests, plan.to_json(), summary or ""])
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:20]
