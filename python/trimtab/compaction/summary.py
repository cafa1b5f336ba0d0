"""How a compaction comes by its summary: whom it asks, in parts where it must, and what takes a failed one's place."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from ..errors import SummaryError
from ..events import FellBack
from ..messages.envelope import summary_in
from ..messages.shapes import TRANSLATED, Lens, only_text
from ..messages.types import text_of
from ..planning.plan import Drop, Summarize, dropped
from ..summarize import Ask, Ride, answer_of, total
from ..summarize.chunks import chunks, merged
from .effects import Write, WriteAll

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..models.provider import Provider
    from ..planning.plan import Plan
    from ..summarize import Answer, Offer, Usage
    from .effects import Want
    from .request import Job


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of asking: the plan as it is now, the summary, its author and offer, and what that is called."""

    plan: Plan
    strategy: str
    text: str | None = None
    author: str | None = None
    usage: Usage = field(default_factory=dict)
    offer: Offer | None = None
    failed: str = ""


def summarized(job: Job, plan: Plan, since: float) -> Generator[Want, Any, Outcome]:
    """The summary's text and author, or the plan without one; failing over as the policy says.

    A ride on the session's cache that fails is followed by the next offer that sends the zone alone, within the same
    time, which began at ``since``.
    """
    zone = plan.zone()
    if not isinstance(zone, Summarize):
        emergency = isinstance(zone, Drop) and job.policy.emergency is not None
        return Outcome(plan, "emergency" if emergency else job.policy.strategy)
    steps = _steps(job, job.offers(zone))
    failed = ""
    usage: Usage = {}
    for (step, offer), (instead, _) in zip(steps, [*steps[1:], (None, None)], strict=True):
        if step == "error":
            break
        if step not in {"", "plain", "offline"}:
            return replace(_without(job, plan, zone, step, failed), usage=usage, failed=failed)
        author = "offline" if step == "offline" else offer.author
        if step != "offline" and job.rests and instead not in {None, "error", "stop"}:
            failed = job.policy.failure.format(author=author, cause="not asked, it failed too often in a row")
            yield FellBack(author, failed, str(instead))
            continue
        try:
            answer = yield from _written(job, _ask(job, zone, offer), step, offer, since)
        except Exception as error:  # noqa: BLE001 - whoever summarizes may fail in any way: that is what the steps are for
            usage = total(usage, getattr(error, "usage", {}))
            failed = job.policy.failure.format(author=author, cause=error)
            if instead and instead != "error":
                yield FellBack(author, str(error), instead)
            continue
        return Outcome(
            replace(plan, reason=f"{plan.reason}; {failed}" if failed else plan.reason),
            job.policy.strategy,
            answer.text,
            author,
            total(usage, answer.usage),
            offer if step != "offline" else None,
            failed if step == "offline" else "",
        )
    raise SummaryError(failed or "the policy allows no summarizer", usage=usage).during(
        "ExecuteStrategy", job.session, strategy=job.policy.strategy
    )


def _steps(job: Job, offers: tuple[Offer, ...]) -> list[tuple[str, Offer]]:
    """What is tried, in order: the first offer, the next one behind a ride, and the policy's fallback."""
    first, *others = offers
    plain = [("plain", offer) for offer in others if first.rides and not offer.rides and not job.rests]
    # The offline one does not take its own place.
    fallback = [(step, first) for step in job.policy.fallback if not step == job.summarizer == "offline"]
    return [("", first), *plain[:1], *fallback]


def _without(job: Job, plan: Plan, zone: Summarize, step: str, failed: str) -> Outcome:
    """What a step does that needs no summary."""
    reason = plan.reason.replace("summarized", "dropped") + f"; no summary: {failed}"
    if step == "stop":
        return Outcome(replace(plan, edits=(), tokens_after=plan.tokens_before, reason=f"stopped: {failed}"), step)
    if step == "emergency" and job.emergency is not None:
        return Outcome(replace(job.emergency(), reason=f"emergency; no summary: {failed}"), step)
    about = "; ".join(_topics(job, zone)) or "..."
    drop = dropped(zone, job.policy.place.notice, about)
    edits = tuple(drop if edit == zone else edit for edit in plan.edits)
    return Outcome(replace(plan, edits=edits, reason=reason), step)


def _topics(job: Job, zone: Summarize) -> list[str]:
    """How the user's requests in the zone begin: the first two and the last."""
    words = [
        " ".join(text.split())[:60]
        for message in job.told[zone.start : zone.stop]
        if message.get("role") == "user" and (text := text_of(message.get("content"))).strip()
    ]
    return words if len(words) <= 3 else [*words[:2], words[-1]]


def _written(job: Job, ask: Ask, step: str, offer: Offer, since: float) -> Generator[Want, Any, Answer]:
    """One summary of the zone: at once where the summarizer takes it, in parts that are merged where it does not."""
    usage: Usage = {}
    before = len(ask.messages) + 1
    who = step if step == "offline" else None
    apart = who is None and not offer.rides
    while apart and len(parts := chunks(ask, job.counter, job.capacity(offer))) in range(1, before):
        before = len(parts)
        answers = yield WriteAll(parts, who)
        texts = []
        for answer in answers:
            usage = total(usage, getattr(answer, "usage", {}))
        for answer in answers:
            if isinstance(answer, Exception):
                raise SummaryError(str(answer), usage=usage) from answer
            texts.append(answer_of(answer).text)
        ask = merged(ask, texts)
    try:
        answer = answer_of((yield Write(ask, who, since if step == "plain" else None)))
    except SummaryError as error:
        error.usage = total(usage, error.usage)
        raise
    return replace(answer, usage=total(usage, answer.usage))


def _ask(job: Job, zone: Summarize, offer: Offer) -> Ask:
    kept, known = set(zone.keep), set(job.earlier)
    costs = job.ledger.per_message
    leaving = [(index, job.told[index]) for index in range(zone.start, zone.stop) if index not in kept]
    prefix = job.policy.place.prefix
    earlier = [
        text.removeprefix(prefix)
        for index, message in leaving
        if (text := summary_in(message) or (only_text(message) if index in known else None))
    ]
    stage = job.policy.summarize
    replaces = int(costs[zone.start : zone.stop].sum() - costs[list(zone.keep)].sum())
    lens = Lens(job.ledger.provider)  # who summarizes need not know how Bedrock and Gemini say it
    shape = "anthropic" if job.ledger.provider in TRANSLATED else job.ledger.provider
    zone_messages = [message for index, message in leaving if not summary_in(message) and index not in known]
    return Ask(
        messages=tuple(lens.into(zone_messages)),
        provider=cast("Provider", shape),
        max_tokens=zone.max_tokens,
        count=job.counter.count,
        instructions=job.instructions,
        previous="\n".join(earlier) or None,
        after=tuple(lens.into(job.told[zone.stop :])),
        replaces=0 if job.policy.parity else replaces,
        template=stage.template if stage else None,
        model=offer.model,
        context=job.context,
        ride=Ride(job.messages, job.system, job.tools) if offer.rides else None,
    )
