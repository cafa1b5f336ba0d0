"""What happened, told afterwards: a listener can look, and change nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ._repr import short

if TYPE_CHECKING:
    from .planning.plan import Plan
    from .summarize import Offer, Usage


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction is done and archived.

    Attributes:
        trigger: ``manual`` or ``auto``.
        ref: gives the originals back.
        tokens_before: tokens of the messages as they were.
        tokens_after: tokens of the messages as they are.
        plan: what was done.
        summarizer: who wrote the summary, None if there is none.
        usage: what the summarizer charged, as in ``Compaction``.
        summary: its text, None if there is none.
        strategy: what the policy calls it, or the step that took a failed summarizer's place.
        turn: number of tool batches since the user spoke; 0 before the first call.
        offer: how the summary was asked for, and what that was to cost at most; None where nobody was asked.
    """

    __repr__ = short

    trigger: str
    ref: str
    tokens_before: int
    tokens_after: int
    plan: Plan
    summarizer: str | None
    usage: Usage = field(default_factory=dict)
    summary: str | None = None
    strategy: str = ""
    turn: int = 0
    offer: Offer | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One of the steps that a policy's order names, told in that order once the compaction is done.

    Attributes:
        name: as the policy's document calls it.
        done: the compaction that it belongs to.
    """

    name: str
    done: Compacted


@dataclass(frozen=True, slots=True)
class CompactBoundary(Step):
    """Where a compaction stands in a session (seed 000, section 7).

    Attributes:
        uuid: new for each compaction.
        session_id: the session's.
    """

    __repr__ = short

    uuid: str
    session_id: str

    def payload(self) -> dict[str, Any]:
        """The message as the document gives it."""
        return {
            "type": "system",
            "subtype": "compact_boundary",
            "compact_metadata": {"trigger": self.done.trigger, "pre_tokens": self.done.tokens_before},
            "uuid": self.uuid,
            "session_id": self.session_id,
        }


@dataclass(frozen=True, slots=True)
class SessionStart(Step):
    """A session goes on from a summary (seed 000, section 4.2).

    Attributes:
        session_id: the session's.
        source: always ``compact``.
    """

    __repr__ = short

    session_id: str
    source: str = "compact"

    def payload(self) -> dict[str, str]:
        """The input of a SessionStart hook, as the document gives it, and whose session it is."""
        return {"source": self.source, "session_id": self.session_id}


@dataclass(frozen=True, slots=True)
class ContextCompacted(Step):
    """What seed 003 reports of a compaction."""

    __repr__ = short

    def payload(self) -> dict[str, Any]:
        """The event as the document gives it."""
        done = self.done
        return {
            "type": "ContextCompacted",
            "tokens_before": done.tokens_before,
            "tokens_after": done.tokens_after,
            "strategy": done.strategy,
            "turn": done.turn,
        }

    def __str__(self) -> str:
        """The line that seed 003 prints in continuous integration."""
        done = self.done
        moved = f"{done.tokens_before} → {done.tokens_after} tokens"
        return f"[sven:context:compacted:{done.strategy}] {moved} (tool round {done.turn})"


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was changed: a hook said no, or the result would not have been smaller.

    Attributes:
        trigger: ``manual`` or ``auto``.
        reason: why.
    """

    __repr__ = short

    trigger: str
    reason: str


@dataclass(frozen=True, slots=True)
class FellBack:
    """A summarizer failed, and another way was taken.

    Attributes:
        summarizer: the one that failed.
        reason: why.
        instead: what took its place: a step of the policy's fallback, or ``plain`` where a ride on the session's cache
            failed and the messages that leave were sent alone.
    """

    __repr__ = short

    summarizer: str
    reason: str
    instead: str


Event: TypeAlias = Compacted | Step | Refused | FellBack


def told(order: tuple[str, ...], done: Compacted, *, uuid: str, session_id: str) -> tuple[Step, ...]:
    """The steps of a policy's order, each as the event that has its payload."""

    def event(name: str) -> Step:
        match name:
            case "emit:compact_boundary":
                return CompactBoundary(name, done, uuid, session_id)
            case "emit:ContextCompacted":
                return ContextCompacted(name, done)
            case "hook:SessionStart(compact)":
                return SessionStart(name, done, session_id)
            case _:
                return Step(name, done)

    return tuple(event(name) for name in order)
