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
    from ..planning.plan import Plan, Summarize
    from ..planning.policy import Policy
    from ..summarize import Offer


@dataclass(frozen=True)
class Job:
    """All that a compaction needs to know, none of it live.

    Attributes:
        given: the caller's own list, which may change while a model is asked.
        read: the same as it was when it was read, and the way back to the caller's kind.
        messages: the transcript as plain dicts.
        ledger: its numbers.
        counter: what counted them.
        policy: how a failed summarizer is replaced.
        plan: decides, given nothing more.
        summarizer: who is to write.
        trigger: ``manual`` or ``auto``.
        session: whose transcript it is.
        exclusive: whether another compaction of the session meanwhile is a conflict.
        instructions: what the summary is to stress.
        redact: takes out of a text what is neither to be stored nor summarized.
        context: lines that a hook adds to what a model is asked.
        emergency: decides as the policy's emergency does.
        earlier: messages that are summaries without our envelope, by position.
        offers: the ways to come by the summary of a zone, the one to take first.
        capacity: tokens of messages that who is asked takes at once; None takes any number.
        system: system text of the session's next call.
        tools: tool definitions of it.
        rests: whether the summarizer is not asked, because it failed too often in a row.
        uuid: a new one, for what is told.
        turn: number of tool batches since the user spoke.
    """

    given: Sequence[Message]
    read: Given
    messages: tuple[Message, ...]
    ledger: Ledger
    counter: Counter
    policy: Policy
    plan: Callable[[], Plan]
    summarizer: str
    trigger: str
    session: str
    offers: Callable[[Summarize], tuple[Offer, ...]]
    capacity: Callable[[Offer], int | None]
    exclusive: bool = False
    instructions: str | None = None
    redact: Callable[[str], str] | None = None
    context: str | None = None
    emergency: Callable[[], Plan] | None = None
    earlier: tuple[int, ...] = ()
    system: object = None
    tools: object = None
    rests: bool = False
    uuid: str = ""
    turn: int = 0

    @cached_property
    def told(self) -> tuple[Message, ...]:
        """The messages as they may be stored and summarized."""
        return self.messages if self.redact is None else tuple(redact_message(m, self.redact) for m in self.messages)
