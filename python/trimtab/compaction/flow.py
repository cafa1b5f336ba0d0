"""The order of a compaction, as a generator that yields effects and receives their answers.

It does no I/O: ``EffectHandler`` or a test answers the effects.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from .._mask import mask
from ..archive import Record
from ..archive.redact import redact_record
from ..archive.sql.codec import encode
from ..audit.lists import Lists
from ..errors import NothingToCompactError
from ..events import Compacted, Refused, told
from ..hooks import Review, Verdict
from ..messages.envelope import enveloped
from ..planning.plan import NOTHING, UNREACHED, USELESS
from .effects import Commit, Store
from .rebuild import rebuilt
from .result import REFUSED, Compaction
from .summary import summarize
from .tracing import traced

if TYPE_CHECKING:
    from ..archive import Stored
    from ..planning.plan import Plan
    from .effects import Flow
    from .request import CompactionRequest
    from .view import View


def compaction(request: CompactionRequest) -> Flow[Compaction[Any]]:
    """Plan; review; review the plan; store the originals; summarize; build and check; commit; report the events.

    An automatic compaction of a list from which nothing can leave ends with its plan: no hook is asked.

    Raises:
        MessageError: the provider would refuse the transcript, JSON cannot hold a message, or the caller's class takes
            no new one.
        ArchiveError: the originals cannot be stored; nothing was changed and no model was asked.
        SummaryError: no summary, and the policy has no fallback.
    """
    with traced(request) as record:
        done = yield from _compact(request)
        record(done)
    return done


def _compact(request: CompactionRequest) -> Flow[Compaction[Any]]:
    """Return the compaction, without a span."""
    if not request.policy.parity:
        request.check()
    plan = request.decide()
    if request.trigger == "auto" and not plan.edits and not request.policy.parity:
        return _unchanged(request, plan, plan.reason)
    request = request.archivable()
    verdict = yield from _review(request, None)
    if verdict.refuse is not None:
        return (yield from _refused(request, verdict.refuse, plan))
    request = _with_verdict(request, verdict)
    if not plan.edits:
        if request.policy.on_nothing == "error" and request.trigger == "manual" and plan.reason.startswith(NOTHING):
            raise NothingToCompactError().during("Compact", request.settings.session)
        return _unchanged(request, plan, plan.reason)
    verdict = yield from _review(request, plan)
    if verdict.refuse is not None:
        return (yield from _refused(request, verdict.refuse, plan))
    request = _with_verdict(request, verdict)
    request.check_new(plan)
    stored, since = yield Store(request.stored, request.settings.session)
    outcome = yield from summarize(request, plan, since)
    plan, summary, author, usage = outcome.plan, outcome.text, outcome.author, outcome.usage
    if not plan.edits:
        yield Refused(request.trigger, plan.reason)
        undone = _unchanged(request, plan, plan.reason)
        return replace(undone, strategy=outcome.strategy, usage=usage, failed=outcome.failed)
    ref = _ref(request, stored, plan, summary)
    messages, after, marks, view = rebuilt(request, plan, summary, ref)
    if after >= plan.tokens_before and not plan.mends and not request.policy.parity:
        yield Refused(request.trigger, USELESS)
        useless = USELESS if outcome.offer else outcome.failed
        return replace(_unchanged(request, plan, USELESS), usage=usage, failed=useless)
    written = request.inputs.write(messages)
    if after > plan.target and UNREACHED not in plan.reason:
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
        marks,
        view,
        outcome.dropped,
        outcome.added,
        Lists(request.messages, messages),
    )
    yield Commit(stored, _record(request, done, summary), since, view)
    done = replace(done, messages=written)
    event = Compacted(
        request.trigger,
        ref,
        plan.tokens_before,
        after,
        plan,
        author,
        usage,
        summary,
        outcome.strategy,
        request.turn,
        outcome.offer,
        outcome.dropped,
        outcome.added,
        done.lists,
    )
    yield event
    yield from told(request.policy.order, event, uuid=request.uuid, session_id=request.settings.session)
    return done


def _with_verdict(request: CompactionRequest, verdict: Verdict) -> CompactionRequest:
    """Return the request with the hook's instructions and context."""
    lines = "\n".join(text for text in (request.context, verdict.context) if text)
    return replace(request, instructions=_either(verdict.instructions, request.instructions), context=lines or None)


def _review(request: CompactionRequest, plan: Plan | None) -> Flow[Verdict]:
    """Return the hook's verdict; an exception refuses."""
    try:
        verdict: object = yield Review(request.trigger, request.instructions, plan)
    except Exception as error:  # noqa: BLE001 - an exception of a hook refuses
        return Verdict(refuse=f"the hook raised {type(error).__name__}: {mask(str(error))}")
    if verdict is None:
        return Verdict()
    if isinstance(verdict, Verdict):
        return verdict
    return Verdict(refuse=f"the hook returned {mask(repr(verdict))} instead of None or a Verdict")


def _refused(request: CompactionRequest, reason: str, plan: Plan) -> Flow[Compaction[Any]]:
    yield Refused(request.trigger, reason)
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
    return encode([asdict(view)])[0][0]


def _live(request: CompactionRequest, done: Compaction[Any]) -> tuple[str, ...]:
    """Return the refs of the session's summaries in the new list: its own, and of those that stay."""
    stays = {id(request.messages[index]) for index in request.summaries}
    others = {id(message) for message in request.messages} - stays
    found = [(message, enveloped(message)) for message in done.messages if id(message) not in others]
    return tuple([one.ref for message, one in found if one and (one.ref == done.ref or id(message) in stays)])


def _ref(request: CompactionRequest, stored: Stored, plan: Plan, summary: str | None) -> str:
    """Return the name of this compaction: a digest of a named session, the originals, the edits and the summary.

    Equal compactions have equal names, so that a commit whose answer was lost is not stored twice, and a plan that was
    printed and applied later gives the list that it promised: a name stands in each placeholder, and has tokens.
    """
    parts = "\0".join(
        [request.settings.session if request.settings.exclusive else "", *stored.digests, plan.decided(), summary or ""]
    )
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:20]
