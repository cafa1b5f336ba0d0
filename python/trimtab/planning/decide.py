"""Decide the plan for a transcript, as a pure function."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import PlanError
from ..ledger.columns import Zone
from .edits import Cut, Drop, Mend, Prune, StripThinking, Summarize, Truncate, dropped
from .plan import AT_TARGET, NOTHING, UNREACHED, USELESS, Plan
from .protection import to_floor
from .request_bytes import in_tokens, weighed
from .savings import Savings
from .stages import PruneResults, SummarizeZone

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from .edits import Edit
    from .plan import Need
    from .policy import Policy
    from .savings import Rates
    from .stages.costs import Costs

_DROPS = SummarizeZone(share=0.0, min_tokens=1, max_tokens=1)
"""The summary stage of a policy without one: the notice fits the frame."""

_NO_PRUNE = PruneResults()
"""The prune stage of a policy without one."""


def decide(costs: Costs, policy: Policy, need: Need) -> Plan:
    """Return the plan that brings a transcript to the tokens that are needed, or that applies a policy's zones.

    Args:
        costs: the transcript.
        policy: the policy.
        need: what the plan has to reach.

    Returns:
        The plan; it has no edits, and the reason, if nothing needs to or can be done.
    """
    if need.most_bytes is None:
        return _staged(costs, policy, need)
    least, heavy = weighed(need.target, need.most_bytes)
    weigh = replace(costs, heavy=heavy)
    room = need.most_bytes // heavy
    plan = _staged(weigh, policy, replace(need, target=least, room=room if need.room is None else min(room, need.room)))
    edits = tuple(in_tokens(plan.edits, weigh, costs))
    reason = (
        plan.reason.split(f"; {UNREACHED}")[0] if edits else f"{NOTHING}: {_name_floor(costs, policy, need.target)}"
    )
    return _plan(costs, policy, need.target, edits, reason)


def _staged(costs: Costs, policy: Policy, need: Need) -> Plan:
    """Return the plan of the policy's further stages, and of all others for the rest."""
    first: list[Prune | Truncate | Cut] = []
    rest, target = costs, need.target
    for stage in policy.stages if costs.total > target or not policy.has_target else ():
        edits = tuple(stage.edits(rest, target))
        first += edits
        rest = rest.after(edits)
    plan = _within(rest, policy, need)
    if not first:
        return plan
    zone = plan.zone()
    gone = {*range(zone.start, zone.stop), *zone.skipped} - {*zone.keep} if zone else set()
    kept = (replace(edit, rows=tuple(row for row in edit.rows if int(costs.owner[row]) not in gone)) for edit in first)
    others = (edit for edit in plan.edits if not isinstance(edit, StripThinking))
    return _finish(costs, policy, target, (*(edit for edit in kept if edit.rows), *others))


def _within(costs: Costs, policy: Policy, need: Need) -> Plan:
    """Return the plan that keeps what the user says in front of OpenAI's compaction; without the oldest if need be."""
    plan = _sparing(costs, policy, need)
    most = need.target if policy.has_target and not policy.prunes_alone else need.room
    if most is None or plan.tokens_after <= most or not costs.said:
        return plan
    other = _sparing(costs.crowded(plan.tokens_after - most), policy, need)
    return other if other.edits and other.tokens_after < plan.tokens_after else plan


def _sparing(costs: Costs, policy: Policy, need: Need) -> Plan:
    """Return the plan by the policy's own stages, or the one that leaves the floor where these leave too much."""
    target = need.target
    free = None if policy.parity else _skip(costs, policy, target)
    if free and free.tokens_after <= target:
        return free
    plan = _decide(costs, policy, need)
    if free:  # it does not suffice: what stands behind is pruned for the rest
        pruned = _decide(costs, policy, replace(need, target=target + free.tokens_before - free.tokens_after))
        plan = _fewest((_joined(costs, policy, target, pruned, free), plan, free), target)
    if need.room is None or plan.tokens_after <= need.room or costs.messages <= costs.head:
        return plan
    least = _finish(costs, policy, target, tuple(to_floor(costs, policy, need.room)))
    return least if least.tokens_after < plan.tokens_after else plan


def _skip(costs: Costs, policy: Policy, target: int) -> Plan | None:
    """Return the plan that removes what the provider's own compaction stands for; None if that frees nothing.

    It costs no model's call and loses nothing, so it comes before all else.
    """
    left = list(costs.skipped)
    if not left or costs.total <= target or not costs.per_message[left].any():
        return None
    kept = tuple(m for m in range(left[0], left[-1] + 1) if m not in costs.skipped)
    return _finish(costs, policy, target, (Drop(left[0], left[-1] + 1, "", kept),))


def _joined(costs: Costs, policy: Policy, target: int, pruned: Plan, free: Plan) -> Plan:
    """Return the plan that prunes, and removes what the provider's own compaction stands for.

    One of the two where both touch a message, or where the first removes messages itself.
    """
    rows = [row for edit in pruned.edits if not isinstance(edit, Summarize | Drop | Mend) for row in edit.rows]
    if not pruned.edits or pruned.zone() or {*costs.owner[rows].tolist()} & {*costs.skipped}:
        return pruned if pruned.tokens_after < free.tokens_after else free
    edits = (edit for edit in (*pruned.edits, *free.edits) if not isinstance(edit, StripThinking))
    return _finish(costs, policy, target, tuple(edits))


def _fewest(plans: Iterable[Plan], target: int) -> Plan:
    """Return the first plan with edits that reaches the target, or else the one that leaves the fewest tokens."""
    found = [plan for plan in plans if plan.edits]
    return next((plan for plan in found if plan.tokens_after <= target), min(found, key=lambda plan: plan.tokens_after))


def cap_results(costs: Costs, policy: Policy, since: int) -> Plan:
    """Return the plan that cuts results larger than the policy's cap in the messages from ``since`` on.

    Results of pinned messages, of tools that are never pruned, and with pictures stay whole.
    """
    ledger = costs.ledger
    most = policy.ingest.tokens if policy.ingest else 0
    rows = costs.results(since, costs.messages, at_least=most, without=costs.pins) if most else costs.array(())
    rows = rows[~costs.pictured[rows]]
    if policy.prune and policy.prune.skip:
        rows = rows[~ledger.named(policy.prune.skip)[rows]]
    if not len(rows):
        return _plan(costs, policy, ledger.total, (), AT_TARGET)
    return _finish(costs, policy, ledger.total, (Truncate(tuple(rows.tolist()), most),))


def of_span(costs: Costs, policy: Policy, start: int, stop: int) -> Plan:
    """Return the plan that replaces some messages alone: by a summary, or by the notice of a policy without one.

    What no plan removes stays, verbatim, behind the summary.

    Args:
        costs: the transcript.
        policy: the policy.
        start: first message to replace.
        stop: first message behind these.

    Raises:
        PlanError: the ends part a call from its result, or system text stands there; names the nearest ends.
    """
    cuts = [int(cut) for cut in costs.cuts]
    if start not in cuts or stop not in cuts:
        first = max((cut for cut in cuts if cut <= start), default=cuts[0] if cuts else stop)
        last = min((cut for cut in cuts if cut >= stop), default=first)
        why = (
            f"what is in front of message {costs.head} stays"
            if start < costs.head
            else "a call would part from its result"
        )
        nearest = f"; messages {first} to {last - 1} can" if first < last else ""
        raise PlanError(f"messages {start} to {stop - 1} cannot leave alone: {why}{nearest}")
    keep = tuple(message for message in costs.floor if start <= message < stop)
    left = int(costs.per_message[start:stop].sum()) - int(costs.per_message[list(keep)].sum())
    stage = policy.summarize or _DROPS
    edit = Summarize(start, stop, min(stage.max_tokens, max(left // 3, stage.min_tokens)), keep)
    plan = _finish(costs, policy, costs.total, (edit if policy.summarize else dropped(edit, policy.place.notice),))
    return replace(plan, target=plan.tokens_after)


def saved(plan: Plan, costs: Costs, rates: Rates) -> Savings:
    """Return the money of a plan, without the price of its summary."""
    first = min(_first_message(edit, costs) for edit in plan.edits)
    behind = int(costs.ledger.per_message[first:].sum())
    gain = plan.tokens_before - plan.tokens_after
    return Savings.of(gain, max(behind - gain, 0), rates)


def _first_message(edit: Edit, costs: Costs) -> int:
    """Return the first message that an edit changes."""
    if isinstance(edit, Mend):
        return edit.messages[0]
    return edit.start if isinstance(edit, Summarize | Drop) else int(costs.owner[edit.rows[0]])


def _decide(costs: Costs, policy: Policy, need: Need) -> Plan:
    """Return the plan by the policy's own stages."""
    target = need.target
    if policy.keep.fill_target and costs.before <= target:
        return _plan(costs, policy, target, (), AT_TARGET)
    edits: tuple[Edit, ...] = ()
    if costs.messages > costs.head:
        found = _reach_target(costs, policy, target) if policy.keep.fill_target else _apply_zones(costs, policy, need)
        edits = tuple(found)
    if not edits and (not len(costs.thinking) or not policy.keep.fill_target):
        spared = policy.summarize and policy.summarize.if_needed and costs.messages and costs.total <= target
        if spared and (policy.keep.zones(costs, need.window, target) == Zone.COMPACTABLE).any():
            return _plan(costs, policy, target, (), AT_TARGET)
        return _plan(costs, policy, target, (), f"{NOTHING}: {_name_floor(costs, policy, target)}")
    return _finish(costs, policy, target, edits)


def _finish(costs: Costs, policy: Policy, target: int, edits: tuple[Edit, ...]) -> Plan:
    """Return the plan of these edits, or the plan of none if the transcript would not become smaller."""
    if costs.skipped:
        edits = tuple(_skipping(edit, costs) for edit in edits)
    if len(costs.thinking):
        edits = (*edits, StripThinking(tuple(int(row) for row in costs.thinking)))
    plan = _plan(costs, policy, target, edits, "")
    if plan.tokens_after >= plan.tokens_before and not policy.parity:
        floor = _name_floor(costs, policy, target)
        return _plan(costs, policy, target, (), f"{USELESS}: {floor}")
    reached = plan.tokens_after <= target
    reason = (
        summarize_edits(plan)
        if reached
        else f"{summarize_edits(plan)}; {UNREACHED}: {_name_floor(costs, policy, target)}"
    )
    return replace(plan, reason=reason)


def _skipping(edit: Edit, costs: Costs) -> Edit:
    behind = isinstance(edit, Summarize | Drop) and edit.start >= costs.head
    return replace(edit, skipped=costs.skipped) if isinstance(edit, Summarize | Drop) and behind else edit


def _reach_target(costs: Costs, policy: Policy, target: int) -> Iterable[Edit]:
    """Yield edits that bring the transcript just to the target."""
    verbatim = policy.keep.verbatim(costs, target)
    prune = policy.prune or _NO_PRUNE
    prunable = costs.results(0, 0, at_least=0)
    if policy.prune:
        prunable = prune.candidates(costs, before=policy.keep.recent_from(costs, target), without=verbatim)
        need = costs.total - target
        if int(costs.freed(prunable).sum()) >= need > 0:
            yield from prune.enough_of(costs, prunable, need)
            return
        if policy.prunes_alone and need > 0:
            yield from prune.pruned(costs, prunable)
    if costs.total <= target or policy.prunes_alone:
        return
    zone = policy.summarize or _DROPS
    for edit in zone.edits(costs, target, verbatim=verbatim, prunable=prunable, prune=prune.pruned):
        if isinstance(edit, Summarize) and policy.summarize is None:
            yield dropped(edit, policy.place.notice)
        else:
            yield edit


def _apply_zones(costs: Costs, policy: Policy, need: Need) -> Iterable[Edit]:
    """Yield the edits of the policy's zones: results first, then messages."""
    leaving = _leaving(costs, policy, policy.keep.zones(costs, need.window, need.target))
    if policy.emergency and (need.urgent or not leaving.any()):
        leaving = _leaving(costs, policy, policy.emergency.keep.zones(costs, need.window, need.target))
        edit = policy.emergency.edit(costs, leaving)
        yield from [edit] if edit else []
        return
    stage, prune = policy.summarize, policy.prune
    if stage and prune and not prune.compactable_only:
        prune = None  # this stage prunes between compactions, not during one
    rows = prune.select(costs, leaving) if prune else costs.array(())
    if prune and prune.pays and need.rates is not None:
        rows = prune.worth(costs, rows, need.rates)
    gain = prune.gain(costs, rows) if prune else 0
    zone = stage.zone(costs, leaving, whole=policy.parity) if stage else None
    if stage and stage.if_needed and costs.total - gain <= need.target:
        zone = None
    if zone and gain:  # rows of messages that leave are not pruned
        stays = ~costs.mask(range(zone.start, zone.stop))
        stays[list(zone.keep)] = True
        rows = rows[stays[costs.owner[rows]]]
    if prune and gain:
        yield from prune.edits(costs, rows)
    if zone:
        yield zone


def _leaving(costs: Costs, policy: Policy, zone: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return the mask of messages that leave: none of the floor, and with them the earlier summaries."""
    leaving: NDArray[np.bool_] = zone == Zone.COMPACTABLE
    if not policy.parity:
        leaving[list(costs.floor)] = False
        if (leaving & ~costs.filled).any():
            leaving |= costs.summarized & (zone != Zone.HEAD) & ~costs.mask(costs.pins)
        else:
            leaving[:] = False
    return leaving


def _plan(costs: Costs, policy: Policy, target: int, edits: tuple[Edit, ...], reason: str) -> Plan:
    return Plan(
        edits=edits,
        tokens_before=costs.before,
        tokens_after=tokens_after(costs, edits) if edits else costs.before,
        target=target,
        reason=reason,
        messages=costs.messages,
        digest=costs.ledger.digest,
        provider=costs.ledger.provider,
        policy=policy.name,
        keep_tag=policy.keep_tag,
    )


def tokens_after(costs: Costs, edits: tuple[Edit, ...]) -> int:
    """Return the tokens after the edits, with a summary at its limit."""
    total = costs.total
    zone = next((edit for edit in edits if isinstance(edit, Summarize | Drop)), None)
    if zone:
        kept = int(costs.per_message[costs.array(zone.keep)].sum())
        total += kept - int(costs.per_message[zone.start : zone.stop].sum())
        total -= int(costs.per_message[costs.array(zone.skipped)].sum())
        total += zone.max_tokens if isinstance(zone, Summarize) else 0
        total += costs.frame if isinstance(zone, Summarize) or zone.notice or costs.marked else 0
    for edit in edits:
        match edit:
            case Prune() if edit.mends:
                pass
            case Prune() | Truncate() | Cut():
                total -= int(costs.saved(edit).sum())
            case _:
                pass
    return total


def summarize_edits(plan: Plan) -> str:
    """Return what the edits do, in the order in which they stand; a plan's reason begins with it."""
    names = {
        Prune: "pruned",
        Cut: "cut",
        Truncate: "truncated",
        Summarize: "summarized",
        Drop: "dropped",
        StripThinking: "stripped",
        Mend: "mended",
    }
    return ", ".join(dict.fromkeys(names[type(edit)] for edit in plan.edits))


def _name_floor(costs: Costs, policy: Policy, target: int) -> str:
    """Return the description of the messages that keep the transcript above the target."""
    head = int(costs.per_message[: costs.head].sum()) - int(costs.per_message[list(costs.skipped)].sum())
    if costs.marked > target:
        return f"the spans in <{policy.keep_tag}>, which stay, have {costs.marked:,} tokens"
    if not policy.keep.fill_target:
        return f"policy {policy.name} keeps the rest of {costs.total:,} tokens, {head:,} of them system messages"
    verbatim = policy.keep.verbatim(costs, target) if costs.messages > costs.head else ()
    kept = int(costs.per_message[list(verbatim)].sum())
    last = int(costs.per_message[costs.last_group :].sum())
    front = "the system messages" if costs.compaction is None else "the provider's compaction and what is before it"
    parts = [(head, front), (kept, "pins and the last request"), (last, "the last messages")]
    tokens, name = max(parts)
    return f"{name}, which stay, have {tokens:,} tokens"
