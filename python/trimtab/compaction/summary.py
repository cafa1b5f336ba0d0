"""Summarizes the zone of a compaction, in parts if needed, and falls back if the summarizer fails."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, cast

from .._mask import mask
from ..archive import Receipt
from ..errors import SummaryError
from ..events import FellBack
from ..messages.envelope import summary_in
from ..messages.shapes import TRANSLATED, ShapeAdapter, only_text
from ..messages.surrogates import sendable
from ..messages.types import text_of
from ..planning.edits import Drop, Summarize, dropped
from ..planning.plan import USELESS
from ..summarize import Ask, Function, Offer, Sizes, facts, offers
from ..summarize.ask import SessionRequest
from ..summarize.attempts import answer_of, total
from ..summarize.chunks import chunks, merged
from ..summarize.offers import BEHIND, STATE
from ..summarize.sections import task
from .effects import Note, Write, WriteAll
from .given import cleared, flaw, longer, replaced
from .kept_spans import announced, without
from .kept_spans import leaving as leaving_spans
from .worn import with_lost, worn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..messages.types import Message
    from ..models.provider import Provider
    from ..planning.plan import Plan
    from ..summarize import Answer, Usage
    from .effects import Flow
    from .request import CompactionRequest


@dataclass(frozen=True, slots=True)
class Outcome:
    """The final plan, the strategy, the summary with its author and offer, and what was taken out of it and added."""

    plan: Plan
    strategy: str
    text: str | None = None
    author: str | None = None
    usage: Usage = field(default_factory=dict)
    offer: Offer | None = None
    failed: str = ""
    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


def summarize(request: CompactionRequest, plan: Plan, since: float) -> Flow[Outcome]:
    """Return the summary, or a plan without one; fall back as the policy says.

    If a request that reuses the session's cache fails, the next offer sends the zone alone, within the same time limit,
    which began at ``since``.
    """
    zone = plan.zone()
    if not isinstance(zone, Summarize):
        emergency = isinstance(zone, Drop) and bool(zone.notice) and request.policy.emergency is not None
        return Outcome(plan, "emergency" if emergency else request.policy.strategy)
    given, failed = yield from _given(request, plan, zone)
    if given is not None:
        return given
    lost = yield from worn(request, range(zone.start, zone.stop))
    steps = _steps(request, offered(request, zone))
    usage: Usage = {}
    for (step, offer), (instead, _) in zip(steps, [*steps[1:], (None, None)], strict=True):
        if step == "error":
            break
        if step not in {"", "plain", "offline"}:
            return replace(_without(request, plan, zone, step, failed), usage=usage, failed=failed)
        author = "offline" if step == "offline" else offer.author
        if step != "offline" and request.unasked and instead not in {None, "error", "stop"}:
            failed = request.policy.failure.format(author=author, cause=f"not asked, {request.unasked}")
            yield FellBack(author, failed, str(instead))
            yield _noted(request, str(instead))
            continue
        try:
            ask = _ask(request, zone, offer, step, lost.said)
            answer = yield from _written(request, ask, step, offer, since)
            answer = with_lost(answer, lost, ask.max_tokens, ask.count)
        except Exception as error:  # noqa: BLE001 - any failure leads to the next step
            usage = total(usage, getattr(error, "usage", {}))
            cause = mask(sendable(str(error)))
            failed = request.policy.failure.format(author=author, cause=cause)
            if instead and instead != "error":
                yield FellBack(author, cause, instead)
                yield _noted(request, instead)
            continue
        answer = replace(answer, usage=total(usage, answer.usage))
        asked = None if step == "offline" else offer
        return _answered(request, plan, answer, author=author, offer=asked, failed=failed)
    return _unsummarized(request, plan, failed, usage)


def _given(request: CompactionRequest, plan: Plan, zone: Summarize) -> Flow[tuple[Outcome | None, str]]:
    """Return the outcome of a given summary, or None without one; and why a given one is not used.

    That it is longer than planned is told in the plan.
    """
    given = request.summary
    if given is None:
        return None, ""
    if wrong := flaw(request, given, zone):
        yield FellBack(given.author, wrong, request.settings.summarizer)
        yield _noted(request, request.settings.summarizer)
        return None, f"{given.author}: {wrong}"
    text = cleared(request, given)
    told = replace(plan, reason=f"{plan.reason}{longer(request, text, zone)}")
    return Outcome(told, request.policy.strategy, text, given.author), ""


def _unsummarized(request: CompactionRequest, plan: Plan, failed: str, usage: Usage) -> Outcome:
    """Return the outcome of a zone that no summary is shorter than.

    Raises:
        SummaryError: a model failed, and the policy has no other step.
    """
    if request.settings.summarizer == "offline":
        unchanged = replace(plan, edits=(), tokens_after=plan.tokens_before, reason=USELESS)
        return Outcome(unchanged, request.policy.strategy)
    raise SummaryError(failed or "the policy allows no summarizer", usage=usage).during(
        "ExecuteStrategy", request.settings.session, strategy=request.policy.strategy
    )


def _answered(
    request: CompactionRequest, plan: Plan, answer: Answer, *, author: str, offer: Offer | None, failed: str
) -> Outcome:
    """Return the outcome of a summary; what failed before it is told in the plan."""
    return Outcome(
        replace(plan, reason=f"{plan.reason}; {failed}" if failed else plan.reason),
        request.policy.strategy,
        request.redact(answer.text),
        author,
        answer.usage,
        offer,
        "" if offer else failed,
        tuple(map(request.redact, answer.dropped)),
        tuple(map(request.redact, answer.added)),
    )


def offered(request: CompactionRequest, zone: Summarize) -> tuple[Offer, ...]:
    """Return the ways to get a summary of the zone, the one to try first in front."""
    stage = request.policy.summarize
    if request.settings.summarizer == "offline" or stage is None:
        return (Offer(request.settings.summarizer, stage.model if stage else None),)
    same = getattr(request.settings.writer, "shape", None) == request.ledger.provider
    return offers(
        request.settings.writer,
        request.settings.summarizer,
        stage,
        request.settings.model_id,
        request.settings.model,
        Sizes(replaced(request, zone), request.ledger.total + request.fixed, request.cached, zone.max_tokens),
        reuse_cache=same and request.cached > 0 and request.settings.redact is None,
    )


def _capacity(request: CompactionRequest, offer: Offer, limit: int) -> int | None:
    """Return the most tokens of messages in one request for a summary of ``limit`` tokens; None has no limit."""
    stage = request.policy.summarize
    if offer.window is None or stage is None:
        return None
    if stage.template is None:
        taken = max(limit + STATE + BEHIND, stage.max_tokens)
    else:
        taken = stage.max_tokens + request.settings.counter.count(stage.template.system + stage.template.request())
    return max(offer.window - taken, offer.window // 2)


def _noted(request: CompactionRequest, instead: str) -> Note:
    """Return the entry of a summarizer that failed, for the archive's log."""
    return Note(Receipt(request.settings.session, "summarizer", "failed", f"{instead} instead"))


def _steps(request: CompactionRequest, found: tuple[Offer, ...]) -> list[tuple[str, Offer]]:
    """Return the attempts in order: the first offer, the zone alone if that reuses the cache, the policy's fallback."""
    first, *others = found
    steps = [("", first)]
    if first.reuse_cache and not request.unasked:
        steps += [("plain", offer) for offer in others if not offer.reuse_cache][:1]
    offline = request.settings.summarizer == "offline"  # it does not replace itself
    return steps + [(step, first) for step in request.policy.fallback if not (offline and step == "offline")]


def _without(request: CompactionRequest, plan: Plan, zone: Summarize, step: str, failed: str) -> Outcome:
    """Return the outcome of a step that needs no summary."""
    reason = plan.reason.replace("summarized", "dropped") + f"; no summary: {failed}"
    if step == "stop":
        return Outcome(replace(plan, edits=(), tokens_after=plan.tokens_before, reason=f"stopped: {failed}"), step)
    if step == "emergency":
        return Outcome(replace(request.decide(urgent=True), reason=f"emergency; no summary: {failed}"), step)
    about = "; ".join(_topics(request, zone)) or "..."
    drop = dropped(zone, request.policy.place.notice, about)
    edits = tuple(drop if edit == zone else edit for edit in plan.edits)
    return Outcome(replace(plan, edits=edits, reason=reason), step)


def _topics(request: CompactionRequest, zone: Summarize) -> list[str]:
    """Return the first words of the first two and the last of the user's requests in the zone."""
    own = {*request.summaries, *request.fillers}
    words = [
        " ".join(sendable(text).split())[:60]
        for index, message in enumerate(request.redacted[zone.start : zone.stop], zone.start)
        if index not in own and message.get("role") == "user" and (text := text_of(message.get("content"))).strip()
    ]
    return words if len(words) <= 3 else [*words[:2], words[-1]]


def _written(request: CompactionRequest, ask: Ask, step: str, offer: Offer, since: float) -> Flow[Answer]:
    """Return one summary of the zone: from one request if it fits the window, else from parts that are merged."""
    usage: Usage = {}
    dropped: list[str] = []
    before = len(ask.messages) + 1
    who = step if step == "offline" else None
    apart = who is None and not offer.reuse_cache
    rendered = ask.facts is not None and not isinstance(request.settings.writer, Function)  # which takes the messages
    split = partial(chunks, counter=request.settings.counter, capacity=_capacity(request, offer, ask.max_tokens))
    while apart and len(parts := split(ask, rendered=rendered)) in range(1, before):
        before = len(parts)
        answers = yield WriteAll(parts, who)
        texts = []
        for answer in answers:
            usage = total(usage, getattr(answer, "usage", {}))
        for answer in answers:
            if isinstance(answer, Exception):
                raise SummaryError(str(answer), usage=usage) from answer
            texts.append(answer_of(answer).text)
            dropped += answer_of(answer).dropped
        ask = merged(ask, texts)
    try:
        answer = answer_of((yield Write(ask, who, since if step == "plain" else None)))
    except SummaryError as error:
        error.usage = total(usage, error.usage)
        raise
    return replace(answer, usage=total(usage, answer.usage), dropped=(*dropped, *answer.dropped))


def _ask(request: CompactionRequest, zone: Summarize, offer: Offer, step: str, said: tuple[Message, ...] = ()) -> Ask:
    """Return the request for a summary; a model's is held to facts where the policy has no words of its own.

    ``said`` are the user's messages of older originals, of which earlier summaries have lost some.
    """
    kept = {*zone.keep, *request.fillers}
    leaving = [index for index in range(zone.start, zone.stop) if index not in kept]
    earlier = {index: text for index in leaving if (text := _earlier(request, index)) is not None}
    last = max((index for index in leaving if request.messages[index].get("role") != "assistant"), default=-1)
    stays = {*range(zone.stop, len(request.redacted)), *(index for index in zone.keep if index > last)}
    after = [request.redacted[index] for index in sorted(stays - {*request.fillers})]
    stage = request.policy.summarize
    sent, context = _without_kept(request, zone)
    adapter = ShapeAdapter(request.ledger.provider)  # summarizers need not know the shapes of Bedrock and Gemini
    shape = "anthropic" if request.ledger.provider in TRANSLATED else request.ledger.provider
    ask = Ask(
        messages=(
            *said,
            *adapter.read([sent[index] for index in leaving if index not in earlier]),
        ),
        provider=cast("Provider", shape),
        max_tokens=zone.max_tokens,
        count=request.settings.counter.count,
        instructions=request.instructions and request.redact(request.instructions),
        previous="\n".join(earlier.values()) or None,
        after=tuple(adapter.read(after)),
        replaces=0 if request.policy.parity else replaced(request, zone),
        template=stage.template if stage else None,
        model=offer.model,
        context=context,
        reuse_cache=_of_session(request) if offer.reuse_cache else None,
    )
    if ask.template is not None or "offline" in {step, request.settings.summarizer}:
        return ask
    found = facts(ask)
    return replace(ask, facts=found, task=task(found.sections))


def _without_kept(request: CompactionRequest, zone: Summarize) -> tuple[Sequence[Message], str | None]:
    """Return the messages without the spans that stay in front of the summary, and the context with these."""
    context = request.context and request.redact(request.context)
    if not request.kept_spans:
        return request.redacted, context
    spans = leaving_spans(request.kept_spans, zone, request.fillers)
    told = "\n\n".join(text for text in (announced(spans), context) if text)
    return without(request.redacted, request.kept_spans, spans, request.policy.keep_tag), told or None


def _of_session(request: CompactionRequest) -> SessionRequest:
    """Return the session's own request, as ``Fitted.request`` has it."""
    marks_cache = request.settings.marks_cache
    return SessionRequest(request.ledger.provider, request.messages, request.system, request.tools, marks_cache)


def _earlier(request: CompactionRequest, index: int) -> str | None:
    """Return the text of an earlier summary, redacted; None for any other message, or one of more than a text."""
    if index not in request.summaries:
        return None
    text = summary_in(request.messages[index])  # a redacted envelope is none
    text = only_text(request.redacted[index]) if text is None else request.redact(text)
    return None if text is None else text.removeprefix(request.policy.place.prefix)
