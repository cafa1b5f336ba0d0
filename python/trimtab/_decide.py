"""From a ledger to a plan: pure, and the same for the same numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._plan import Drop, Plan, Prune, StripThinking, Summarize, Truncate, dropped
from .stages import SummarizeZone
from .stages._draft import Draft
from .stages._sizes import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._ledger import Ledger
    from ._plan import Edit
    from ._policy import Policy

_DROPS = SummarizeZone(share=0.0, min_tokens=1, max_tokens=1)
"""The zone's arithmetic for a drop: the notice fits the frame."""


def decide(
    ledger: Ledger,
    policy: Policy,
    target: int,
    *,
    pins: Iterable[int] = (),
    binds_thinking: bool = False,
    frame: int = 160,
) -> Plan:
    """Brings a transcript to ``target`` tokens.

    Args:
        ledger: the transcript.
        policy: how to decide.
        target: tokens of messages that are aimed at.
        pins: messages that never leave.
        binds_thinking: whether the model's thinking dies with an edit in front of it.
        frame: most tokens of what stands around a summary.

    Returns:
        A plan without edits, and the reason, where nothing need or can be done.
    """
    draft = Draft(ledger, tuple(pins), binds_thinking, frame)
    if ledger.total <= target:
        return _plan(draft, policy, target, (), "already at or under the target")
    edits = tuple(_edits(draft, policy, target)) if draft.messages > draft.head else ()
    if not edits and not len(draft.thinking):
        return _plan(draft, policy, target, (), "nothing can leave: " + _floor(draft, policy, target))
    if len(draft.thinking):
        edits = (*edits, StripThinking(tuple(int(row) for row in draft.thinking)))
    plan = _plan(draft, policy, target, edits, "")
    if plan.tokens_after >= plan.tokens_before:
        floor = _floor(draft, policy, target)
        return _plan(draft, policy, target, (), f"compaction would not make it smaller: {floor}")
    reached = plan.tokens_after <= target
    reason = _words(plan) if reached else f"{_words(plan)}; not to the target: {_floor(draft, policy, target)}"
    return _plan(draft, policy, target, edits, reason)


def _edits(draft: Draft, policy: Policy, target: int) -> Iterable[Edit]:
    verbatim = policy.keep.verbatim(draft, target)
    prunable = draft.results(0, 0, at_least=0)
    if policy.prune:
        prunable = policy.prune.candidates(draft, before=policy.keep.recent_from(draft, target), without=verbatim)
        need = draft.total - target
        if int((draft.tokens[prunable] - PLACEHOLDER).sum()) >= need > 0:
            yield from policy.prune.enough(draft, prunable, need)
            return
    if draft.total <= target:
        return
    zone = policy.summarize or _DROPS
    for edit in zone.edits(draft, target, verbatim=verbatim, prunable=prunable):
        if isinstance(edit, Summarize) and policy.summarize is None:
            yield dropped(edit)
        else:
            yield edit


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
        kept = sum(int(draft.cost[m]) for m in zone.keep)
        total += kept - int(draft.cost[zone.start : zone.stop].sum()) + draft.frame
        total += zone.max_tokens if isinstance(zone, Summarize) else 0
    for edit in edits:
        match edit:
            case Prune(rows):
                total -= int((draft.tokens[list(rows)] - PLACEHOLDER).sum())
            case Truncate(rows, most):
                total -= int((draft.tokens[list(rows)] - most).clip(min=0).sum())
            case _:
                pass
    return total


def _words(plan: Plan) -> str:
    names = {
        Prune: "pruned",
        Truncate: "truncated",
        Summarize: "summarized",
        Drop: "dropped",
        StripThinking: "stripped",
    }
    return ", ".join(dict.fromkeys(names[type(edit)] for edit in plan.edits))


def _floor(draft: Draft, policy: Policy, target: int) -> str:
    """What keeps the transcript above the target."""
    head = int(draft.cost[: draft.head].sum())
    verbatim = policy.keep.verbatim(draft, target) if draft.messages > draft.head else ()
    kept = int(draft.cost[list(verbatim)].sum())
    last = int(draft.cost[draft.last_group :].sum())
    parts = [(head, "the system messages"), (kept, "pins and the last request"), (last, "the last messages")]
    tokens, name = max(parts)
    return f"{name}, which stay, have {tokens:,} tokens"
