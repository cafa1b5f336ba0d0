"""The zones of a transcript, and the utilisation of its window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._repr import short
from ..ledger.columns import Zone

if TYPE_CHECKING:
    from .policy import Policy
    from .stages.costs import Costs

GROUPS = {
    "protected": Zone.PROTECTED,
    "preserved": Zone.PRESERVED,
    "recent": Zone.RECENT,
    "summary": Zone.SUMMARY,
    "compactable": Zone.COMPACTABLE,
    "head": Zone.HEAD,
}
"""Zone by AgentPG's name ("Message Partitioning"); ``head`` is the system text in front."""


@dataclass(frozen=True, slots=True)
class Stats:
    """The state of a session.

    Attributes:
        session: its name.
        groups: positions of the messages of each zone.
        tokens: tokens of each zone.
        usage: used share of the window.
        compactions: number of compactions of the session.
        due: whether compaction is due.
    """

    __repr__ = short

    session: str
    groups: dict[str, tuple[int, ...]]
    tokens: dict[str, int]
    usage: float
    compactions: int
    due: bool

    @property
    def messages(self) -> int:
        """Number of messages."""
        return sum(map(len, self.groups.values()))

    @property
    def total(self) -> int:
        """Tokens of all messages."""
        return sum(self.tokens.values())

    @property
    def verbatim(self) -> tuple[int, ...]:
        """Positions of the protected, preserved and recent messages, ascending."""
        return tuple(sorted(m for name in ("protected", "preserved", "recent") for m in self.groups[name]))

    @property
    def kept(self) -> tuple[int, ...]:
        """Positions of the messages that no compaction removes, ascending."""
        return tuple(sorted(m for name, group in self.groups.items() if name != "compactable" for m in group))


def grouped(
    costs: Costs, policy: Policy, *, window: int = 0, target: int = 0
) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """Return the positions and the tokens of the messages of each zone, by name."""
    found, cost = policy.keep.zones(costs, window, target), costs.ledger.per_message
    groups = {name: tuple((found == zone).nonzero()[0].tolist()) for name, zone in GROUPS.items()}
    return groups, {name: int(cost[list(group)].sum()) for name, group in groups.items()}
