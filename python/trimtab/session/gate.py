"""The gate before a call: what it has learned of the session, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from .._log import log
from ..messages.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..compaction.result import Compaction
    from ..ledger.columns import Ledger
    from ..messages.types import Message
    from ..planning.budget import Terms
    from ..planning.policy import Policy

When = Literal["before_call", "after_step", "after_tool_batch", "after_run", "on_length", "on_overflow"]
"""Moments at which an agent asks what to send."""

STUCK = 3
"""Rounds without progress after which automatic compaction rests until the list has changed its beginning."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What goes into the call.

    Attributes:
        messages: the list to send; the caller's own, the very same object, where nothing was done.
        request: keywords of the provider's call: the messages, and the system text where it was given; where thinking
            was marked, also ``betas`` and the field of ``thinking`` that lets the provider drop it.
        compaction: what was done, None where nothing was.
        reason: why nothing was done although the trigger was passed; empty otherwise.
    """

    messages: Sequence[Message]
    request: dict[str, Any]
    compaction: Compaction | None = None
    reason: str = ""


@dataclass(slots=True)
class Gate:
    """What is known of a session between calls.

    Attributes:
        factor: what a counted token came to on average.
        usage: what the last call was charged; None before the first, and after a compaction.
        seen: tokens of messages, system and tools that ``fit`` counted last, for the next ``record``.
        sent: the same of the call that was charged last.
        turn: number of tool batches since the user spoke.
        stuck: rounds without progress in a row.
        failed: compactions in a row for which the summarizer gave no summary.
        resting: why a compaction that was due was not tried; empty where it was, or none was due.
        rounds: compactions that were done.
        read: tokens that caches gave, in all.
        written: tokens that caches took, in all.
    """

    factor: float = 1.0
    usage: Usage | None = None
    seen: int = 0
    sent: int = 0
    turn: int = 0
    stuck: int = 0
    failed: int = 0
    resting: str = ""
    rounds: int = 0
    read: int = 0
    written: int = 0
    _begins: tuple[int, str] = (0, "")
    _tidies: bool = False

    def moment(self, when: When, turn: int | None) -> None:
        """Counts tool batches, from the user's words on."""
        if turn is not None:
            self.turn = turn
        else:
            self.turn = 0 if when == "before_call" else self.turn + (when == "after_tool_batch")

    def record(self, usage: object, policy: Policy) -> None:
        """Learns from what the last call was charged."""
        charged = Usage.of(usage)
        self.usage, self.sent = charged, self.seen
        self.read += charged.cache_read
        self.written += charged.cache_write
        learns = policy.counter.learns if policy.counter else None
        if learns:
            prompt = sum(getattr(charged, name) for name in learns.terms)
            self.factor = learns.learned(self.factor, prompt, self.seen)

    def terms(self, terms: Terms, policy: Policy) -> Terms:
        """The terms of the next call, with what was charged for the last."""
        self.seen = terms.sent
        terms = replace(terms, factor=self.factor)
        if self.usage is None:
            # Before the first call nothing was charged; what was counted stands in, so that a long list is seen.
            return replace(terms, input=self.seen)
        charged = self.usage
        if policy.counter is not None and policy.counter.asks:
            terms = replace(terms, messages=charged.prompt + charged.output)
        return replace(
            terms,
            input=charged.input,
            cache_read=charged.cache_read,
            cache_write=charged.cache_write,
            answered=charged.output,
        )

    @staticmethod
    def watches(when: When, policy: Policy) -> bool:
        """Whether the policy looks at this moment at all."""
        prunes = policy.prune.when if policy.prune else ()
        return policy.trigger.auto and (when in prunes or when in policy.trigger.when)

    @property
    def rests(self) -> bool:
        """Whether the summarizer is not asked this time: it failed thrice in a row, and is tried every fourth time."""
        return self.failed >= STUCK and (self.failed - STUCK) % (STUCK + 1) != STUCK

    def look(self, ledger: Ledger) -> None:
        """Gives a list a new chance that begins otherwise than the one that made no progress."""
        if not self.stuck:
            self._begins = (0, "")
            return
        held, digest = self._begins
        if held and (len(ledger) < held or ledger.digest_until(held) != digest):
            self.stuck = held = 0
        if not held:
            self._begins = (len(ledger), ledger.digest_until(len(ledger)))

    def due(self, when: When, terms: Terms, policy: Policy) -> Policy | None:
        """By what is to be compacted at this moment: the policy, what it prunes by alone, or None."""
        trigger, prune = policy.trigger, policy.prune
        self.resting, self._tidies = "", False
        if when in trigger.when and (trigger.fires(terms) or when == "on_overflow" or self._passes(terms, policy)):
            if self.stuck < STUCK:
                return policy
            self.resting = f"automatic compaction rests: {self.stuck} rounds in a row made no progress"
            log.warning("%s", self.resting)
            return None
        self._tidies = prune is not None and when in prune.when
        return replace(policy, summarize=None, order=()) if self._tidies else None

    def _passes(self, terms: Terms, policy: Policy) -> bool:
        """Whether by the last charge the call is in danger, where a policy's own estimate of it is far too low.

        A quarter of the bytes is two thirds of what thinking, calls and pictures are charged; the rest adds up.
        """
        if self.usage is None or policy.counter is None or policy.parity or not terms.window:
            return False
        return self.usage.prompt + terms.sent - self.sent > policy.trigger.critical * terms.window

    def done(self, compaction: Compaction) -> None:
        """Takes note of a round: what was charged is of another list now.

        A round that only prunes, as at the end of each run, and finds nothing to prune is none that makes no progress.
        """
        progress = compaction.ref is not None
        self.rounds += progress
        self.stuck = 0 if progress else self.stuck + (not self._tidies)
        self._tidies = False
        self.failed = self.failed + 1 if compaction.failed else 0 if compaction.offer else self.failed
        if progress:
            self.usage = None
