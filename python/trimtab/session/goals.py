"""The request for each goal of a compaction: by the policy's stages, or by those that all policies share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._log import details, log, outline
from ..compaction.effects import Long
from ..errors import CountError, MessageError
from ..planning.plan import Plan
from .memory import Verified
from .provider_count import request_of

LOOKS = 16
"""By which part of itself a transcript grows until it is planned again whether pruning pays: to plan at each call would
cost more than the few calls by which pruning comes later."""

if TYPE_CHECKING:
    from ..compaction.effects import Flow
    from ..compaction.request import CompactionRequest
    from ..compaction.result import Compaction
    from ..planning.budget import Terms
    from ..planning.due import Goal
    from ..planning.policy import Policy
    from .call import Call, ReadCall, Size
    from .memory import Memory

INGEST = "ingest"
"""Strategy of a cut of new results, for events and the history."""


def request_for(memory: Memory, call: ReadCall, size: Size, goal: Goal) -> Flow[CompactionRequest | None]:
    """Return the request for what is due; None where nothing can leave, or nothing pays."""
    if goal == "prune_if_cheaper":
        return (yield from prune_if_cheaper(memory, call, size))
    yield Long()
    if goal == "within_bytes" and (request := within_bytes(memory, call)) is not None:
        return request
    if goal in {"within_budget", "within_bytes"}:
        return within_budget(memory, call, size)
    return by_policy(memory, call, size, memory.policy.pruning() if goal == "prune" else memory.policy)


def by_policy(memory: Memory, call: ReadCall, size: Size, policy: Policy) -> CompactionRequest:
    """Return a request by a policy's own stages."""
    target = memory.settings.target(*size.fixed)
    urgent = policy.trigger.endangers(size.terms) or policy.trigger.overflows(size.terms)
    settings = memory.settings.under(policy)
    return memory.request(call, settings=settings, target=lambda _: target, trigger="auto").needing(urgent=urgent)


def within_budget(memory: Memory, call: ReadCall, size: Size) -> CompactionRequest | None:
    """Return the request for a prompt in danger: by the policy's stages if they suffice, else by the shared ones.

    None if system text and tools leave no tokens for messages.
    """
    from ..planning.protection import lasting  # noqa: PLC0415 - loaded with the first plan

    least = to_floor(memory, call, size)
    if least is None or not len(least.ledger):
        return least
    own = by_policy(memory, call, size, lasting(memory.policy))
    plan = own.decide()
    fits = plan.edits and not plan.stays_heavy and least.tokens_after(plan) <= size.room
    return replace(own, plan=plan) if fits else least


def to_floor(memory: Memory, call: ReadCall, size: Size) -> CompactionRequest | None:
    """Return the request that leaves at most what the input budget holds, by the model's counter."""
    from ..planning.protection import protective, target_within  # noqa: PLC0415 - loaded with the first plan

    room = size.room
    if room <= 0:
        return None
    policy, target = protective(memory.policy), target_within(memory.policy, room)
    settings = memory.settings.under(policy, memory.sizes.forecast.counters[0])
    request = memory.request(call, settings=settings, target=lambda _: target, trigger="auto")
    return request.needing(room=room)


def ask_provider(memory: Memory, call: ReadCall, terms: Terms, counted: int) -> Flow[Terms]:
    """Return the terms with the messages as the counting endpoint counts them; unchanged if it fails."""
    try:
        request = request_of(memory.settings, call.messages)
        found = yield from memory.sizes.counts.ask(memory.settings.count_with, request, counted)
    except (CountError, ValueError) as error:
        log.warning("the counting endpoint failed, using the estimate: %s", outline(error))
        details.warning("%s; using the estimate", error)
        return terms
    return replace(terms, messages=found.answered)


def cap_new_results(
    memory: Memory, begun: Call, call: ReadCall, since: int
) -> Flow[tuple[ReadCall, Compaction[Any] | None]]:
    """Cut the results behind message ``since`` that are larger than the policy's cap; archive them whole.

    Args:
        memory: of the session.
        begun: the call with the caller's own list.
        call: the call with the last result in its place.
        since: the first message that ``fit`` has not seen before.

    Returns:
        The call with the cut results, and the compaction; None where nothing was cut.

    Raises:
        ArchiveError: the originals cannot be stored; nothing was changed.
        BusyError: another compaction of the named session is under way.
    """
    policy = memory.policy
    cap = policy.ingest.tokens if policy.ingest else 0
    if int(call.ledger.per_message[since:].max(initial=0)) <= cap:
        return call, None
    from ..planning.decide import cap_results  # noqa: PLC0415 - loaded with the first plan

    settings = memory.settings.under(replace(policy, summarize=None, order=(), strategy=INGEST))
    request = memory.request(call, settings=settings, trigger="auto")
    plan = cap_results(request.costs(request.need.target), request.policy, since)
    if not plan.edits:
        return call, None
    size, seen = memory.size(call), memory.verified
    memory.verified = Verified(digests=seen.digests)
    with memory.alone(ends_job=False):  # messages behind those that are being summarized
        made = yield from memory.compact(replace(request, plan=plan), size)
    memory.verified = seen
    if made.ref is None:
        return call, None
    resumed = memory.resume(begun)
    if resumed.view is None:  # a pin ends the result at once
        resumed = memory.read(begun.compacted(made.messages))
    ledger = resumed.ledger
    memory.verified = Verified(len(ledger), ledger.digest, seen.digests)
    return resumed, made


def prune_if_cheaper(memory: Memory, call: ReadCall, size: Size) -> Flow[CompactionRequest | None]:
    """Return the request that prunes what costs less to remove than to send again; None while nothing does."""
    prune, total = memory.policy.prune, size.terms.messages
    cold = memory.rates().cold
    if prune is None or cold is None:
        return None
    if total < memory.next_prune_check and cold < 1:
        return None
    yield Long()
    memory.next_prune_check = total + max(prune.min_gain, total) // LOOKS
    settings = memory.settings.under(memory.policy.paying())
    request = memory.request(call, settings=settings, target=lambda ledger: ledger.total, trigger="auto")
    if memory.server.clearing is not None:
        request = replace(request, cleared=memory.server.cleared(request.ledger))
    plan = request.decide()
    return replace(request, plan=plan) if plan.edits else None


def within_bytes(memory: Memory, call: ReadCall) -> CompactionRequest | None:
    """Return the request that removes old pictures and nothing else, if the rest has few enough bytes; else None."""
    request = without_excess(memory, call)
    plan = request.decide()
    return replace(request, plan=plan) if plan.edits and not plan.stays_heavy else None


def too_many_bytes(size: Size, messages: int, reason: str) -> MessageError:
    """Return the error of a request that has too many bytes whatever leaves."""
    words = f"request_too_large: Request exceeds the maximum size: {size.bytes:,} bytes > {size.bytes_limit:,} bytes"
    last = max(messages - 1, 0)
    more = f" ({reason})" if reason else ""
    return MessageError(
        f"{words}{more}", path=f"messages[{last}]", index=last, hint="take pictures, files and long texts out"
    )


def without_excess(memory: Memory, call: ReadCall) -> CompactionRequest:
    """Return the request that removes the pictures and lone surrogates that the provider does not take, no more."""
    ledger, policy = call.ledger, replace(memory.policy, summarize=None, order=())
    total = ledger.total
    about = (len(ledger), ledger.digest, ledger.provider, policy.name)
    plan = Plan((), total, total, total, "", *about, keep_tag=policy.keep_tag)
    return memory.request(call, settings=memory.settings.under(policy), plan=plan, trigger="auto")
