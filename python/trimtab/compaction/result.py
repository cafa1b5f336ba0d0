"""What came of a compaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .._repr import short
from ..planning.plan import Summarize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..messages.types import Message
    from ..planning.plan import Plan
    from ..summarize import Offer, Usage


@dataclass(frozen=True)
class Compaction:
    """What came of it.

    Attributes:
        messages: the new list; untouched messages are the same objects. The caller's own list where nothing was done.
        plan: what was done.
        ref: gives the originals back (``Compactor.restore``); None where nothing was done.
        usage: what the summarizer charged, answers that could not be used with it; empty for one that charges nothing.
        tokens_before: tokens of the messages as they were.
        tokens_after: tokens of the messages as they are.
        reason: what was done and why, or why nothing was.
        summarizer: who wrote the summary, None if there is none.
        summary: its text, None if there is none.
        strategy: what the policy calls what was done, or the step that took a failed summarizer's place.
        offer: how the summary was asked for, and what that was to cost at most; None where nobody was asked.
        failed: why the summarizer gave none; empty where it did, or was not needed.
    """

    __repr__ = short

    messages: Sequence[Message]
    plan: Plan
    ref: str | None
    tokens_before: int
    tokens_after: int
    reason: str
    summarizer: str | None = None
    usage: Usage = field(default_factory=dict)
    summary: str | None = None
    strategy: str = ""
    offer: Offer | None = None
    failed: str = ""

    @property
    def saved(self) -> int:
        """Tokens that the messages have less."""
        return self.tokens_before - self.tokens_after

    @property
    def reduction(self) -> float:
        """The same in percent of what they had (seed 002)."""
        return self.saved / self.tokens_before * 100 if self.tokens_before else 0.0

    @property
    def path(self) -> str:
        """Which way it went: ``noop``, ``prune-only``, ``summarised`` or ``dropped``."""
        zone = self.plan.zone()
        if not self.plan.edits:
            return "noop"
        return "prune-only" if zone is None else "summarised" if isinstance(zone, Summarize) else "dropped"
