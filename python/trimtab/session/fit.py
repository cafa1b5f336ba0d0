"""The requests for a compaction that is due: by the policy's stages, or by those that all policies share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .._log import log
from ..errors import CountError
from .provider_count import request_of

if TYPE_CHECKING:
    from ..compaction.effects import Flow
    from ..compaction.request import Request
    from ..ledger.columns import Ledger
    from ..planning.budget import Terms
    from ..planning.policy import Policy
    from .call import Call, Size
    from .memory import Memory


def automatic(at: Memory, call: Call, size: Size, policy: Policy) -> Request:
    """Return a request by a policy's own stages."""
    target = at.settings.target(*size.fixed)
    urgent = policy.trigger.endangers(size.terms) or policy.trigger.overflows(size.terms)
    return at.request(call, fixed=size.fixed, policy=policy, target=lambda _: target, trigger="auto", urgent=urgent)


def protecting(at: Memory, call: Call, size: Size) -> Request | None:
    """Return the request for a prompt in danger: by the policy's stages if they suffice, else by the shared ones.

    None if system text and tools leave no tokens for messages.
    """
    from ..planning.protection import lasting  # noqa: PLC0415 - loaded with the first plan

    least = rescue(at, call, size)
    if least is None or not len(least.ledger):
        return least
    own = automatic(at, call, size, lasting(at.policy))
    plan = own.decide()
    fits = plan.edits and least.tokens_after(plan) <= size.room
    return replace(own, plan=plan) if fits else least


def rescue(at: Memory, call: Call, size: Size) -> Request | None:
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


def asked(at: Memory, call: Call, terms: Terms, counted: int) -> Flow[Terms]:
    """Return the terms with the messages as the counting endpoint counts them; unchanged if it fails."""
    try:
        request = request_of(at.settings, call.messages)
        found = yield from at.counts.ask(at.settings.count_with, request, counted)
    except (CountError, ValueError) as error:
        log.warning("%s; using the estimate", error)
        return terms
    return replace(terms, messages=found.answered)


def thinned(at: Memory, call: Call, ledger: Ledger) -> Request:
    """Return the request that removes the pictures which the provider does not take, and nothing else."""
    from ..planning.plan import Plan  # noqa: PLC0415 - loaded with the first plan

    total, policy = ledger.total, replace(at.policy, summarize=None, order=())
    plan = Plan((), total, total, total, "", len(ledger), ledger.digest, ledger.provider, policy.name)
    return at.request(call, policy=policy, plan=plan, trigger="auto")
