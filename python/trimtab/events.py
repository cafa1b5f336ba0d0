"""Events: reported to listeners after a compaction; listeners cannot change it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ._repr import short
from .audit.lists import Lists

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .audit.kept import Kept
    from .messages.usage import Usage as Billed
    from .planning.plan import Plan
    from .summarize import Offer, Usage


__all__ = [
    "BackedOff",
    "CompactBoundary",
    "Compacted",
    "ContextCompacted",
    "FellBack",
    "Refused",
    "ServerCompacted",
    "SessionStart",
    "Step",
    "UsageIgnored",
]


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction was applied and archived.

    Attributes:
        trigger: ``manual`` or ``auto``.
        ref: restores the originals.
        tokens_before: tokens of the original messages.
        tokens_after: tokens of the new messages.
        plan: the plan.
        summarizer: name of the summarizer, or None.
        usage: usage of the summarizer over all its calls, as in ``Compaction``; ``cost`` is US dollars.
        summary: the summary's text, or None.
        strategy: the policy's name for it, or the fallback step that replaced a failed summarizer.
        turn: number of tool batches since the last user message.
        offer: the form of the summary request and its maximum cost; None if no model was called.
        dropped: sentences of the model's summary that were taken out, each with what stands nowhere in the messages.
        added: rules and other facts of the messages that the model's summary lacked, and that were added.
        lists: the messages before and after, of which ``kept`` is computed.
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
    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    lists: Lists = field(default_factory=Lists, repr=False, compare=False)

    @property
    def kept(self) -> Kept:
        """What is kept of rules, requests, tasks and files, as in ``Compaction``; computed when it is first read."""
        return self.lists.kept


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the policy's order, reported in that order after the compaction.

    Attributes:
        name: its name in the policy's document.
        done: its compaction.
    """

    name: str
    done: Compacted


@dataclass(frozen=True, slots=True)
class CompactBoundary(Step):
    """The boundary message of a compaction in a session (Claude Code, section 7).

    Attributes:
        name: the step's name in the policy's document.
        done: its compaction.
        uuid: new for each compaction.
        session_id: the session's id.
    """

    __repr__ = short

    uuid: str
    session_id: str

    def payload(self) -> dict[str, Any]:
        """Return the boundary message."""
        return {
            "type": "system",
            "subtype": "compact_boundary",
            "compact_metadata": {"trigger": self.done.trigger, "pre_tokens": self.done.tokens_before},
            "uuid": self.uuid,
            "session_id": self.session_id,
        }


@dataclass(frozen=True, slots=True)
class SessionStart(Step):
    """A session continues from a summary (Claude Code, section 4.2).

    Attributes:
        name: the step's name in the policy's document.
        done: its compaction.
        session_id: the session's id.
        source: always ``compact``.
    """

    __repr__ = short

    session_id: str
    source: str = "compact"

    def payload(self) -> dict[str, str]:
        """Return the input of a SessionStart hook, with the session's id."""
        return {"source": self.source, "session_id": self.session_id}


@dataclass(frozen=True, slots=True)
class ContextCompacted(Step):
    """The event that sven reports for a compaction.

    Attributes:
        name: the step's name in the policy's document.
        done: its compaction.
    """

    __repr__ = short

    def payload(self) -> dict[str, Any]:
        """Return the event as sven's document defines it."""
        done = self.done
        return {
            "type": "ContextCompacted",
            "tokens_before": done.tokens_before,
            "tokens_after": done.tokens_after,
            "strategy": done.strategy,
            "turn": done.turn,
        }

    def __str__(self) -> str:
        """Return the line that sven prints in continuous integration."""
        done = self.done
        tokens = f"{done.tokens_before} → {done.tokens_after} tokens"
        return f"[sven:context:compacted:{done.strategy}] {tokens} (tool round {done.turn})"


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was changed: a hook refused, the result would not have been smaller, or a background summary was lost.

    Attributes:
        trigger: ``manual`` or ``auto``.
        reason: the reason.
    """

    __repr__ = short

    trigger: str
    reason: str


@dataclass(frozen=True, slots=True)
class FellBack:
    """A summarizer failed, and a fallback replaced it; or the provider's server did not compact.

    Attributes:
        summarizer: the failed summarizer; ``server`` for the provider's.
        reason: the reason.
        instead: the replacement: a step of the policy's fallback, or ``plain`` if a request that reused the session's
            cache failed and only the removed messages were sent; ``here`` in place of the server, from now on.
    """

    __repr__ = short

    summarizer: str
    reason: str
    instead: str


@dataclass(frozen=True, slots=True)
class UsageIgnored:
    """``record`` did not believe a usage; the next count starts from trimtab's own.

    Attributes:
        usage: the usage.
        reason: why it is not believed.
    """

    __repr__ = short

    usage: Billed
    reason: str


@dataclass(frozen=True, slots=True)
class BackedOff:
    """Automatic compaction asks the summarizer in every fourth round only; steps that need none go on.

    Attributes:
        reason: the rounds that led to it, and the tokens that cannot leave.
        until: what ends it.
    """

    __repr__ = short

    reason: str
    until: str


@dataclass(frozen=True, slots=True)
class ServerCompacted:
    """The provider's server has cleared results or written a compaction, by an answer that ``record`` read.

    Attributes:
        ref: restores the originals; empty if no request of the session asked for it.
        tokens_before: tokens of the messages before.
        tokens_after: tokens of the messages after; None where the answer does not say.
        cleared: tokens that the server took out of the call's prompt; None if the answer does not say.
        edits: the edits that it applied, as the answer lists them.
        usage: usage of the server's own passes, as the answer lists them; the call's usage does not have them.
        summary: the compaction's text; empty where it is encrypted.
    """

    __repr__ = short

    ref: str
    tokens_before: int
    tokens_after: int | None
    cleared: int | None = None
    edits: tuple[Mapping[str, Any], ...] = ()
    usage: tuple[Mapping[str, Any], ...] = ()
    summary: str = ""


Event: TypeAlias = Compacted | Step | Refused | FellBack | UsageIgnored | BackedOff | ServerCompacted

_KINDS = (
    Compacted,
    Refused,
    FellBack,
    BackedOff,
    UsageIgnored,
    ServerCompacted,
    Step,
    CompactBoundary,
    ContextCompacted,
    SessionStart,
)

KINDS: dict[str, type[Event]] = {kind.__name__.lower(): kind for kind in _KINDS}
"""Events by the names that ``on`` takes; ``step`` names every step of a policy's order, the last three too."""


def told(order: tuple[str, ...], done: Compacted, *, uuid: str, session_id: str) -> tuple[Step, ...]:
    """Return the steps of a policy's order, each as the event with its payload."""

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
