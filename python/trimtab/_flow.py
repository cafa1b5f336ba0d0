"""The order in which a compaction is done: a generator that yields what it wants and is sent the answers.

It does no I/O. Two drivers play the outside world, ``run`` and ``arun``; a test plays it too.
"""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from . import _core
from ._apply import apply
from ._counter import scan
from ._envelope import unwrap, wrap
from ._errors import InternalError, MessageError, SummaryError
from ._plan import Summarize, dropped
from .archive import Record
from .events import Compacted, Event, FellBack, Refused
from .hooks import Review, Verdict
from .summarize import Ask

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from ._counter import Counter
    from ._ledger import Ledger
    from ._messages import Message, Provider
    from ._plan import Plan
    from ._policy import Policy

AT_THE_END = frozenset({"final_assistant_whitespace", "prefill_unsupported", "thinking_last", "reasoning_without_item"})
"""Findings about how a list ends: they go away when it goes on, so they are no reason to refuse it."""


@dataclass(frozen=True, slots=True)
class Store:
    """Keep these messages before a model is asked; answered with their digests."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """Summarize; answered with the text."""

    ask: Ask
    summarizer: str


@dataclass(frozen=True, slots=True)
class Commit:
    """Remember this compaction; answered with None."""

    record: Record


Want: TypeAlias = Review | Store | Write | Commit | Event


@dataclass(frozen=True)
class Compaction:
    """What came of it.

    Attributes:
        messages: the new list; untouched messages are the same objects. The caller's own list where nothing was done.
        plan: what was done.
        ref: gives the originals back (``Compactor.restore``); None where nothing was done.
        usage: tokens that the summarizer was charged; empty for one that charges nothing.
        tokens_before: tokens of the messages as they were.
        tokens_after: tokens of the messages as they are.
        reason: what was done and why, or why nothing was.
        summarizer: who wrote the summary, None if there is none.
    """

    messages: Sequence[Message]
    plan: Plan
    ref: str | None
    tokens_before: int
    tokens_after: int
    reason: str
    summarizer: str | None = None
    usage: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """All that a compaction needs to know, none of it live.

    Attributes:
        messages: the transcript.
        ledger: its numbers.
        counter: what counted them.
        policy: how a failed summarizer is replaced.
        plan: decides, given nothing more.
        summarizer: who is to write.
        trigger: ``manual`` or ``auto``.
        instructions: what the summary is to stress.
    """

    messages: Sequence[Message]
    ledger: Ledger
    counter: Counter
    policy: Policy
    plan: Callable[[], Plan]
    summarizer: str
    trigger: str
    instructions: str | None = None


def check(ledger: Ledger) -> None:
    """Refuses a list that its provider would refuse, whatever comes behind it.

    Raises:
        MessageError: names the first problem.
    """
    for index, block, code, message, fix in _core.validate(ledger, in_flight=True):
        if code not in AT_THE_END:
            path = f"messages[{index}]" + (f".content[{block}]" if block is not None else "")
            raise MessageError(f"{code}: {message}", path=path, index=index, hint=fix)


def compaction(job: Job) -> Generator[Want, Any, Compaction]:
    """May I? Plan. May I do this? Store the originals; ask the model; build and check; commit; tell.

    Raises:
        MessageError: the transcript is not one that its provider takes.
        ArchiveError: the originals cannot be kept; nothing was changed and no model asked.
        SummaryError: no summary, and the policy has no other way.
    """
    check(job.ledger)
    verdict = yield from _asked(job, None)
    if verdict.refuse is not None:
        return (yield from _refused(job, verdict.refuse))
    job = replace(job, instructions=_either(verdict.instructions, job.instructions))
    plan = job.plan()
    if not plan.edits:
        return _unchanged(job, plan, plan.reason)
    verdict = yield from _asked(job, plan)
    if verdict.refuse is not None:
        return (yield from _refused(job, verdict.refuse, plan))
    job = replace(job, instructions=_either(verdict.instructions, job.instructions))
    digests = yield Store(tuple(job.messages))
    plan, summary, author = yield from _summary(job, plan)
    ref = _ref(job, plan, summary)
    messages, after = _build(job, plan, summary, ref)
    if after >= plan.tokens_before:
        return _unchanged(job, plan, "compaction would not make it smaller")
    yield Commit(Record(ref, digests, plan.tokens_before, after, plan.to_json(), summary, author))
    yield Compacted(job.trigger, ref, plan.tokens_before, after, plan, author)
    return Compaction(messages, plan, ref, plan.tokens_before, after, plan.reason, author)


def _asked(job: Job, plan: Plan | None) -> Generator[Want, Any, Verdict]:
    """The hook's verdict; one that raises refuses, with its reason."""
    try:
        return (yield Review(job.trigger, job.instructions, plan)) or Verdict()
    except Exception as error:  # noqa: BLE001 - whatever a hook raises, it did not agree
        return Verdict(refuse=f"the hook raised {type(error).__name__}: {error}")


def _refused(job: Job, reason: str, plan: Plan | None = None) -> Generator[Want, Any, Compaction]:
    yield Refused(job.trigger, reason)
    return _unchanged(job, plan or job.plan(), f"refused: {reason}")


def _unchanged(job: Job, plan: Plan, reason: str) -> Compaction:
    undone = replace(plan, edits=(), tokens_after=plan.tokens_before, reason=reason)
    return Compaction(job.messages, undone, None, plan.tokens_before, plan.tokens_before, reason)


def _either(new: str | None, old: str | None) -> str | None:
    return old if new is None else new


def _ref(job: Job, plan: Plan, summary: str | None) -> str:
    """A name for this compaction: what it is, so that doing the same again is the same."""
    parts = "\0".join([job.ledger.digest, plan.to_json(), summary or ""])
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _summary(job: Job, plan: Plan) -> Generator[Want, Any, tuple[Plan, str | None, str | None]]:
    """The summary's text and author, or the plan without one; failing over as the policy says."""
    zone = plan.zone()
    if not isinstance(zone, Summarize):
        return plan, None, None
    ask = _ask(job, zone)
    chain = [job.summarizer, *(step for step in job.policy.fallback if step != job.summarizer)]
    failed = ""
    for author, instead in zip(chain, [*chain[1:], ""], strict=True):
        if author == "error":
            break
        if author == "drop":
            edits = tuple(dropped(zone) if edit == zone else edit for edit in plan.edits)
            reason = plan.reason.replace("summarized", "dropped") + f"; no summary: {failed}"
            return replace(plan, edits=edits, reason=reason), None, None
        try:
            text = _checked((yield Write(ask, author)), ask)
        except Exception as error:  # noqa: BLE001 - whoever summarizes may fail in any way: that is what the chain is for
            failed = f"{author} failed: {error}"
            if instead:
                yield FellBack(author, str(error), instead)
            continue
        reason = f"{plan.reason}; {failed}" if failed else plan.reason
        return replace(plan, reason=reason), text, author
    raise SummaryError(failed or "the policy allows no summarizer")


def _ask(job: Job, zone: Summarize) -> Ask:
    kept = set(zone.keep)
    leaving = [job.messages[index] for index in range(zone.start, zone.stop) if index not in kept]
    earlier = [found for message in leaving if (found := summary_in(message))]
    return Ask(
        messages=tuple(message for message in leaving if not summary_in(message)),
        provider=_provider(job.ledger.provider),
        max_tokens=zone.max_tokens,
        count=job.counter.count,
        instructions=job.instructions,
        previous="\n".join(earlier) or None,
        after=tuple(job.messages[zone.stop :]),
    )


def _provider(name: str) -> Provider:
    return name  # type: ignore[return-value]


def summary_in(message: Message) -> str | None:
    """The text of the summary that a message of ours carries."""
    content = message.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        content = content[0].get("text")
    found = unwrap(content) if isinstance(content, str) and message.get("role") == "user" else None
    return found.text if found else None


def _checked(text: object, ask: Ask) -> str:
    """The answer, if it is one."""
    if not isinstance(text, str):
        raise SummaryError(f"the answer is {type(text).__name__}, not text")
    if not text.strip():
        raise SummaryError("the answer is blank")
    if (tokens := ask.count(text)) > ask.max_tokens:
        raise SummaryError(f"the answer has {tokens:,} tokens, the limit is {ask.max_tokens:,}")
    return text


def _build(job: Job, plan: Plan, summary: str | None, ref: str) -> tuple[list[Message], int]:
    """The new list and its tokens; never one that the provider would refuse."""
    placed = None
    if zone := plan.zone():
        count = zone.stop - zone.start - len(zone.keep)
        placed = wrap(summary or "", ref=ref, count=count) if isinstance(zone, Summarize) else zone.notice
    messages = apply(plan, job.messages, job.ledger, job.counter, placed)
    ledger = scan(messages, job.counter, job.ledger.provider)
    try:
        check(ledger)
    except MessageError as error:
        raise InternalError(f"the compacted list would be refused ({error}); nothing was changed") from error
    return messages, ledger.total


class Outside(Protocol):
    """Whoever answers a want: hooks, archive, summarizers, listeners. An answer may be awaitable."""

    def answer(self, want: Want) -> object: ...


def run(flow: Generator[Want, Any, Compaction], outside: Outside) -> Compaction:
    """Drives a flow where nothing is asynchronous.

    Raises:
        TypeError: a hook or a summarizer is asynchronous; nothing was changed.
    """
    step = _advance(flow, None)
    while not isinstance(step, Compaction):
        answer: object = None
        failure = None
        try:
            answer = outside.answer(step)
        except Exception as error:  # noqa: BLE001 - the flow decides what a failure means
            failure = error
        if inspect.isawaitable(answer):
            flow.close()
            if inspect.iscoroutine(answer):
                answer.close()
            raise TypeError("a hook or summarizer is asynchronous: use acompact")
        step = _advance(flow, answer, failure)
    return step


async def arun(flow: Generator[Want, Any, Compaction], outside: Outside) -> Compaction:
    """Drives a flow whose hooks and summarizers may be asynchronous; archive and plain summarizers work in a thread."""
    import asyncio  # noqa: PLC0415 - 24 ms, paid by those who have a loop running anyway

    step = _advance(flow, None)
    while not isinstance(step, Compaction):
        answer: object = None
        failure = None
        try:
            blocking = isinstance(step, Store | Commit | Write)
            answer = await asyncio.to_thread(outside.answer, step) if blocking else outside.answer(step)
            if inspect.isawaitable(answer):
                answer = await answer
        except Exception as error:  # noqa: BLE001 - the flow decides what a failure means
            failure = error
        step = _advance(flow, answer, failure)
    return step


def _advance(
    flow: Generator[Want, Any, Compaction], answer: object, failure: Exception | None = None
) -> Want | Compaction:
    """The next want, or what came of it all."""
    try:
        return flow.send(answer) if failure is None else flow.throw(failure)
    except StopIteration as done:
        result: Compaction = done.value
        return result
