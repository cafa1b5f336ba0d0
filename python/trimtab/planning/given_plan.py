"""Checks a plan that is given instead of decided: it may be a file's, or of a time before a pin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import PlanError
from ..ledger.columns import Kind, RowFlag
from .edits import Cut, Drop, Mend, Prune, StripThinking, Summarize, Truncate
from .stages.costs import prunable_calls

if TYPE_CHECKING:
    from ..ledger.columns import Ledger
    from .edits import Edit
    from .plan import Plan
    from .stages.costs import Costs

_KINDS = {
    Prune: (Kind.RESULT, Kind.IMAGE, Kind.CALL),
    Cut: (Kind.RESULT,),
    Truncate: (Kind.RESULT,),
    StripThinking: (Kind.THINKING,),
}
"""Kinds of rows that an edit can change."""

_PICTURES = (Kind.RESULT, Kind.IMAGE, Kind.DOCUMENT)
"""Kinds of rows that leave because the provider takes no more pictures."""


def check_plan(plan: Plan, costs: Costs, *, parity: bool) -> None:
    """Reject a plan with an edit of what is not there, or of what no plan of trimtab's changes or removes.

    Args:
        plan: the plan.
        costs: of the transcript, with the pins of now.
        parity: the policy has no floor: only positions and kinds are checked.

    Raises:
        PlanError: names the edit and the row or message.
    """
    for edit in plan.edits:
        _check_places(edit, costs.ledger)
    if not parity:
        _check_pins(plan, costs)
        _check_zone(plan, costs)


def _check_places(edit: Edit, ledger: Ledger) -> None:
    """Reject positions outside the ledger, and rows of a kind that the edit cannot change."""
    messages = len(ledger)
    if isinstance(edit, Summarize | Drop):
        if edit.stop > messages:
            raise _wrong(edit, f"stop is {edit.stop}, there are {messages} messages")
        if outside := [*(n for n in edit.keep if not edit.start <= n < edit.stop), *_beyond(edit.skipped, edit.start)]:
            raise _wrong(edit, f"message {outside[0]} is not where it keeps or skips one")
        return
    if isinstance(edit, Mend):
        if outside := _beyond(edit.messages, messages):
            raise _wrong(edit, f"there is no message {outside[0]} among {messages}")
        return
    kinds = ledger.kind.tolist()
    if outside := _beyond(edit.rows, len(kinds)):
        raise _wrong(edit, f"there is no row {outside[0]} among {len(kinds)}")
    fits = _PICTURES if isinstance(edit, Prune) and edit.mends else _KINDS[type(edit)]
    held = (ledger.flags & RowFlag.WHOLE) != 0
    held |= (ledger.kind == Kind.CALL) & ~prunable_calls(ledger)
    for row in edit.rows:
        if kinds[row] not in fits or (held[row] and not isinstance(edit, StripThinking)):
            raise _wrong(edit, f"row {row} is a {Kind(kinds[row]).name.lower()} that it cannot change")


def _check_pins(plan: Plan, costs: Costs) -> None:
    """Reject edits of pinned messages; thinking and lone surrogates may leave those, too."""
    pins = {*costs.pins}
    for edit in plan.edits:
        rows = edit.rows if isinstance(edit, Prune | Cut | Truncate) else ()
        if held := pins & ({*costs.owner[list(rows)].tolist()} if rows else _leaving(edit, costs)):
            raise _wrong(edit, f"message {min(held)} is pinned now")


def _check_zone(plan: Plan, costs: Costs) -> None:
    """Reject a zone that parts a call from its result, or has what no policy removes."""
    zone = plan.zone()
    if zone is None:
        return
    gone = _leaving(zone, costs)
    allowed = {*range(costs.head, costs.messages), *costs.replaced} - {*costs.floor}
    if stays := (gone - allowed - {*costs.summaries}) | ({*zone.skipped} - {*costs.replaced}):
        raise _wrong(zone, f"message {min(stays)} cannot leave: it is system text, the last request or an open call")
    ours = costs.summarized | costs.filled  # these leave alone
    ours[: costs.head] = True
    group = np.searchsorted(costs.cuts, np.arange(costs.messages), side="right")
    leaves = costs.mask([*gone]) & ~ours
    parted = np.isin(group, group[leaves]) & np.isin(group, group[~leaves & ~ours])
    if parted.any():
        raise _wrong(zone, f"it would part message {int(parted.argmax())} from its call or result")


def _leaving(edit: Edit, costs: Costs) -> set[int]:
    """Return the messages that an edit removes, without notices and acknowledgements of earlier compactions."""
    if not isinstance(edit, Summarize | Drop):
        return set()
    return {*range(edit.start, edit.stop), *edit.skipped} - {*edit.keep} - {*costs.fillers}


def _beyond(places: tuple[int, ...], stop: int) -> list[int]:
    return [place for place in places if place >= stop]


def _wrong(edit: Edit, why: str) -> PlanError:
    return PlanError(f"{type(edit).__name__} of the plan does not fit these messages: {why}; plan again")
