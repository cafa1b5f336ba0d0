"""A policy: how to decide, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from .stages import Keep, PruneResults, SummarizeZone


@dataclass(frozen=True, slots=True)
class Policy:
    """The stages of a compaction, each a value.

    Attributes:
        name: what the command line calls it.
        trigger: share of the input budget past which compaction pays.
        target: share of the input budget that it aims at.
        keep: what stays as it is, whatever happens.
        prune: which tool results lose their content first; None prunes nothing.
        summarize: how large a summary of what leaves may be; None drops with a notice.
        fallback: what takes a failed summarizer's place, in order.
    """

    name: str
    trigger: float
    target: float
    keep: Keep
    prune: PruneResults | None
    summarize: SummarizeZone | None
    fallback: tuple[Literal["offline", "drop", "error"], ...]

    def __post_init__(self) -> None:
        """Refuses shares that make no sense together."""
        if not 0 < self.target <= self.trigger < 1:
            msg = f"need 0 < target <= trigger < 1, got {self.target} and {self.trigger}"
            raise ValueError(msg)
