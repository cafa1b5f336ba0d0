"""Decides in front of a call whether a compaction is due, and makes the input of the call.

A prompt has up to three sizes: by the policy's counter, which its trigger uses; by the model's counter; and by the
forecast from the last billed prompt. No policy lets a prompt pass whose larger one of the last two exceeds the input
budget: the policy's own stages apply, or, where they leave too much, those that all policies share
(``planning.protection``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import _core
from .._log import log
from ..archive.sayable import NO_NUMBERS, check_json
from ..compaction.flow import REFUSED, compaction
from ..errors import CountError, MessageError, SummaryError
from ..messages.objects import InputMessages
from .provider_count import request_of

if TYPE_CHECKING:
    from ..compaction.effects import Flow
    from ..compaction.request import Request
    from ..ledger.columns import Ledger
    from ..planning.budget import Terms
    from ..planning.policy import Policy
    from .call import Call, Fitted, Size, When
    from .memory import Memory


def next_input(at: Memory, call: Call, when: When, turn: int | None) -> Flow[Fitted[Any]]:
    """Return the input of the next call: the list itself, or a compacted one.

    Raises:
        MessageError: the provider would refuse the list.
        ArchiveError: the originals cannot be stored; nothing was changed.
        BusyError: another compaction of the named session is under way.
    """
    call, ledger = at.resume(at.begin(call, when, turn))
    try:
        crowded = _verify(at, call, ledger)
    except MessageError as error:
        raise call.located(error) from error.__cause__
    size = at.size(call, ledger)
    estimate, trigger = at.policy.counter, at.policy.trigger
    asks = estimate is not None and estimate.asks and at.settings.count_with is not None
    if asks and trigger.auto and when in trigger.when:
        size = replace(size, terms=(yield from _asked(at, call, size.terms, size.terms.messages)))
    request, not_due = _due(at, call, when, size)
    if request is None and crowded:
        request, not_due = _thinned(at, call, ledger), ""
    given, done, reason = call, None, not_due
    try:
        while request is not None:
            with at.alone():
                made = at.done((yield from compaction(request)), size)
            reason = not_due or made.reason
            if made.ref is None and crowded and request.plan is None and not made.reason.startswith(REFUSED):
                request = _thinned(at, call, ledger)  # the policy stopped: pictures leave nevertheless
                continue
            protects = request.room is None and not at.policy.parity
            stopped = made.ref is None and _exceeds(at, size) and not crowded
            if stopped and protects and not made.reason.startswith(REFUSED):
                request = _rescue(at, given, size)  # the policy's last step removed nothing
                continue
            if made.ref is None:
                break
            done = made
            call = given.compacted(made.messages)
            size = at.size(call)
            # From the caller's list, so that the ref of what goes out restores that.
            request = _rescue(at, given, size) if protects and _exceeds(at, size) else None
    except SummaryError as error:
        log.warning("automatic compaction failed: %s", error.account)
        at.fail()
        reason = str(error)
    at.edited |= done is not None
    explains = trigger.reached(size.terms) or _exceeds(at, size) or (crowded and done is None)
    return at.fitted(call, ledger.provider, done, reason if explains else "")


def _exceeds(at: Memory, size: Size) -> bool:
    """Return whether a prompt is in danger: past its input budget, or the danger line of a policy that counts."""
    terms, trigger = size.terms, at.policy.trigger
    if size.prompt > terms.input_budget or trigger.overflows(terms):
        return True
    return at.policy.counter is None and trigger.endangers(replace(terms, beyond=max(terms.beyond, 0)))


def _due(at: Memory, call: Call, when: When, size: Size) -> tuple[Request | None, str]:
    """Return the compaction or pruning that is due at this moment, or None; and why no compaction is due."""
    policy, trigger, prune = at.policy, at.policy.trigger, at.policy.prune
    if not trigger.auto:
        return None, f"automatic compaction is off: policy {policy.name} has auto=False"
    watched = when in trigger.when
    in_danger = _exceeds(at, size) or when == "on_overflow"
    if in_danger and not policy.parity:
        request = _protecting(at, call, size)
        return request, "" if request else f"system text and tools have {size.beside:,} tokens"
    if watched and (trigger.reached(size.terms) or when == "on_overflow"):
        if _rests(at):
            at.fail()
            return None, "the summarizer failed too often in a row: it is asked in every fourth round"
        return _automatic(at, call, size, policy), ""
    elsewhere = f"policy {policy.name} compacts {', '.join(trigger.when)}, not {when}"
    if prune is not None and when in prune.when:
        return _automatic(at, call, size, policy.pruning()), elsewhere
    return None, elsewhere


def _rests(at: Memory) -> bool:
    """Return whether a compaction waits for a summarizer that failed: the policy has no step without it."""
    stops = not at.policy.fallback or at.policy.fallback[0] in {"error", "stop"}
    return stops and (at.failing or at.skips())


def _automatic(at: Memory, call: Call, size: Size, policy: Policy) -> Request:
    """Return a request by a policy's own stages."""
    target = at.settings.target(*size.fixed)
    urgent = policy.trigger.endangers(size.terms) or policy.trigger.overflows(size.terms)
    return at.request(call, fixed=size.fixed, policy=policy, target=lambda _: target, trigger="auto", urgent=urgent)


def _protecting(at: Memory, call: Call, size: Size) -> Request | None:
    """Return the request for a prompt in danger: by the policy's stages if they suffice, else by the shared ones.

    None if system text and tools leave no tokens for messages.
    """
    from ..planning.protection import lasting  # noqa: PLC0415 - loaded with the first plan

    rescue = _rescue(at, call, size)
    if rescue is None or not len(rescue.ledger):
        return rescue
    own = _automatic(at, call, size, lasting(at.policy))
    plan = own.decide()
    fits = plan.edits and rescue.tokens_after(plan) <= size.room
    return replace(own, plan=plan) if fits else rescue


def _rescue(at: Memory, call: Call, size: Size) -> Request | None:
    """Return the request that leaves at most what the input budget holds, by the model's counter."""
    from ..planning.protection import protective, target_within  # noqa: PLC0415 - loaded with the first plan

    room = size.room
    if room <= 0:
        return None
    policy, target = protective(at.policy), target_within(at.policy, room)
    request = at.request(
        call,
        fixed=size.fixed,
        policy=policy,
        target=lambda _: target,
        trigger="auto",
        counter=at.forecast.counters[0],
    )
    return replace(request, room=room)


def _asked(at: Memory, call: Call, terms: Terms, counted: int) -> Flow[Terms]:
    """Return the terms with the messages as the counting endpoint counts them; unchanged if it fails."""
    try:
        request = request_of(at.settings, call.messages)
        found = yield from at.counts.ask(at.settings.count_with, request, counted)
    except (CountError, ValueError) as error:
        log.warning("%s; using the estimate", error)
        return terms
    return replace(terms, messages=found.answered)


def _thinned(at: Memory, call: Call, ledger: Ledger) -> Request:
    """Return the request that removes the pictures which the provider does not take, and nothing else."""
    from ..planning.plan import Plan  # noqa: PLC0415 - loaded with the first plan

    total, policy = ledger.total, replace(at.policy, summarize=None, order=())
    plan = Plan((), total, total, total, "", len(ledger), ledger.digest, ledger.provider, policy.name)
    return at.request(call, policy=policy, plan=plan, trigger="auto")


def _verify(at: Memory, call: Call, ledger: Ledger) -> bool:
    """Return whether pictures must leave; looks at the messages since the last valid list alone.

    Raises:
        MessageError: the provider or the archive would refuse a message, or automatic compaction is off and the
            provider would refuse the number or the size of pictures.
    """
    length, digest = at.verified
    since = length if length <= len(ledger) and ledger.digest_until(length) == digest else 0
    if since == len(ledger) or at.policy.parity:
        return False
    found = _core.validate(ledger, since=since, **at.settings.rule_options)
    if found:
        from ..validity.validate import Problem, reject  # noqa: PLC0415 - for lists with problems alone

        if reject([Problem(*finding) for finding in found], len(ledger), sizes=not at.policy.trigger.auto):
            return True
    for index in range(since, len(ledger)):
        message = call.messages[index]
        try:
            is_json = not any(word in text for text in _core.dumps([message])[0] for word in NO_NUMBERS)
        except (TypeError, ValueError):
            is_json = False
        if not is_json:
            check_json([message], index)
            InputMessages([message]).check(index)
    at.verified = (len(ledger), ledger.digest)
    return False
