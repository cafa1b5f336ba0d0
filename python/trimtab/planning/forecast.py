"""Forecast of the next prompt's tokens, learned from the usage of earlier calls.

The forecast uses the anchor: the last billed prompt, plus the model's count of the messages since, plus one offset for
each tool turn. It learns no ratio: tokens that a log does not show (a reminder, a hidden block) are rare and add up,
and a ratio would spread them over all content (`docs/dev/request-counts.md` compares). A policy's own estimate stands
beside it, and learns a ratio or takes the billed numbers, as the policy's document says.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from ..counting.counter import Counter, read_with, scan
from ..errors import MessageError
from ..messages.usage import HELD, Usage, is_near
from ..models.model import Model
from ..models.prompts import PROMPTS
from .cache import CacheReadings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..counting.estimate import Estimate
    from ..ledger.columns import Ledger
    from ..messages.types import Message
    from ..models.provider import Provider
    from .budget import Terms

VOTES, MAJORITY = 8, 6
"""The other vocabulary takes over when it was closer in 6 of the last 8 tool turns."""

TURNS, ENOUGH = 15, 5
"""Number of tool turns whose error is kept, and how many must have the same error before it becomes the offset."""

UNTOLD = 20_000, 8
"""Tokens beyond its count that a first prompt may have, of system text and tools that nobody passed; or this part of
the window."""

LEAP = 2_000, 10_000, 16
"""Tokens by which a later prompt may exceed its forecast whatever the ratio: at least, at most, part of the window."""

NOISE = 1_000
"""Tokens by which a prompt may stay below its forecast whatever the ratio."""

PENDING = ("before", "digest", "provider", "counted", "fixed", "grown", "loops")
"""Fields of a prompt that is not billed yet, without its messages."""

OTHERS = {"claude-old": "claude-4.8", "claude-new": "claude-4.6"}
"""Prompt rules of the other vocabulary, by vocabulary: a model id does not always tell which of the two applies."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A billed call.

    Attributes:
        before: number of messages in its prompt.
        digest: of these messages.
        counted: tokens of the prompt, as counted.
        prompt: billed tokens of the prompt.
        usage: usage of the whole call.
    """

    before: int
    digest: str
    counted: int
    prompt: int
    usage: Usage

    def holds(self, ledger: Ledger) -> bool:
        """Return whether the transcript still begins with the messages of this call."""
        return len(ledger) >= self.before and ledger.digest_until(self.before) == self.digest


@dataclass(frozen=True, slots=True)
class Pending:
    """A counted prompt that is not billed yet.

    Attributes:
        messages: the caller's list; it may grow before the usage is recorded.
        before: number of messages when it was counted.
        digest: of these messages.
        provider: their shape.
        counted: tokens of the prompt.
        fixed: tokens of system text and tools among them.
        grown: tokens since the anchor, or None without an anchor.
        loops: whether the messages since the anchor are one answer and its tool results.
        new: digest of these messages; empty if they are not.
    """

    messages: Sequence[Message]
    before: int
    digest: str
    provider: str
    counted: int
    fixed: int
    grown: int | None
    loops: bool
    new: str = ""


@dataclass(slots=True)
class Forecast:
    """Forecasts the tokens of the next prompt from the last billed prompt and the messages since.

    Attributes:
        counter: the counter of the ledgers that callers pass.
        counters: the model's counter, and that of its other vocabulary, if there is one; the two may swap.
        estimate: the policy's own estimate; None if the policy counts with the model's tokenizer.
        anchor: the last billed call; None before the first.
        votes: for the last tool turns, whether the other vocabulary was closer.
        errors: for the last tool turns, billed tokens beyond the forecast.
        factor: moving average of the ratio of billed to counted tokens.
        usage: usage of the last call; None before the first, and after a compaction.
        counted: tokens of the messages, system text and tools that were counted last, by the policy's counter.
        own: tokens of the messages that were counted last, by the model's counter; 0 if they are not the next call's.
        unseen: tokens that were billed beyond the count before a compaction; 0 once its result is billed.
        cache_read: tokens read from caches, over all calls.
        cache_write: tokens written to caches, over all calls.
        pending: the prompt that was counted last; None once it is billed.
        readings: what the calls' usage tells of the provider's cache.
        doubted: billed and counted tokens of the last prompt, if its charge was far off and is not believed.
        is_unbilled: whether a call after a billed one has passed whose charge was not recorded, or not believed.
        read: the counter that is not the callers' and was used last, and the ledger that it made.
    """

    counter: Counter
    counters: list[Counter]
    estimate: Estimate | None = None
    anchor: Anchor | None = None
    votes: deque[bool] = field(default_factory=lambda: deque(maxlen=VOTES))
    errors: deque[int] = field(default_factory=lambda: deque(maxlen=TURNS))
    factor: float = 1.0
    usage: Usage | None = None
    counted: int = 0
    own: int = 0
    unseen: int = 0
    cache_read: int = 0
    cache_write: int = 0
    pending: Pending | None = None
    readings: CacheReadings = field(default_factory=CacheReadings)
    doubted: tuple[int, int] | None = None
    is_unbilled: bool = False
    read: tuple[Counter | None, Ledger | None] = (None, None)

    @classmethod
    def of(cls, model: str | Model, counter: Counter | None = None, estimate: Estimate | None = None) -> Self:
        """Return a forecast before the first billed call.

        Args:
            model: an id, or a ``Model``.
            counter: the policy's counter; None uses the model's own.
            estimate: the policy's, if it has one.
        """
        known = Model.named(model) if isinstance(model, str) else model
        counters = [Counter.for_model(known) if counter is None or estimate else counter]
        if other := OTHERS.get(known.prompt.encoding):
            counters.append(Counter.for_model(replace(known, prompt=PROMPTS[other])))
        return cls(counter or counters[0], counters, estimate)

    @property
    def offset(self) -> int:
        """Billed tokens of each tool turn beyond its count; 0 unless most of the last turns agree."""
        if not self.errors:
            return 0
        middle = sorted(self.errors)[(len(self.errors) - 1) // 2]
        return middle if self.errors.count(middle) >= ENOUGH and 2 * self.errors.count(middle) > len(self.errors) else 0

    @property
    def beyond(self) -> int:
        """Billed tokens of the anchor beyond its count, such as system text and tools that were not passed."""
        return self.anchor.prompt - self.anchor.counted if self.anchor else 0

    @property
    def billed(self) -> int:
        """Tokens of the anchor, if the prompt that was counted last begins with its messages; else 0."""
        return self.anchor.prompt if self.anchor and self.pending and self.pending.grown is not None else 0

    def count(
        self,
        messages: Sequence[Message],
        provider: Provider | None = None,
        fixed: int = 0,
        ledger: Ledger | None = None,
    ) -> int:
        """Return the tokens of a prompt of these messages, by the anchor if there is one.

        Args:
            messages: the transcript.
            provider: its shape; None detects it.
            fixed: tokens of system text and tools, by the model's counter.
            ledger: ledger of the messages by ``counter``; None reads them.
        """
        counter = self.counters[0]
        if ledger is None:
            ledger = scan(messages, counter, provider)
        elif counter is not self.counter:
            ledger = self._read(messages, counter, ledger.provider, ledger.digest)
        self.own = ledger.total
        total = self.own + fixed
        anchor = self.anchor if self.anchor and self.anchor.holds(ledger) else None
        grown, new = None, ""
        if anchor:
            grown = _grown(ledger, counter, anchor.usage, anchor.before, total - anchor.counted)
            new = ledger.digest_until(len(ledger), anchor.before) if ledger.loops(anchor.before) else ""
        has_grown = self.pending is not None and self.pending.before < len(ledger)
        self.is_unbilled |= has_grown and self.anchor is not None
        sizes = (total, fixed, grown)
        self.pending = Pending(messages, len(ledger), ledger.digest, ledger.provider, *sizes, bool(new), new)
        return self._expected(self.pending)

    def terms(self, limits: Terms, messages: int, system: int, tools: int, beyond: int) -> Terms:
        """Return the terms of the next call, with the usage of the last one and the factor.

        Before the first billed call, and where the list does not begin with the billed messages, the counted tokens
        replace billed ones.

        Args:
            limits: the terms of an empty call.
            messages: tokens of the messages.
            system: tokens of the system text.
            tools: tokens of the tool definitions.
            beyond: tokens that the last call was billed above its count.
        """
        self.counted = messages + system + tools
        if self.is_unbilled and self.pending is not None:
            self._calibrate(self._expected(self.pending))
        charged = self.usage
        if charged is None or (self.anchor and self.pending and self.pending.grown is None):
            charged = Usage(self.counted)
        elif self.estimate is not None and self.estimate.asks:
            messages = max(charged.prompt + charged.output - system - tools, 0)
        return replace(
            limits,
            messages=messages,
            system=system,
            tools=tools,
            beyond=beyond,
            factor=self.factor,
            input=charged.input,
            cache_read=charged.cache_read,
            cache_write=charged.cache_write,
            answered=charged.output,
        )

    def cached(self, ledger: Ledger) -> int:
        """Return the prompt's tokens in the provider's cache, by the last usage; 0 if unknown.

        A policy with its own estimate has its own summary request, which reuses no cache.
        """
        if self.estimate or self.anchor is None or not self.anchor.holds(ledger):
            return 0
        return self.anchor.usage.cache_read + self.anchor.usage.cache_write

    def doubt(self, charged: Usage, limits: Terms) -> str:
        """Return why a usage is not believed to be that of the prompt that was counted last; empty if it is.

        One that is far off is believed when the next one is as far off. A first prompt may be well above its count:
        ``fit`` is not told of every system text and tool.
        """
        prompt = charged.prompt
        if not prompt:
            return "it has no input tokens"
        if 2 * prompt < self.own:
            return f"its {prompt:,} input tokens are less than half of the {self.own:,} that the messages have"
        if prompt > limits.window:
            return f"its {prompt:,} input tokens exceed the window of {limits.stated}: window= may have to be larger"
        if self.pending is None or not (far := self._far(prompt, self.pending, limits)):
            return ""
        charge, last = (prompt, self.pending.counted), self.doubted
        self.doubted = charge
        return "" if last and last != charge and _agrees(charge, last) else far

    def _far(self, prompt: int, sent: Pending, limits: Terms) -> str:
        """Return why the tokens of a billed prompt are far off its forecast and its count; empty if they are not."""
        anchor, grown, last, expected = self.anchor, sent.grown, self.usage, self._expected(sent)
        if last and last != (anchor and anchor.usage) and is_near(prompt, last.prompt):
            return ""  # a call that was recorded, but not counted, was billed as much
        given, cut = f"its {prompt:,} input tokens", "a server may cut the prompt"
        if anchor is None or grown is None:
            most = least = sent.counted
            leaps = HELD * most >= prompt > most + max(UNTOLD[0], limits.window // UNTOLD[1])
        else:
            most, least = max(expected, sent.counted), min(expected, sent.counted)
            leaps = prompt > most + max(LEAP[0], min(LEAP[1], limits.window // LEAP[2]))
            if grown > NOISE and 4 * (prompt - anchor.prompt) < grown < 4 * abs(prompt - sent.counted):
                return f"{given} follow {anchor.prompt:,}, and {grown:,} came since: {cut}"
        if leaps and not is_near(prompt, most):
            return f"{given} are far more than the {most:,} that were forecast"
        if prompt < least - NOISE and not is_near(prompt, least):
            return f"{given} are far fewer than the {least:,} that were forecast: {cut}"
        return ""

    def record(self, usage: object, now: float | None = None, ttl: int | None = None) -> None:
        """Learn from the usage of the last call.

        Args:
            usage: the usage.
            now: time of the call in seconds; None for a call of the past.
            ttl: seconds for which the provider's cache is kept; None if unknown.

        Raises:
            ValueError: the usage has no prompt tokens, or one of its numbers is no integer from 0 to 2**53.
        """
        charged = Usage.of(usage)
        self.usage = charged
        self.cache_read += charged.cache_read
        self.cache_write += charged.cache_write
        if self.estimate is not None and (calibration := self.estimate.calibration):
            self._calibrate(sum(getattr(charged, name) for name in calibration.terms))
        if self.pending is not None:
            before = self.anchor.prompt if self.anchor and self.pending.grown is not None else None
            self.readings.record(charged, before, now, ttl)
            self._anchor(self.pending, charged)
            self.pending, self.unseen, self.doubted = None, 0, None

    def _calibrate(self, prompt: int) -> None:
        """Correct the policy's estimate by the tokens of the prompt that was counted last.

        A call without a charge is as large as its forecast: else the factor of the last charge stays for good.
        """
        self.is_unbilled = False
        if self.estimate is not None and (calibration := self.estimate.calibration):
            self.factor = calibration.update(self.factor, prompt, self.counted)

    def _expected(self, sent: Pending) -> int:
        """Return the forecast of a prompt that was counted."""
        if self.anchor is None or sent.grown is None:
            return sent.counted
        return max(self.anchor.prompt + sent.grown + (self.offset if sent.loops else 0), 0)

    def forget(self, unseen: int) -> None:
        """Forget the prompt that was counted last, and the last usage: a compaction has replaced their messages.

        Args:
            unseen: tokens billed beyond the count, which may still be in the prompt.
        """
        self.usage = self.pending = self.doubted = None
        self.own, self.unseen, self.is_unbilled = 0, max(unseen, 0), False

    def _anchor(self, sent: Pending, charged: Usage) -> None:
        """Move the anchor to a billed prompt, and compare the two vocabularies."""
        anchor, counted = self.anchor, sent.counted
        if sent.loops and anchor and sent.grown is not None:
            grown = charged.prompt - anchor.prompt
            self.errors.append(grown - sent.grown)
            other = self._grown_by_other(sent, anchor)
            if other is not None:
                self.votes.append(abs(grown - other) < abs(grown - sent.grown))
        if len(self.votes) == VOTES and not any(self.votes):
            del self.counters[1:]
        elif sum(self.votes) >= MAJORITY and (ledger := self._by_other(sent)):
            counted = ledger.total + sent.fixed
            self.counters.reverse()
            self.votes.clear()
            self.errors.clear()
        self.anchor = Anchor(sent.before, sent.digest, counted, charged.prompt, charged)

    def _grown_by_other(self, sent: Pending, anchor: Anchor) -> int | None:
        """Return the tokens of a prompt beyond the anchor by the other vocabulary, of a tool turn.

        Both vocabularies count the new messages alone, however long the list is: what the prompt puts around them is
        the same for both. None without another vocabulary, or if these messages have changed since they were counted.
        """
        if len(self.counters) == 1 or sent.grown is None:
            return None
        new = sent.messages[anchor.before : sent.before]
        try:
            ours, theirs = (scan(new, counter, sent.provider) for counter in self.counters)
        except MessageError:
            return None
        if theirs.digest != sent.new:
            return None
        both = zip((ours, theirs), self.counters, strict=True)
        before, after = (_grown(ledger, counter, anchor.usage, 0, ledger.total) for ledger, counter in both)
        return sent.grown - before + after

    def _by_other(self, sent: Pending) -> Ledger | None:
        """Return the ledger of a counted prompt by the other vocabulary.

        None without another vocabulary, or if the messages have changed since they were counted.
        """
        if len(self.counters) == 1:
            return None
        try:
            ledger = self._read(sent.messages[: sent.before], self.counters[1], sent.provider, sent.digest)
        except MessageError:
            return None
        return ledger if ledger.digest == sent.digest else None

    def _read(self, messages: Sequence[Message], counter: Counter, provider: str, digest: str) -> Ledger:
        """Return the ledger of messages by a counter that is not the callers': what it read last is not read again.

        Args:
            messages: the messages.
            counter: the counter.
            provider: their shape.
            digest: of the messages.

        Raises:
            MessageError: a message cannot be read.
        """
        last, known = self.read
        ledger = None
        if known and last is counter and known.provider == provider and len(known) <= len(messages):
            ledger = read_with(messages[len(known) :], known.extend)
        if ledger is None or ledger.digest != digest:
            ledger = scan(messages, counter, provider)
        self.read = counter, ledger
        return ledger

    def state(self) -> dict[str, Any]:
        """Return what was learned as JSON values; the messages of a prompt that is not billed yet stay here."""
        fields = ("factor", "counted", "own", "unseen", "cache_read", "cache_write")
        sent = self.pending and {name: getattr(self.pending, name) for name in PENDING}
        return {name: getattr(self, name) for name in fields} | {
            "vocabularies": self._vocabularies(),
            "anchor": self.anchor and asdict(self.anchor),
            "pending": sent,
            "votes": [*self.votes],
            "errors": [*self.errors],
            "usage": self.usage and asdict(self.usage),
            "readings": self.readings.state(),
            "doubted": self.doubted and [*self.doubted],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from what was learned before."""
        for name in ("factor", "counted", "own", "unseen", "cache_read", "cache_write"):
            setattr(self, name, state[name])
        by_name = dict(zip(self._vocabularies(), self.counters, strict=True))
        self.counters = [by_name[name] for name in state["vocabularies"] if name in by_name] or self.counters
        self.votes.extend(state["votes"])
        self.errors.extend(state["errors"])
        self.readings.load(state["readings"])
        anchor, usage, sent = state["anchor"], state["usage"], state["pending"]
        self.usage = usage and Usage(**usage)
        # Earlier releases kept the tokens by the other vocabulary, too.
        self.anchor = None
        if anchor:
            known = {name: value for name, value in anchor.items() if name != "other"}
            self.anchor = Anchor(**{**known, "usage": Usage(**anchor["usage"])})
        self.pending = sent and Pending((), **sent)
        doubted = state.get("doubted")
        self.doubted = doubted and (doubted[0], doubted[1])

    def _vocabularies(self) -> list[str]:
        """Return the names of the vocabularies, the one that counts first."""
        return [counter.prompt.name if counter.prompt else "" for counter in self.counters]

    def explain(self) -> str:
        """Return the learned terms, a line each; empty before the first billed call."""
        if self.anchor is None:
            return ""
        lines = [f"anchor         {self.anchor.prompt:>11,}  charged for the first {self.anchor.before:,} messages"]
        lines.append(f"beyond         {self.beyond:>11,}  of it not counted here")
        if self.offset:
            lines.append(f"offset         {self.offset:>11,}  charged beyond each tool turn's count")
        return "\n".join(lines)


def _agrees(charge: tuple[int, int], last: tuple[int, int]) -> bool:
    """Return whether two billed prompts are as far off their counts, as (billed, counted) tokens.

    Those above have as much beyond the count. Those below grow with the list: where a server cuts the prompt, they do
    not.
    """
    (billed, counted), (before, was) = charge, last
    if billed > counted and before > was:
        return 4 * abs((billed - counted) - (before - was)) <= before - was
    return billed < counted and before < was and 2 * (billed - before) >= counted - was > 0


def _grown(ledger: Ledger, counter: Counter, usage: Usage, start: int, more: int) -> int:
    """Return the tokens by which a prompt is longer than a billed one.

    Args:
        ledger: the messages.
        counter: the counter that has read them.
        usage: of the billed call.
        start: position behind its messages, where its answer stands.
        more: counted tokens beyond its prompt.
    """
    if usage.earlier and start < len(ledger):  # the bill holds the answer but for its last part
        return usage.output + int(ledger.per_message[start + 1 :].sum())
    return more + _answered(ledger, counter, usage, start)


def _answered(ledger: Ledger, counter: Counter, usage: Usage, start: int) -> int:
    """Return the billed tokens of an answer with hidden thinking beyond its count; 0 if it is shown or gone."""
    if start >= len(ledger) or not usage.output:
        return 0
    thinking, visible, calls, counted = ledger.answer(start)
    if not thinking or usage.output < visible:
        return 0  # an output smaller than the visible blocks is a placeholder
    thought = counter.prompt.thought if counter.prompt and calls else 0
    return usage.output + thought - counted
