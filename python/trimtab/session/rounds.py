"""The rounds of a session: their moments, and when the summarizer rests because it fails, or helps too little."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..events import BackedOff
from ..planning.plan import UNREACHED

if TYPE_CHECKING:
    from ..compaction.result import Compaction
    from ..hooks import Cause
    from .call import Size, When

PATIENCE = 3
"""Rounds in a row that fail, or that need a compaction, before the summarizer is asked in every fourth round only."""

FAILED = "it failed too often in a row"
"""Why the summarizer is not asked."""

CROWDED = "too many rounds in a row needed a compaction"
"""Why the summarizer is not asked: summaries free so little that each costs a call for a round or two."""


@dataclass
class Rounds:
    """The rounds of a session; a moment that comes again begins the next one.

    Attributes:
        moments: moments of this round.
        turn: number of tool batches since the last user message.
        compactions: number of compactions.
        failed: rounds in a row in which the summarizer returned no summary.
        failing: whether it failed in this round.
        crowded: rounds in a row, before this one, that needed an automatic summary of a model.
        pressed: whether this round needs one.
        resting: whether the event of this rest was told.
    """

    moments: set[When] = field(default_factory=set)
    turn: int = 0
    compactions: int = 0
    failed: int = 0
    failing: bool = False
    crowded: int = 0
    pressed: bool = False
    resting: bool = False

    def begin(self, when: When, turn: int | None) -> None:
        """Record a moment.

        Args:
            when: the moment.
            turn: number of tool batches since the user spoke; None counts it from the moments.
        """
        if when in self.moments:
            self.moments.clear()
            self.crowded = self.crowded + 1 if self.pressed else 0
            self.failing = self.pressed = False
        self.moments.add(when)
        if turn is None:
            turn = 0 if when == "before_call" else self.turn + (when == "after_tool_batch")
        self.turn = turn

    def unasked(self, trigger: Cause) -> str:
        """Return why this round does not ask the summarizer; empty if it may be asked.

        After three rounds in a row that failed, or that needed a compaction, every fourth asks it. The user's own
        compaction asks it however many there were.
        """
        if _waits(self.failed) or (self.failing and trigger == "auto"):
            return FAILED
        return CROWDED if trigger == "auto" and _waits(self.crowded) else ""

    def rest(self, size: Size, reason: str) -> BackedOff | None:
        """Return the event of a rest that begins in this round, which needs a summary; or None.

        Args:
            size: the sizes of the prompt.
            reason: of the last compaction, which names what stays.
        """
        before, self.resting = self.resting, max(self.failed, self.crowded) >= PATIENCE
        if before or not self.resting:
            return None
        if self.failed >= PATIENCE:
            return BackedOff(f"the summarizer failed in {self.failed} rounds in a row", "a summary succeeds")
        why = [f"{self.crowded} rounds in a row needed a compaction", size.beside_messages]
        why += [part for part in reason.split("; ") if part.startswith(UNREACHED)]
        return BackedOff("; ".join(why), "a round needs none")

    def wait(self, why: str) -> str:
        """Count a round that needed a compaction and did not ask the summarizer; return its reason."""
        self.pressed = True
        if why == FAILED:
            self.fail()
        return f"the summarizer is not asked, {why}: it is asked in every fourth round"

    def fail(self) -> None:
        """Record that the summarizer failed; the moments of one turn are one round."""
        self.failed += not self.failing
        self.failing = self.pressed = True

    def end(self, compaction: Compaction[Any], *, automatic: bool, asks: bool) -> None:
        """Record a compaction.

        Args:
            compaction: the compaction.
            automatic: whether ``fit`` made it; a manual one is a round of its own.
            asks: whether the session has a summarizer that is asked.
        """
        self.failing = self.failing and automatic
        rested = automatic and self.unasked("auto") == CROWDED
        self.pressed |= automatic and asks and bool(compaction.offer is not None or compaction.failed)
        if compaction.failed and not rested:
            self.fail()
        elif compaction.offer:
            self.failed = 0
        self.compactions += compaction.ref is not None


def _waits(rounds: int) -> bool:
    """Return whether the summarizer rests after so many rounds in a row: from the third on, every fourth asks."""
    return rounds >= PATIENCE and (rounds - PATIENCE) % (PATIENCE + 1) != PATIENCE
