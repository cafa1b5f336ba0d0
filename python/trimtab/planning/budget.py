"""Token limits of one model call: what is weighed against what, and what follows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .._repr import short


@dataclass(frozen=True, slots=True)
class Terms:
    """What is known of one call, in tokens.

    Attributes:
        window: what the model takes, input and output together; 0 where that is not known.
        output: kept free for the answer.
        messages: of the messages, as counted.
        system: of system text.
        tools: of tool definitions.
        input_limit: the model's own limit of input, where it has one.
        input: charged for input by the last call, without what a cache gave or took.
        cache_read: charged for what a cache gave.
        cache_write: charged for what a cache took.
        answered: charged for the answer.
        factor: what a counted token came to on average, once calls have been charged.
        beyond: charged for the last call beyond what it was counted as, and still there.
    """

    __repr__ = short

    window: int
    output: int = 0
    messages: int = 0
    system: int = 0
    tools: int = 0
    input_limit: int | None = None
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    answered: int = 0
    factor: float = 1.0
    beyond: int = 0

    @property
    def counted(self) -> float:
        """The messages, as calls were charged for them."""
        return self.messages * self.factor + self.beyond

    @property
    def sent(self) -> int:
        """All that is sent, as counted."""
        return self.messages + self.system + self.tools

    @property
    def available(self) -> int:
        """What is left for new content; below 0 where the call would not fit."""
        return self.window - self.sent - self.output

    @property
    def room(self) -> int:
        """What is left for new content, and never less than nothing."""
        return max(self.available, 0)


@dataclass(frozen=True, slots=True)
class Trigger:
    """When compaction pays: a numerator over a denominator, and the share that is too much.

    Attributes:
        share: of the denominator past which compaction pays.
        over: the terms that are added up.
        of: the terms that they are held against; one behind a minus is taken off.
        reached: whether the share itself is too much already.
        reserve: taken off the share, so that the summary's own call has room.
        floor: the share never falls below this.
        critical: share past which the next call is in danger.
        when: the moments at which ``fit`` looks: ``before_call``, ``after_step``, ``after_tool_batch``, ``after_run``,
            ``on_length``, ``on_overflow``.
        auto: switches every automatic path off.
        output: most tokens kept free for the answer where nothing is said.
        window: of a model that is in no table; None takes the table's guess.
        rules: that window holds for every model.
        limited: the model's own input limit, where it has one, is the whole denominator.
        unlimited: the utilisation of a window that is not known.
        whole: the share is a whole number of tokens, cut down: 85 % of 200,000 is 170,000 (seed 002).
    """

    __repr__ = short

    share: float = 0.80
    over: tuple[str, ...] = ("counted", "system", "tools")
    of: tuple[str, ...] = ("window", "-output")
    reached: bool = False
    reserve: float = 0.0
    floor: float = 0.0
    critical: float = 0.95
    when: tuple[str, ...] = ("before_call", "after_tool_batch", "after_run", "on_length", "on_overflow")
    auto: bool = True
    output: int = 32_000
    window: int | None = None
    limited: bool = False
    unlimited: float = 0.0
    whole: bool = False
    rules: bool = False

    def __post_init__(self) -> None:
        """Refuses shares that nothing or everything passes."""
        parts = all(0 <= part <= 1 for part in (self.share, self.floor, self.reserve))
        if not (parts and (self.share or self.floor) and self.critical > 0):
            msg = f"need 0 < share <= 1, got share {self.share}, reserve {self.reserve}, floor {self.floor}"
            raise ValueError(msg)

    @property
    def threshold(self) -> float:
        """The share that counts, its reserve taken off."""
        return max(self.share - self.reserve, self.floor)

    def kept_free(self, output: int | None) -> int:
        """Tokens kept free for the answer of a model that gives at most ``output``, None where that is not known."""
        return min(output or self.output, self.output)

    def used(self, terms: Terms) -> float:
        """The numerator."""
        return float(sum(getattr(terms, name) for name in self.over))

    def capacity(self, terms: Terms) -> int:
        """The denominator; 0 where there is no room at all."""
        if self.limited and terms.input_limit is not None:
            return terms.input_limit
        if terms.window <= 0:
            return 0
        signed = (-getattr(terms, name[1:]) if name[0] == "-" else getattr(terms, name) for name in self.of)
        return max(int(sum(signed)), 0)

    def limit(self, terms: Terms) -> int:
        """Tokens of the numerator at which the share is reached."""
        return int(self.capacity(terms) * self.threshold)

    def utilisation(self, terms: Terms) -> float:
        """Numerator over denominator."""
        capacity = self.capacity(terms)
        return self.used(terms) / capacity if capacity else self.unlimited

    def overflows(self, terms: Terms) -> bool:
        """Whether the numerator is larger than the denominator."""
        return self.used(terms) > self.capacity(terms)

    def fires(self, terms: Terms) -> bool:
        """Whether compaction pays; never where automatic compaction is off."""
        return self.auto and self._past(terms, self.threshold)

    def endangers(self, terms: Terms) -> bool:
        """Whether the next call is in danger."""
        return self._past(terms, self.critical)

    def _past(self, terms: Terms, share: float) -> bool:
        value, past = self.utilisation(terms), share
        if self.whole and self.capacity(terms):
            value, past = self.used(terms), int(self.capacity(terms) * share)
        return value >= past if self.reached else value > past


@dataclass(frozen=True, slots=True)
class Budget:
    """Past ``trigger`` tokens of messages, compaction aims at ``target``.

    Attributes:
        window: tokens that the model takes, input and output together.
        reserve: tokens kept free for the answer.
        fixed: tokens of system text and tool definitions, which no compaction touches.
        trigger: tokens of messages past which compaction pays.
        target: tokens of messages that compaction aims at.
        critical: tokens of messages past which the next call is in danger.
        rule: what is held against what.
    """

    __repr__ = short

    window: int
    reserve: int
    fixed: int
    trigger: int
    target: int
    critical: int
    rule: Trigger = field(default_factory=Trigger)

    def __post_init__(self) -> None:
        """Refuses a window without room for messages."""
        if not (0 <= self.reserve < self.window and self.target > 0 and 0 < self.trigger <= self.critical):
            msg = (
                f"no room for messages: window {self.window:,} less reserve {self.reserve:,} "
                f"and {self.fixed:,} of system and tools"
            )
            raise ValueError(msg)

    @classmethod
    def of(cls, terms: Terms, rule: Trigger, target: float) -> Budget:
        """The budget of a call.

        ``target`` is tokens of messages, or a share of what system, tools and answer leave of the window, so that
        large tools cannot push it to nothing.
        """
        alone = replace(terms, messages=0)
        beside = int(rule.used(alone))
        capacity = rule.capacity(terms)
        fixed = terms.system + terms.tools
        room = terms.window - terms.output - fixed
        return cls(
            window=terms.window,
            reserve=terms.output,
            fixed=fixed,
            trigger=int(capacity * rule.threshold) - beside,
            target=int(target) if target > 1 else int(room * target),
            critical=max(int(capacity * rule.critical), int(capacity * rule.threshold)) - beside,
            rule=rule,
        )

    def explain(self, tokens: int | None = None) -> str:
        """Every term, a line each; with ``tokens`` of messages, how they stand to it."""
        held = f"{' + '.join(self.rule.over)} against {' '.join(self.rule.of)}"
        rows = [
            ("window", self.window, "input and output together"),
            ("reserve", -self.reserve, "kept free for the answer"),
            ("input budget", self.window - self.reserve, ""),
            ("system, tools", -self.fixed, "sent with every call"),
            ("trigger", self.trigger, f"messages past this are compacted: {held}, {self.rule.threshold:.0%}"),
            ("target", self.target, "and brought down to this"),
            ("critical", self.critical, "past this the next call is in danger"),
        ]
        if tokens is not None:
            state = "over" if tokens > self.trigger else "below"
            rows.append(("messages", tokens, f"{state} the trigger, {100 * tokens / self.trigger:.0f} % of it"))
        return "\n".join(f"{name:14} {value:>11,}  {note}".rstrip() for name, value, note in rows)
