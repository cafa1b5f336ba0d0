"""The order of a compaction, as a generator that yields effects and receives their answers.

It does no I/O: ``EffectHandler`` or a test answers the effects.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._mask import mask
from ..archive import Receipt, Record
from ..archive.names import takes_ref
from ..archive.redact import redact_record
from ..archive.sql.codec import encode
from ..audit.lists import Lists
from ..errors import NothingToCompactError, SummaryError
from ..events import Compacted, Refused, told
from ..hooks import HOOK, Given, Review, Verdict
from ..messages.envelope import enveloped
from ..planning.plan import NOTHING, UNREACHED, USELESS
from .effects import Commit, Note, Owner, Store
from .given import check, check_fit
from .kept_spans import leaving
from .rebuild import rebuilt
from .result import REFUSED, Compaction
from .summary import summarize
from .tracing import traced

if TYPE_CHECKING:
    from ..archive import Stored
    from ..planning.plan import Plan
    from .effects import Flow
    from .request import CompactionRequest
    from .summary import Outcome
    from .view import View


OTHER = "\0"
"""What is added to the digested text for another name."""

TRIES = 2
"""Lists made to fill a target: a cut result may have had fewer tokens than its cap, and has all of the next."""


def compaction(request: CompactionRequest) -> Flow[Compaction[Any]]:
    """Plan; review; review the plan; store the originals; summarize; build and check; commit; report the events.

    An automatic compaction of a list from which nothing can leave ends with its plan: no hook is asked.

    Raises:
        MessageError: the provider would refuse the transcript, JSON cannot hold a message, or the caller's class takes
            no new one.
        ArchiveError: the originals cannot be stored; nothing was changed and no model was asked.
        SummaryError: no summary, and the policy has no fallback.
        PlanError: the caller's own summary cannot be used.
    """
    with traced(request) as record:
        try:
            done = yield from _compact(request)
        except SummaryError:
            yield noted(request.settings.session, "failed", "no summary, and the policy has no other way")
            raise
        record(done)
    return done


def noted(session: str, outcome: str, why: str) -> Note:
    """Return the entry of a compaction that came to nothing, for the archive's log."""
    return Note(Receipt(session, "compaction", outcome, why))


def _compact(request: CompactionRequest) -> Flow[Compaction[Any]]:
    """Return the compaction, without a span."""
    policy = request.policy
    if not policy.parity:
        request.check()
    plan = request.decide()
    if request.trigger == "auto" and not plan.edits and not policy.parity:
        return _unchanged(request, plan, plan.reason)
    request = request.archivable()
    for shown in (None, plan):
        verdict = yield from review(request, shown)
        if verdict.refuse is not None:
            return (yield from _refused(request, verdict.refuse, plan))
        request = with_verdict(request, verdict)
        if not plan.edits:
            if policy.on_nothing == "error" and request.trigger == "manual" and plan.reason.startswith(NOTHING):
                raise NothingToCompactError().during("Compact", request.settings.session)
            return _unchanged(request, plan, plan.reason)
    check(request, plan)
    request.check_new(plan)
    stored, since = yield Store(request.stored, request.settings.session)
    outcome = yield from summarize(request, plan, since)
    if not outcome.plan.edits:
        yield Refused(request.trigger, outcome.plan.reason)
        yield noted(request.settings.session, "failed", "no summary, and nothing else can leave")
        undone = _unchanged(request, outcome.plan, outcome.plan.reason)
        return replace(undone, strategy=outcome.strategy, usage=outcome.usage, failed=outcome.failed)
    return (yield from _replace(request, outcome, stored, since))


def _replace(request: CompactionRequest, outcome: Outcome, stored: Stored, since: float) -> Flow[Compaction[Any]]:
    """Build the new list, commit it, and report it; a list that is no smaller is dropped."""
    other = ""
    while True:
        done = _done(request, outcome, ref_of(request, stored, outcome.plan, outcome.text, other))
        done = _filled(request, outcome, stored, done, other)
        if takes_ref(stored.session, (yield Owner(done.ref or ""))):
            break
        other += OTHER
    check_fit(request, done)
    if done.tokens_after >= done.tokens_before and not done.plan.mends and not request.policy.parity:
        yield Refused(request.trigger, USELESS)
        yield noted(request.settings.session, "skipped", USELESS)
        useless = USELESS if done.offer else done.failed
        return replace(_unchanged(request, outcome.plan, USELESS), usage=done.usage, failed=useless)
    written = request.inputs.write(list(done.messages))
    yield Commit(stored, _record(request, done, done.summary), since, done.view)
    done = replace(done, messages=written)
    event = _event(request, done)
    yield event
    yield from told(request.policy.order, event, uuid=request.uuid, session_id=request.settings.session)
    return done


def _done(request: CompactionRequest, outcome: Outcome, ref: str) -> Compaction[Any]:
    """Return the compaction with the new list, whose messages are not yet the caller's objects."""
    plan = outcome.plan
    messages, after, marks, view = rebuilt(request, plan, outcome.text, ref)
    if after > plan.target and UNREACHED not in plan.reason:
        plan = replace(plan, reason=f"{plan.reason}; {after - plan.target:,} tokens over the target")
    return Compaction(
        messages,
        plan,
        ref,
        plan.tokens_before,
        after,
        plan.reason,
        outcome.author,
        outcome.usage,
        outcome.text,
        outcome.strategy,
        outcome.offer,
        outcome.failed,
        marks,
        view,
        outcome.dropped,
        outcome.added,
        Lists(request.messages, messages, request.policy.keep_tag),
    )


def _filled(
    request: CompactionRequest, outcome: Outcome, stored: Stored, done: Compaction[Any], other: str
) -> Compaction[Any]:
    """Return the compaction with more of the results, where its list has fewer tokens than its target."""
    over = 0
    for _ in range(TRIES):
        fuller = request.fuller(done.plan, done.tokens_after + over)
        if fuller is None:
            return done
        ref = ref_of(request, stored, fuller, outcome.text, other)
        full = _done(request, replace(outcome, plan=fuller), ref)
        over = full.tokens_after - fuller.target
        if over <= 0:
            return full
    return done


def _event(request: CompactionRequest, done: Compaction[Any]) -> Compacted:
    """Return the event of a finished compaction."""
    return Compacted(
        request.trigger,
        done.ref or "",
        done.tokens_before,
        done.tokens_after,
        done.plan,
        done.summarizer,
        done.usage,
        done.summary,
        done.strategy,
        request.turn,
        done.offer,
        done.dropped,
        done.added,
        done.lists,
    )


def with_verdict(request: CompactionRequest, verdict: Verdict) -> CompactionRequest:
    """Return the request with the hook's instructions, context and summary; the caller's own summary stands."""
    if verdict == Verdict():
        return request  # and what it has computed
    lines = "\n".join(text for text in (request.context, verdict.context) if text)
    summary = request.summary
    if verdict.summary is not None and (summary is None or summary.author == HOOK):
        summary = Given(verdict.summary, HOOK)
    instructions = _either(verdict.instructions, request.instructions)
    return replace(request, instructions=instructions, context=lines or None, summary=summary)


def review(request: CompactionRequest, plan: Plan | None) -> Flow[Verdict]:
    """Return the hook's verdict; an exception refuses."""
    try:
        verdict: object = yield Review(request.trigger, request.instructions, plan)
    except Exception as error:  # noqa: BLE001 - an exception of a hook refuses
        return Verdict(refuse=f"the hook raised {type(error).__name__}: {mask(str(error))}")
    if verdict is None:
        return Verdict()
    if not isinstance(verdict, Verdict):
        return Verdict(refuse=f"the hook returned {mask(repr(verdict))} instead of None or a Verdict")
    for name in ("refuse", "instructions", "context"):  # a summary that is no text is replaced by the summarizer's
        value: object = getattr(verdict, name)
        if value is not None and not isinstance(value, str):
            return Verdict(refuse=f"the hook returned a Verdict whose {name} is {type(value).__name__}, not text")
    return verdict


def _refused(request: CompactionRequest, reason: str, plan: Plan) -> Flow[Compaction[Any]]:
    yield Refused(request.trigger, reason)
    yield noted(request.settings.session, "refused", "a hook refused")
    return _unchanged(request, plan, f"{REFUSED}{reason}")


def _unchanged(request: CompactionRequest, plan: Plan, reason: str) -> Compaction[Any]:
    undone = replace(plan, edits=(), tokens_after=plan.tokens_before, reason=reason, bytes_after=plan.bytes_before)
    return Compaction(request.given, undone, None, plan.tokens_before, plan.tokens_before, reason)


def _either(new: str | None, old: str | None) -> str | None:
    return old if new is None else new


def _record(request: CompactionRequest, done: Compaction[Any], summary: str | None) -> Record:
    """Return the archive's record of the compaction."""
    kept = {id(message) for message in done.messages}
    record = Record(
        ref=done.ref or "",
        strategy=done.strategy,
        tokens_before=done.tokens_before,
        tokens_after=done.tokens_after,
        plan=done.plan.to_json(),
        preserved=tuple([n for n, message in enumerate(request.originals) if id(message) in kept]),
        summary=summary,
        summarizer=done.summarizer,
        live=_live(request, done),
        marks=done.marks,
        view=stored_view(request, done.view),
        exclusive=request.settings.exclusive,
    )
    return record if request.settings.redact is None else redact_record(record, request.settings.redact)


def stored_view(request: CompactionRequest, view: View | None) -> str | None:
    """Return the view as JSON, for a session that another process may go on with; None if it has what is redacted."""
    if view is None or not request.settings.exclusive or not view.is_storable(request.settings.redact):
        return None
    return encode([{name: getattr(view, name) for name in view.__slots__}])[0][0]


def _live(request: CompactionRequest, done: Compaction[Any]) -> tuple[str, ...]:
    """Return the refs of the session's summaries in the new list: its own, and of those that stay."""
    stays = {id(request.messages[index]) for index in request.summaries}
    others = {id(message) for message in request.messages} - stays
    found = [(message, enveloped(message)) for message in done.messages if id(message) not in others]
    return tuple([one.ref for message, one in found if one and (one.ref == done.ref or id(message) in stays)])


def own_ref(request: CompactionRequest, stored: Stored, plan: Plan, summary: str | None) -> Flow[str]:
    """Return the first name of this compaction that the session may have."""
    other = ""
    while not takes_ref(stored.session, (yield Owner(ref := ref_of(request, stored, plan, summary, other)))):
        other += OTHER
    return ref


def ref_of(request: CompactionRequest, stored: Stored, plan: Plan, summary: str | None, other: str) -> str:
    """Return the name of this compaction: a digest of a named session, the originals, the edits and the summary.

    Equal compactions have equal names, so that a commit whose answer was lost is not stored twice, and a plan that was
    printed and applied later gives the list that it promised: a name stands in each placeholder, and has tokens.
    With ``other`` it is another name, for where that one restores nothing any more, or another session's list.
    """
    named = [request.settings.session if request.settings.exclusive else "", *stored.digests, plan.decided()]
    named.append(summary or "")
    if request.kept_spans:
        spans = leaving(request.kept_spans, plan.zone(), request.fillers)
        named += [f"{span.message} {span.text}" for span in spans]
    parts = "\0".join(named) + other
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:20]
