"""From a session's messages to a plan: what the session has pinned, and which messages are its summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..messages.envelope import summary_in
from ..messages.objects import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..compaction.result import Compaction
    from ..ledger.columns import Ledger
    from ..messages.types import Message
    from ..planning.plan import Plan
    from ..planning.policy import Policy
    from .settings import Measure


@dataclass(slots=True)
class Planner:
    """Decides for one session.

    Attributes:
        measure: how it measures.
        pins: what is pinned in the session now, as ``(kind, value)``.
        strips: whether an edit costs the thinking behind it, where the model binds it.
        known: digests of summaries that stand without an envelope.
    """

    measure: Measure
    pins: Callable[[], Iterable[tuple[str, str]]]
    strips: bool
    known: list[str] = field(default_factory=list)

    def plan(
        self,
        ledger: Ledger,
        messages: Sequence[Message],
        target: int,
        policy: Policy | None = None,
        *,
        urgent: bool = False,
    ) -> Plan:
        """What brings the messages to the target.

        Args:
            ledger: of the messages.
            messages: the transcript.
            target: tokens that are aimed at.
            policy: decides instead of the session's own.
            urgent: the next call is in danger.
        """
        from ..planning.decide import decide  # noqa: PLC0415 - numpy comes with the first plan

        return decide(
            ledger,
            policy or self.measure.policy,
            target,
            window=self.measure.model.window,
            pins=self.pinned(ledger, messages),
            summaries=self.summaries(ledger, messages),
            binds_thinking=self.strips,
            frame=self.measure.frame,
            placeholder=self.measure.placeholder,
            urgent=urgent,
        )

    def tidied(self, ledger: Ledger, messages: Sequence[Message], target: int) -> list[Message]:
        """The messages with old results pruned, and nothing else done."""
        from ..compaction.apply import apply  # noqa: PLC0415 - as with plans

        plan = self.plan(ledger, messages, target, replace(self.measure.policy, summarize=None))
        return apply(plan, messages, ledger, self.measure.counter, None) if plan.edits else [*messages]

    def pinned(self, ledger: Ledger, messages: Sequence[Message]) -> list[int]:
        """Positions of the pinned messages: by digest, by flag, and by text anywhere in them but in a summary."""
        pins = tuple(self.pins())
        found = set(ledger.find(value for kind, value in pins if kind == "message"))
        if texts := [value for kind, value in pins if kind == "text"]:
            for index, message in enumerate(messages):
                if any(_holds(message, text) for text in texts) and summary_in(message) is None:
                    found.add(index)
        return sorted({*found, *_flagged(messages, self.measure.policy.keep.flags()[0])})

    def summaries(self, ledger: Ledger, messages: Sequence[Message]) -> tuple[int, ...]:
        """Positions of the summaries that stand without our envelope."""
        known = ledger.find(self.known) if self.known else ()
        return tuple(sorted({*known, *_flagged(messages, self.measure.policy.keep.flags()[1])}))

    def remember(self, done: Compaction) -> None:
        """Knows a summary again that stands without its envelope."""
        policy = self.measure.policy
        if policy.parity and done.summary is not None:
            text = policy.place.prefix + done.summary
            placed = [message for message in plain(done.messages) if message.get("content") == text]
            self.known.extend(self.measure.scan([message]).digest_of(0) for message in placed)

    def groups(
        self, ledger: Ledger, messages: Sequence[Message], target: int
    ) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
        """Positions and tokens of the messages of each of the policy's zones, by name."""
        from ..planning.zones import grouped  # noqa: PLC0415 - as with plans

        return grouped(
            ledger,
            self.measure.policy,
            window=self.measure.model.window,
            target=target,
            pins=self.pinned(ledger, messages),
            summaries=self.summaries(ledger, messages),
        )


def _flagged(messages: Sequence[Message], flag: str | None) -> list[int]:
    """Positions of the messages that carry a flag."""
    return [index for index, message in enumerate(messages) if message.get(flag)] if flag else []


def _holds(value: object, text: str) -> bool:
    if isinstance(value, str):
        return text in value
    if isinstance(value, Mapping):
        return any(_holds(part, text) for part in value.values())
    return isinstance(value, list | tuple) and any(_holds(part, text) for part in value)
