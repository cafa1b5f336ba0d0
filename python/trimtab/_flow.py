"""The order in which a compaction is done: a generator that yields what it wants and is sent the answers.

It does no I/O: the drivers in ``_drive`` play the outside world, and a test plays it too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ._apply import apply, noticed
from ._counter import scan
from ._envelope import unwrap, wrap
from ._errors import InternalError, MessageError, NothingToCompactError, SummaryError
from ._messages import text_of
from ._plan import Drop, Summarize, dropped
from ._shapes import TRANSLATED, Lens, only_text
from ._validate import Rules
from .archive import Record
from .archive.redact import redacted
from .events import Compacted, Event, FellBack, Refused, told
from .hooks import Review, Verdict
from .summarize import Ask, answer_of, total
from .summarize._chunks import chunks, merged

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from ._counter import Counter
    from ._envelope import Summary
    from ._ledger import Ledger
    from ._messages import Message, Provider
    from ._plan import Plan
    from ._policy import Policy
    from .archive import Stored
    from .summarize import Answer, Usage

AT_THE_END = frozenset({"final_assistant_whitespace", "prefill_unsupported", "thinking_last", "reasoning_without_item"})
"""Findings about how a list ends: they go away when it goes on, so they are no reason to refuse it."""

TOO_MUCH = frozenset(
    {"image_too_heavy", "image_too_large", "image_too_large_many", "request_too_large", "too_many_images"}
)
"""Findings about how much a list holds: compaction takes some of it out."""


@dataclass(frozen=True, slots=True)
class Store:
    """Keep these messages of a session before a model is asked; answered with where they lie, and the time."""

    messages: tuple[Message, ...]
    session: str


@dataclass(frozen=True, slots=True)
class Write:
    """Summarize; answered with a checked ``Answer``. ``fallback`` names who is to; None: the caller's own."""

    ask: Ask
    fallback: str | None


@dataclass(frozen=True, slots=True)
class WriteAll:
    """Summarize each; answered with a text or an exception each, in the same order."""

    asks: tuple[Ask, ...]
    fallback: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """Remember this compaction, begun when its originals were stored; answered with None."""

    stored: Stored
    record: Record
    since: float


Want: TypeAlias = Review | Store | Write | WriteAll | Commit | Event


@dataclass(frozen=True)
class Compaction:
    """What came of it.

    Attributes:
        messages: the new list; untouched messages are the same objects. The caller's own list where nothing was done.
        plan: what was done.
        ref: gives the originals back (``Compactor.restore``); None where nothing was done.
        usage: what the summarizer charged, answers that could not be used with it; empty for one that charges nothing.
        tokens_before: tokens of the messages as they were.
        tokens_after: tokens of the messages as they are.
        reason: what was done and why, or why nothing was.
        summarizer: who wrote the summary, None if there is none.
        summary: its text, None if there is none.
        strategy: what the policy calls what was done, or the step that took a failed summarizer's place.
    """

    messages: Sequence[Message]
    plan: Plan
    ref: str | None
    tokens_before: int
    tokens_after: int
    reason: str
    summarizer: str | None = None
    usage: Usage = field(default_factory=dict)
    summary: str | None = None
    strategy: str = ""

    @property
    def saved(self) -> int:
        """Tokens that the messages have less."""
        return self.tokens_before - self.tokens_after

    @property
    def reduction(self) -> float:
        """The same in percent of what they had (seed 002)."""
        return self.saved / self.tokens_before * 100 if self.tokens_before else 0.0

    @property
    def path(self) -> str:
        """Which way it went: ``noop``, ``prune-only``, ``summarised`` or ``dropped``."""
        zone = self.plan.zone()
        if not self.plan.edits:
            return "noop"
        return "prune-only" if zone is None else "summarised" if isinstance(zone, Summarize) else "dropped"


@dataclass(frozen=True)
class Job:
    """All that a compaction needs to know, none of it live.

    Attributes:
        given: the caller's own list, which may change while a model is asked.
        messages: the transcript as it was when it was read.
        ledger: its numbers.
        counter: what counted them.
        policy: how a failed summarizer is replaced.
        plan: decides, given nothing more.
        summarizer: who is to write.
        trigger: ``manual`` or ``auto``.
        session: whose transcript it is.
        exclusive: whether another compaction of the session meanwhile is a conflict.
        instructions: what the summary is to stress.
        redact: takes out of a text what is neither to be stored nor summarized.
        context: lines that a hook adds to what a model is asked.
        emergency: decides as the policy's emergency does.
        earlier: messages that are summaries without our envelope, by position.
        capacity: tokens of messages that the summarizer takes at once; None takes any number.
        uuid: a new one, for what is told.
        turn: number of tool batches since the user spoke.
    """

    given: Sequence[Message]
    messages: tuple[Message, ...]
    ledger: Ledger
    counter: Counter
    policy: Policy
    plan: Callable[[], Plan]
    summarizer: str
    trigger: str
    session: str
    exclusive: bool = False
    instructions: str | None = None
    redact: Callable[[str], str] | None = None
    context: str | None = None
    emergency: Callable[[], Plan] | None = None
    earlier: tuple[int, ...] = ()
    capacity: int | None = None
    uuid: str = ""
    turn: int = 0

    @cached_property
    def told(self) -> tuple[Message, ...]:
        """The messages as they may be stored and summarized."""
        return self.messages if self.redact is None else tuple(redacted(m, self.redact) for m in self.messages)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of asking: the plan as it is now, the summary and its author, and what that is called."""

    plan: Plan
    strategy: str
    text: str | None = None
    author: str | None = None
    usage: Usage = field(default_factory=dict)


def check(ledger: Ledger) -> None:
    """Refuses a list that its provider would refuse, whatever comes behind it.

    Raises:
        MessageError: names the first problem.
    """
    for problem in Rules(in_flight=True).problems(ledger):
        if problem.code not in TOO_MUCH and (problem.code not in AT_THE_END or problem.index < len(ledger) - 1):
            raise problem.error()


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
        if job.policy.on_nothing == "error" and job.trigger == "manual":
            raise NothingToCompactError().during("Compact", job.session)
        return _unchanged(job, plan, plan.reason)
    verdict = yield from _asked(job, plan)
    if verdict.refuse is not None:
        return (yield from _refused(job, verdict.refuse, plan))
    job = _heard(job, verdict)
    stored, since = yield Store(job.told, job.session)
    outcome = yield from _summary(job, plan)
    plan, summary, author, usage = outcome.plan, outcome.text, outcome.author, outcome.usage
    if not plan.edits:
        yield Refused(job.trigger, plan.reason)
        return replace(_unchanged(job, plan, plan.reason), strategy=outcome.strategy, usage=usage)
    ref = _ref(job, stored, plan, summary)
    messages, after = _build(job, plan, summary, ref)
    if after >= plan.tokens_before and not job.policy.parity:
        reason = "compaction would not make it smaller"
        yield Refused(job.trigger, reason)
        return replace(_unchanged(job, plan, reason), usage=usage)
    if after > plan.target and "not to the target" not in plan.reason:
        plan = replace(plan, reason=f"{plan.reason}; {after - plan.target:,} tokens over the target")
    done = Compaction(
        messages, plan, ref, plan.tokens_before, after, plan.reason, author, usage, summary, outcome.strategy
    )
    yield Commit(stored, _record(job, done, summary), since)
    event = Compacted(
        job.trigger, ref, plan.tokens_before, after, plan, author, usage, summary, outcome.strategy, job.turn
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
        live=tuple(found.ref for message in done.messages if (found := _enveloped(message))),
        exclusive=job.exclusive,
    )


def _ref(job: Job, stored: Stored, plan: Plan, summary: str | None) -> str:
    """A name for this compaction: of the session, if somebody named it, the originals and what was done.

    Doing the same again is the same, so that a commit whose answer was lost is not doubled.
    """
    parts = "\0".join([job.session if job.exclusive else "", *stored.digests, plan.to_json(), summary or ""])
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _summary(job: Job, plan: Plan) -> Generator[Want, Any, Outcome]:
    """The summary's text and author, or the plan without one; failing over as the policy says."""
    zone = plan.zone()
    if not isinstance(zone, Summarize):
        emergency = isinstance(zone, Drop) and job.policy.emergency is not None
        return Outcome(plan, "emergency" if emergency else job.policy.strategy)
    ask = _ask(job, zone)
    # None is the caller's own; the offline one does not take its own place.
    steps = [None, *(step for step in job.policy.fallback if not step == job.summarizer == "offline")]
    failed = ""
    usage: Usage = {}
    for step, instead in zip(steps, [*steps[1:], None], strict=True):
        if step == "error":
            break
        if step not in {None, "offline"}:
            return replace(_without(job, plan, zone, str(step), failed), usage=usage)
        author = step or job.summarizer
        try:
            answer = yield from _written(job, ask, step)
        except Exception as error:  # noqa: BLE001 - whoever summarizes may fail in any way: that is what the steps are for
            usage = total(usage, getattr(error, "usage", {}))
            failed = job.policy.failure.format(author=author, cause=error)
            if instead and instead != "error":
                yield FellBack(author, str(error), instead)
            continue
        reason = f"{plan.reason}; {failed}" if failed else plan.reason
        return Outcome(
            replace(plan, reason=reason), job.policy.strategy, answer.text, author, total(usage, answer.usage)
        )
    raise SummaryError(failed or "the policy allows no summarizer", usage=usage).during(
        "ExecuteStrategy", job.session, strategy=job.policy.strategy
    )


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


def _written(job: Job, ask: Ask, step: str | None) -> Generator[Want, Any, Answer]:
    """One summary of the zone: at once where the summarizer takes it, in parts that are merged where it does not."""
    usage: Usage = {}
    before = len(ask.messages) + 1
    while step is None and len(parts := chunks(ask, job.counter, job.capacity)) in range(1, before):
        before = len(parts)
        answers = yield WriteAll(parts, step)
        texts = []
        for answer in answers:
            usage = total(usage, getattr(answer, "usage", {}))
        for answer in answers:
            if isinstance(answer, Exception):
                raise SummaryError(str(answer), usage=usage) from answer
            texts.append(answer_of(answer).text)
        ask = merged(ask, texts)
    try:
        answer = answer_of((yield Write(ask, step)))
    except SummaryError as error:
        error.usage = total(usage, error.usage)
        raise
    return replace(answer, usage=total(usage, answer.usage))


def _ask(job: Job, zone: Summarize) -> Ask:
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
        model=stage.model if stage else None,
        context=job.context,
    )


def summary_in(message: Message) -> str | None:
    """The text of the summary that a message of ours carries."""
    found = _enveloped(message)
    return found.text if found else None


def _enveloped(message: Message) -> Summary | None:
    content = only_text(message)
    return unwrap(content) if content else None


def _arrived(job: Job) -> Sequence[Message]:
    """What the caller has put behind the transcript while it was worked on: kept, as it is."""
    known = len(job.messages)
    same = len(job.given) > known and all(a is b for a, b in zip(job.given, job.messages, strict=False))
    return job.given[known:] if same else ()


def _build(job: Job, plan: Plan, summary: str | None, ref: str) -> tuple[list[Message], int]:
    """The new list and its tokens; never one that the provider would refuse."""
    placed = None
    if zone := plan.zone():
        count = zone.stop - zone.start - len(zone.keep)
        text = job.policy.place.prefix + (summary or "")
        written = text if job.policy.parity else wrap(text, ref=ref, count=count)
        placed = written if isinstance(zone, Summarize) else noticed(zone.notice, job.policy.place)
    messages = apply(plan, job.messages, job.ledger, job.counter, placed, job.policy.place)
    messages.extend(_arrived(job))
    ledger = scan(messages, job.counter, job.ledger.provider)
    try:
        if not job.policy.parity:
            check(ledger)
    except MessageError as error:
        raise InternalError(f"the compacted list would be refused ({error}); nothing was changed") from error
    return messages, ledger.total
