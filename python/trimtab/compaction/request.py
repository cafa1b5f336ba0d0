"""One compaction to be done, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..archive.redact import redact_message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..counting.counter import Counter
    from ..ledger.columns import Ledger
    from ..messages.objects import Given
    from ..messages.types import Message
    from ..models.model import Model
    from ..planning.plan import Plan
    from ..planning.policy import Policy
    from ..summarize import Writer


@dataclass(frozen=True)
class Request:
    """Everything that a compaction needs to know.

    Attributes:
        given: the caller's own list, which may change while a model is asked.
        read: the list as it was when it was read, and the way back to the caller's kind.
        messages: the transcript as plain dicts.
        ledger: its numbers.
        counter: counted them.
        policy: how to decide, and how to replace a failed summarizer.
        target: tokens of messages that are aimed at.
        fixed: tokens of system text and tools.
        cached: tokens of the next prompt that the provider's cache has.
        frame: most tokens around a summary.
        placeholder: tokens of a pruned result.
        pins: positions of the pinned messages.
        earlier: positions of the summaries that stand without an envelope.
        strips: whether thinking behind an edit is stripped.
        model: of the session's calls, with its limits.
        model_id: the id that those calls name.
        writer: the caller's summarizer.
        summarizer: its name.
        trigger: ``manual`` or ``auto``.
        session: whose transcript it is.
        plan: made before; None decides when it is needed.
        urgent: whether the next call is in danger.
        exclusive: whether another compaction of the session meanwhile is a conflict.
        instructions: what the summary is to stress.
        redact: the caller's function that removes from a text what must not be stored or summarized.
        context: lines that a hook adds to the summarizer's prompt.
        system: system text of the session's next call.
        tools: tool definitions of it.
        skips_summarizer: whether the summarizer is not asked, because it failed too often in a row.
        uuid: new for each compaction, for events.
        turn: number of tool batches since the user spoke.
    """

    given: Sequence[Message]
    read: Given
    messages: tuple[Message, ...]
    ledger: Ledger
    counter: Counter
    policy: Policy
    target: int
    fixed: int
    cached: int
    frame: int
    placeholder: int
    pins: tuple[int, ...]
    earlier: tuple[int, ...]
    strips: bool
    model: Model
    model_id: str
    writer: Writer
    summarizer: str
    trigger: str
    session: str
    plan: Plan | None = None
    urgent: bool = False
    exclusive: bool = False
    instructions: str | None = None
    redact: Callable[[str], str] | None = None
    context: str | None = None
    system: object = None
    tools: object = None
    skips_summarizer: bool = False
    uuid: str = ""
    turn: int = 0

    @cached_property
    def redacted(self) -> tuple[Message, ...]:
        """The messages as they may be stored and summarized."""
        return self.messages if self.redact is None else tuple(redact_message(m, self.redact) for m in self.messages)

    def decide(self, *, urgent: bool = False) -> Plan:
        """The plan: the caller's, or one that brings the messages to the target.

        Args:
            urgent: decides anew, as the policy's emergency does.
        """
        if self.plan is not None and not urgent:
            return self.plan
        from ..planning.decide import decide  # noqa: PLC0415 - numpy comes with the first plan

        return decide(
            self.ledger,
            self.policy,
            self.target,
            window=self.model.window,
            pins=self.pins,
            summaries=self.earlier,
            binds_thinking=self.strips,
            frame=self.frame,
            placeholder=self.placeholder,
            urgent=urgent or self.urgent,
        )
