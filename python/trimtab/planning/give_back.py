"""What a plan prunes comes back where it turns out to have left more than the target needs.

A plan takes a summary at its limit and a placeholder at its usual size. Both are known when they are written, and are
mostly smaller.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .decide import summarize_edits
from .edits import Prune, Truncate
from .stages.summarize import SMALLEST, cap_within, unpruned

if TYPE_CHECKING:
    from .edits import Edit
    from .plan import Plan
    from .stages.costs import Costs

SPARE, LEFT = 0.05, 0.01
"""Share of the target that may stay free, as less is not worth another list; and that stays free: the names of the
originals, which stand in each placeholder, have other tokens in another list."""


KEPT_OUT = ("superseded", "pictures")
"""Reasons that hold however much is free: the file was read again later, and the provider takes no more pictures."""


def give_back(costs: Costs, plan: Plan, free: int) -> Plan | None:
    """Return the plan that leaves more of the results, the last pruned first; None where that is no use.

    Args:
        costs: the transcript.
        plan: its plan.
        free: tokens that the plan's list has less than its target.
    """
    if free <= max(int(SPARE * plan.target), 2 * SMALLEST):
        return None
    free -= int(LEFT * plan.target)
    edits: list[Edit] = []
    for edit in plan.edits:
        cut, free = _less_cut(costs, edit, free) if isinstance(edit, Truncate) else (edit, free)
        edits += [cut] if cut else []
    for place, edit in reversed([*enumerate(edits)]):
        if not isinstance(edit, Prune) or edit.why in KEPT_OUT:
            continue
        edits[place : place + 1], free = _less_pruned(costs, edit, free)
        if not free:
            break
    edits.sort(key=lambda edit: not isinstance(edit, Truncate))  # in front, as a policy's stages have them
    if tuple(edits) == plan.edits:
        return None
    found = replace(plan, edits=tuple(edits), tokens_after=plan.target)
    return replace(found, reason=plan.reason.replace(summarize_edits(plan), summarize_edits(found), 1))


def _less_cut(costs: Costs, edit: Truncate, free: int) -> tuple[Truncate | None, int]:
    """Return the edit with a larger cap, or None where all of its results fit, and the tokens left."""
    sizes = costs.tokens[costs.array(edit.rows)]
    held = int(sizes.clip(max=edit.max_tokens).sum())
    if int(sizes.sum()) <= held + free:
        return None, free - (int(sizes.sum()) - held)
    cap = cap_within(sizes, held + free)
    return replace(edit, max_tokens=cap), 0


def _less_pruned(costs: Costs, edit: Prune, free: int) -> tuple[list[Edit], int]:
    """Return the edit without its last rows, with one of them cut where it fits in part, and the tokens left.

    A row is taken for all of its tokens: how many its placeholder has is not known here.
    """
    rows = costs.array(edit.rows)
    back, free, part = unpruned(costs, rows, costs.tokens[rows], free)
    stays = edit.rows[: len(rows) - back - (part is not None)]
    pruned: list[Edit] = [replace(edit, rows=stays)] if stays else []
    return (pruned, free) if part is None else ([Truncate((part,), free), *pruned], 0)
