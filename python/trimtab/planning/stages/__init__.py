"""Stages: values that state which messages may leave, in which order, and their replacement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .keep import Keep, Messages, Pins, Summaries, Tokens, Turns
from .prune import PruneResults
from .summarize import Emergency, SummarizeZone
from .template import Ingest, Place, Template

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..edits import Cut, Prune, Truncate
    from .costs import Costs

__all__ = [
    "Emergency",
    "Ingest",
    "Keep",
    "Messages",
    "Pins",
    "Place",
    "PruneResults",
    "Stage",
    "Summaries",
    "SummarizeZone",
    "Template",
    "Tokens",
    "Turns",
]


class Stage(Protocol):
    """Shortens blocks before the policy prunes results and removes messages; a value, such as a frozen dataclass."""

    def edits(self, costs: Costs, target: int, /) -> Iterable[Prune | Truncate | Cut]:
        """Return edits of rows that ``costs.results`` or another of its selections returns.

        No other stage edits these rows. An edit of a message that leaves is dropped from the plan.

        Args:
            costs: the transcript's costs, after the stages in front.
            target: tokens of messages to reach.
        """
