"""From a ledger to a plan: pure, and the same for the same numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..ledger.columns import Zone
from .plan import AT_TARGET, NOTHING, Cut, Drop, Plan, Prune, StripThinking, Summarize, Truncate, dropped
from .stages import PruneResults, SummarizeZone
from .stages.draft import Draft
from .stages.sizes import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from ..ledger.columns import Ledger
    from .plan import Edit
    from .policy import Policy

_DROPS = SummarizeZone(share=0.0, min_tokens=1, max_tokens=1)
"""The zone's arithmetic for a drop: the notice fits the frame."""

_KEEPS = PruneResults()
"""Where a policy prunes nothing."""


def decide(
    ledger: Ledger,
    policy: Policy,
    target: int,
    *,
    window: int = 0,
    pins: Iterable[int] = (),
    summaries: Iterable[int] = (),
    binds_thinking: bool = False,
    frame: int = 160,
    placeholder: int = PLACEHOLDER,
    urgent: bool = False,
) -> Plan:
    """Brings a transcript to ``target`` tokens, or does what a policy's zones say.

    Args:
        ledger: the transcript.
        policy: how to decide.
        target: tokens of messages that are aimed at.
        window: tokens of the model's window, for policies that keep a share of it.
        pins: messages that never leave.
        summaries: messages that are summaries, beside those in our envelope.
        binds_thinking: whether the model's thinking dies with an edit in front of it.
        frame: most tokens of what stands around a summary.
        placeholder: tokens of a pruned result.
        urgent: the next call is in danger: the policy's emergency, if it has one.

    Returns:
        A plan without edits, and the reason, where nothing need or can be done.
    """
    draft = Draft(ledger, tuple(pins), binds_thinking, frame, tuple(summaries), placeholder)
    if policy.keep.fill and ledger.total <= target:
        return _plan(draft, policy, target, (), AT_TARGET)
    edits: tuple[Edit, ...] = ()
    if draft.messages > draft.head:
        found = (
            _filled(draft, policy, target) if policy.keep.fill else _zoned(draft, policy, target, window, urgent=urgent)
        )
        edits = tuple(found)
    if not edits and (not len(draft.thinking) or not policy.keep.fill):
        spared = policy.summarize and policy.summarize.if_needed and draft.messages and draft.total <= target
        if spared and (policy.keep.zones(draft, window, target) == Zone.COMPACTABLE).any():
            return _plan(draft, policy, target, (), AT_TARGET)
        return _plan(draft, policy, target, (), f"{NOTHING}: {_floor(draft, policy, target)}")
    if len(draft.thinking):
        edits = (*edits, StripThinking(tuple(int(row) for row in draft.thinking)))
    plan = _plan(draft, policy, target, edits, "")
    if plan.tokens_after >= plan.tokens_before and not policy.parity:
        floor = _floor(draft, policy, target)
        return _plan(draft, policy, target, (), f"compaction would not make it smaller: {floor}")
    reached = plan.tokens_after <= target
    reason = _words(plan) if reached else f"{_words(plan)}; not to the target: {_floor(draft, policy, target)}"
    return replace(plan, reason=reason)


def zones(
    ledger: Ledger,
    policy: Policy,
    *,
    window: int = 0,
    target: int = 0,
    pins: Iterable[int] = (),
    summaries: Iterable[int] = (),
) -> NDArray[np.uint8]:
    """The ``Zone`` of each message under a policy: uint8, shape (messages,)."""
    return policy.keep.zones(Draft(ledger, tuple(pins), summaries=tuple(summaries)), window, target)


def _filled(draft: Draft, policy: Policy, target: int) -> Iterable[Edit]:
    """What brings the transcript to the target and hardly below."""
    verbatim = policy.keep.verbatim(draft, target)
    prune = policy.prune or _KEEPS
    prunable = draft.results(0, 0, at_least=0)
    if policy.prune:
        prunable = prune.candidates(draft, before=policy.keep.recent_from(draft, target), without=verbatim)
        need = draft.total - target
        if int((draft.tokens[prunable] - draft.placeholder).sum()) >= need > 0:
            yield from prune.enough_of(draft, prunable, need)
            return
    if draft.total <= target:
        return
    zone = policy.summarize or _DROPS
    for edit in zone.edits(draft, target, verbatim=verbatim, prunable=prunable, prune=prune.pruned):
        if isinstance(edit, Summarize) and policy.summarize is None:
            yield dropped(edit, policy.place.notice)
        else:
            yield edit


def _zoned(draft: Draft, policy: Policy, target: int, window: int, *, urgent: bool) -> Iterable[Edit]:
    """What the policy's zones say, whatever the target: results first, then the messages."""
    leaving = _leaving(draft, policy, policy.keep.zones(draft, window, target))
    if policy.emergency and (urgent or not leaving.any()):
        leaving = _leaving(draft, policy, policy.emergency.keep.zones(draft, window, target))
        edit = policy.emergency.edit(draft, leaving)
        yield from [edit] if edit else []
        return
    stage, prune = policy.summarize, policy.prune
    if stage and prune and not prune.leaving:
        prune = None  # it goes on between compactions, and is no part of one: what is kept is kept as it is
    rows = prune.select(draft, leaving) if prune else draft.array(())
    gain = prune.gain(draft, rows) if prune else 0
    zone = stage.zone(draft, leaving, whole=policy.parity) if stage else None
    if stage and stage.if_needed and draft.total - gain <= target:
        zone = None
    if zone and gain:  # what leaves anyway need not be pruned
        stays = ~draft.mask(range(zone.start, zone.stop))
        stays[list(zone.keep)] = True
        rows = rows[stays[draft.owner[rows]]]
    if prune and gain:
        yield from prune.edits(rows)
    if zone:
        yield zone


def _leaving(draft: Draft, policy: Policy, zone: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Messages that nothing keeps; the last request stays, and earlier summaries are taken up with what leaves."""
    leaving: NDArray[np.bool_] = zone == Zone.COMPACTABLE
    if not policy.parity:
        leaving[list(draft.closed(int(m) for m in draft.requests()[-1:]))] = False
        if leaving.any():
            leaving |= zone == Zone.SUMMARY
    return leaving


def _plan(draft: Draft, policy: Policy, target: int, edits: tuple[Edit, ...], reason: str) -> Plan:
    return Plan(
        edits=edits,
        tokens_before=draft.ledger.total,
        tokens_after=_after(draft, edits) if edits else draft.ledger.total,
        target=target,
        reason=reason,
        messages=draft.messages,
        digest=draft.ledger.digest,
        provider=draft.ledger.provider,
        policy=policy.name,
    )


def _after(draft: Draft, edits: tuple[Edit, ...]) -> int:
    """Tokens once the edits are done, a summary counted at its limit."""
    total = draft.total
    zone = next((edit for edit in edits if isinstance(edit, Summarize | Drop)), None)
    if zone:
        kept = int(draft.cost[draft.array(zone.keep)].sum())
        total += kept - int(draft.cost[zone.start : zone.stop].sum()) + draft.frame
        total += zone.max_tokens if isinstance(zone, Summarize) else 0
    for edit in edits:
        match edit:
            case Prune(rows):
                total -= int((draft.tokens[draft.array(rows)] - draft.placeholder).sum())
            case Truncate(rows, most):
                total -= int((draft.tokens[draft.array(rows)] - most).clip(min=0).sum())
            case Cut(rows, most, unit):
                length = getattr(draft.ledger, unit)[draft.array(rows)]
                total -= int(
                    (draft.tokens[draft.array(rows)] * (length - most).clip(min=0) // length.clip(min=1)).sum()
                )
            case _:
                pass
    return total


def _words(plan: Plan) -> str:
    names = {
        Prune: "pruned",
        Cut: "cut",
        Truncate: "truncated",
        Summarize: "summarized",
        Drop: "dropped",
        StripThinking: "stripped",
    }
    return ", ".join(dict.fromkeys(names[type(edit)] for edit in plan.edits))


def _floor(draft: Draft, policy: Policy, target: int) -> str:
    """What keeps the transcript above the target."""
    head = int(draft.cost[: draft.head].sum())
    if not policy.keep.fill:
        return f"what policy {policy.name} keeps of {draft.total:,} tokens, {head:,} of them system messages"
    verbatim = policy.keep.verbatim(draft, target) if draft.messages > draft.head else ()
    kept = int(draft.cost[list(verbatim)].sum())
    last = int(draft.cost[draft.last_group :].sum())
    parts = [(head, "the system messages"), (kept, "pins and the last request"), (last, "the last messages")]
    tokens, name = max(parts)
    return f"{name}, which stay, have {tokens:,} tokens"
