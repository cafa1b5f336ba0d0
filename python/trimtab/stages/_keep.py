"""What stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from ._draft import Draft


@dataclass(frozen=True, slots=True)
class Keep:
    """The newest messages as they are, and the last requests verbatim wherever they stand.

    Attributes:
        recent: share of the target whose newest messages are not pruned; the last group always is among them.
        turns: number of last user requests that stay verbatim, even in the middle of what leaves.
    """

    recent: float
    turns: int

    def recent_from(self, draft: Draft, target: int) -> int:
        """The first message that is not pruned."""
        cost = draft.cost.astype("uint32")
        cut = _core.split(cost, draft.safe, keep=int(self.recent * target))
        return min(draft.last_group if cut is None else cut, draft.last_group)

    def verbatim(self, draft: Draft, target: int) -> tuple[int, ...]:
        """Messages that never leave: pins, the last requests, and instructions up to a quarter of the target."""
        requests = [int(m) for m in draft.requests()[-self.turns :]] if self.turns else []
        room, instructions = target // 4, []
        for message in reversed(draft.instructions()):
            room -= int(draft.cost[message])
            if room >= 0:
                instructions.append(int(message))
        return draft.closed([*draft.pins, *requests, *instructions])
