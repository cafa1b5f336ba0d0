"""Counts that start from what was charged: an anchor, the vocabulary that fits, and one offset a tool turn.

Nothing is learned as a ratio. What a log does not show (a reminder, a hidden block) is rare and adds tokens; a ratio
would take it for content (`docs/dev/request-counts.md` has the comparison).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from statistics import median_low
from typing import TYPE_CHECKING, Self

from ..counting.counter import Counter, scan
from ..ledger.columns import Kind, Role
from ..messages.usage import Usage
from ..models.model import Model
from ..models.prompts import PROMPTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ledger.columns import Ledger
    from ..messages.types import Message, Transcript
    from ..models.provider import Provider

VOTES, MAJORITY = 8, 6
"""The other vocabulary takes over when so many of the last turns were closer to it."""

TURNS, ENOUGH = 15, 5
"""Turns whose error is remembered, and how many have to agree on one before it is taken for an offset."""

OTHERS = {"claude-old": "claude-4.8", "claude-new": "claude-4.6"}
"""For a vocabulary, the grammar of the other one: ids do not always tell which of them counts."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A call that was charged.

    Attributes:
        before: number of messages of its prompt.
        digest: what they say.
        counted: what the prompt was counted as, by each counter.
        usage: what it was charged.
    """

    before: int
    digest: str
    counted: tuple[int, ...]
    usage: Usage

    def holds(self, ledger: Ledger) -> bool:
        """Whether the transcript goes on from this call: a change in what was sent drops the anchor."""
        return len(ledger) >= self.before and ledger.digest_until(self.before) == self.digest


@dataclass(slots=True)
class Meter:
    """The tokens of the next prompt, from the last charge and what came since.

    Attributes:
        counters: the one that counts, and the other vocabulary's, if there is one.
        anchor: the last call that was charged; None before the first.
        votes: for the last turns, whether the other vocabulary was closer.
        errors: for the last tool turns, what was charged beyond the forecast.
    """

    counters: list[Counter]
    anchor: Anchor | None = None
    votes: deque[bool] = field(default_factory=lambda: deque(maxlen=VOTES))
    errors: deque[int] = field(default_factory=lambda: deque(maxlen=TURNS))
    _pending: tuple[Anchor, tuple[int, ...] | None, bool] | None = None

    @classmethod
    def of(cls, model: str | Model, counter: Counter | None = None) -> Self:
        """A meter that knows nothing yet; ``counter`` counts, the model's where it is None."""
        known = Model.named(model) if isinstance(model, str) else model
        counters = [counter or Counter.for_model(known)]
        if other := OTHERS.get(known.prompt.encoding):
            counters.append(Counter.for_model(replace(known, prompt=PROMPTS[other])))
        return cls(counters)

    @classmethod
    def read(cls, transcript: Transcript, model: str | Model) -> Self:
        """A meter that has seen every charge that a session file records."""
        meter = cls.of(model)
        for charged in transcript.usage:
            meter.count(transcript.messages[: charged.before], transcript.provider)
            meter.record(Usage(charged.prompt, charged.output))
        return meter

    @property
    def offset(self) -> int:
        """What each tool turn was charged beyond its count, where the last turns agree on one number."""
        if not self.errors:
            return 0
        middle = median_low(self.errors)
        return middle if self.errors.count(middle) >= ENOUGH and 2 * self.errors.count(middle) > len(self.errors) else 0

    @property
    def beyond(self) -> int:
        """What the last call was charged beyond its count: what nobody told of, such as system text and tools."""
        return self.anchor.usage.prompt - self.anchor.counted[0] if self.anchor else 0

    @property
    def is_loop(self) -> bool:
        """Whether what was counted last goes on from the anchor with an answer and its results alone."""
        return self._pending is not None and self._pending[1] is not None and self._pending[2]

    def count(self, messages: Sequence[Message], provider: Provider | None = None, beside: int = 0) -> int:
        """Tokens of a prompt of these messages.

        Args:
            messages: the transcript.
            provider: its shape; found from the messages where it is None.
            beside: tokens of what is sent beside them, as counted.
        """
        ledgers = [scan(messages, counter, provider) for counter in self.counters]
        counted = tuple(int(ledger.total) + beside for ledger in ledgers)
        first = ledgers[0]
        anchor = self.anchor if self.anchor and self.anchor.holds(first) else None
        grown, loops = None, False
        if anchor:
            known = zip(ledgers, self.counters, counted, anchor.counted, strict=True)
            grown = tuple(now - then + _answered(ledger, counter, anchor) for ledger, counter, now, then in known)
            loops = _loops(first, anchor.before)
        self._pending = (Anchor(len(first), first.digest, counted, Usage()), grown, loops)
        if anchor is None or grown is None:
            return counted[0]
        return max(anchor.usage.prompt + grown[0] + (self.offset if loops else 0), 0)

    def cached(self, ledger: Ledger) -> int:
        """Tokens of the prompt that the provider's cache has, by the last charge; 0 where it tells nothing."""
        if self.anchor is None or not self.anchor.holds(ledger):
            return 0
        return self.anchor.usage.cache_read + self.anchor.usage.cache_write

    def record(self, usage: object) -> None:
        """Learns what the prompt that was counted last was charged.

        Raises:
            ValueError: it names no tokens of a prompt.
        """
        charged = Usage.of(usage)
        if self._pending is None:
            return
        sent, grown, loops = self._pending
        if grown is not None and loops and self.anchor:
            errors = [charged.prompt - self.anchor.usage.prompt - each for each in grown]
            self.errors.append(errors[0])
            self.votes.append(abs(errors[-1]) < abs(errors[0]))
        self.anchor, self._pending = replace(sent, usage=charged), None
        if len(self.votes) == VOTES and not any(self.votes) and len(self.counters) > 1:
            self.counters, self.anchor = self.counters[:1], replace(self.anchor, counted=self.anchor.counted[:1])
        elif sum(self.votes) >= MAJORITY:
            self.counters.reverse()
            self.anchor = replace(self.anchor, counted=self.anchor.counted[::-1])
            self.votes.clear()
            self.errors.clear()

    def explain(self) -> str:
        """The terms that were learned, a line each; nothing before the first charge."""
        if self.anchor is None:
            return ""
        lines = [
            f"anchor         {self.anchor.usage.prompt:>11,}  charged for the first {self.anchor.before:,} messages"
        ]
        lines.append(f"beyond         {self.beyond:>11,}  of it not counted here")
        if self.offset:
            lines.append(f"offset         {self.offset:>11,}  charged beyond each tool turn's count")
        return "\n".join(lines)


def _answered(ledger: Ledger, counter: Counter, anchor: Anchor) -> int:
    """What an answer with hidden thinking was charged beyond its count; 0 where its text is there, or is dropped."""
    if anchor.before >= len(ledger) or not anchor.usage.output:
        return 0
    start, stop = (int(ledger.first[anchor.before + n]) for n in (0, 1))
    kind, tokens = ledger.kind[start:stop], ledger.tokens[start:stop].astype(int)
    thinking = kind == Kind.THINKING
    if not tokens[thinking].any() or anchor.usage.output < tokens[~thinking].sum():
        return 0  # an output that is smaller than what can be seen is a placeholder
    thought = counter.prompt.thought if counter.prompt and (kind == Kind.CALL).any() else 0
    return anchor.usage.output + thought - int(ledger.per_message[anchor.before])


def _loops(ledger: Ledger, before: int) -> bool:
    """Whether an answer and results of tools are all that came since."""
    role, kind, first = ledger.role[before:], ledger.kind, int(ledger.first[before])
    answers = (role == Role.ASSISTANT).sum() == 1 and len(role) >= 2
    given = ledger.role[ledger.owner[first:]] != Role.ASSISTANT
    return bool(answers and given.any() and (kind[first:][given] == Kind.RESULT).all())
