"""Token limits of one model call, and the rule that decides when compaction is due."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .._repr import short
from ..models.model import SOURCES

if TYPE_CHECKING:
    from ..models.model import WindowSource

EARLY = 0.8
"""Share of the trigger at which a summary starts in the background, unless the caller says another: a fifth of a large
prompt is several turns, and a summary takes about one."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The known token counts of one call.

    Attributes:
        window: the model's window, input and output together; 0 if unknown.
        output: tokens kept free for the answer.
        messages: counted tokens of the messages.
        system: tokens of the system text.
        tools: tokens of the tool definitions.
        input_limit: the model's input limit, where it is counted apart from the output; else None.
        input: billed input tokens of the last call, without cache reads and writes.
        cache_read: billed cache reads of the last call.
        cache_write: billed cache writes of the last call.
        answered: billed output tokens of the last call.
        factor: average ratio of billed to counted tokens; 1.0 before the first billed call.
        beyond: tokens that the last call was billed above its count, as far as they are still in the prompt.
        source: where the window is from, as in ``models.SOURCES``.
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
    source: WindowSource = "argument"

    @property
    def stated(self) -> str:
        """The window as text, with a mark if it is assumed."""
        return f"{self.window:,}{' (assumed)' * (self.source == 'assumed')}"

    @property
    def counted(self) -> float:
        """The messages' tokens, corrected by the billed calls."""
        return self.messages * self.factor + self.beyond

    @property
    def sent(self) -> int:
        """Counted tokens of the whole prompt."""
        return self.messages + self.system + self.tools

    @property
    def input_budget(self) -> int:
        """Most tokens of a prompt: the window less the tokens kept free for the answer, at most the input limit."""
        most = self.window - self.output
        return most if self.input_limit is None else min(most, self.input_limit)

    @property
    def available(self) -> int:
        """Free tokens; negative if the call does not fit."""
        return self.input_budget - self.sent

    @property
    def room(self) -> int:
        """Free tokens, at least 0."""
        return max(self.available, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """The rule that decides when compaction is due: a utilisation, numerator over denominator, and its limits.

    Attributes:
        share: the utilisation past which compaction is due.
        numerator: names of the ``Terms`` that are added up.
        denominator: names of the ``Terms`` that they are divided by; a leading minus subtracts the term.
        inclusive: also trigger at exactly ``share``, not only past it.
        reserve: subtracted from ``share``, so that the summary's own call fits.
        min_share: lower bound of ``share`` after ``reserve`` is subtracted.
        critical: the utilisation past which the next call is in danger.
        when: the moments at which ``fit`` checks: ``before_call``, ``after_step``, ``after_tool_batch``, ``after_run``,
            ``on_length``, ``on_overflow``. A prompt above the input budget is compacted at every moment.
        auto: False turns every automatic compaction off.
        output: most tokens kept free for the answer, unless the caller gives a number.
        window: window of a model that the table does not list; None takes the table's default.
        fixed_window: use ``window`` for every model.
        background: share of the trigger past which a summary starts in the background; True is 0.8, False none.
        prefer_input_limit: use the model's separate input limit, where it has one, as the denominator.
        unknown_utilisation: the utilisation if the denominator is 0.
        integer_limit: compare tokens with the limit rounded down: 85 % of 200,000 is 170,000.
    """

    __repr__ = short

    share: float = 0.80
    numerator: tuple[str, ...] = ("counted", "system", "tools")
    denominator: tuple[str, ...] = ("window", "-output")
    inclusive: bool = False
    reserve: float = 0.0
    min_share: float = 0.0
    critical: float = 0.95
    when: tuple[str, ...] = ("before_call", "after_tool_batch", "after_run", "on_length", "on_overflow")
    auto: bool = True
    output: int = 32_000
    window: int | None = None
    prefer_input_limit: bool = False
    unknown_utilisation: float = 0.0
    integer_limit: bool = False
    fixed_window: bool = False
    background: bool | float = False

    def __post_init__(self) -> None:
        """Reject shares that no utilisation or every utilisation passes."""
        parts = all(0 <= part <= 1 for part in (self.share, self.min_share, self.reserve))
        if not (parts and (self.share or self.min_share) and self.critical > 0):
            msg = f"need 0 < share <= 1, got share {self.share}, reserve {self.reserve}, min_share {self.min_share}"
            raise ValueError(msg)
        early = self.background
        if not isinstance(early, bool) and not (isinstance(early, float) and 0 < early < 1):
            msg = f"background must be True, False, or a share of the trigger between 0 and 1, got {early!r}"
            raise ValueError(msg)

    @property
    def early(self) -> float:
        """The utilisation past which a summary starts in the background."""
        return self.threshold * (EARLY if self.background is True else self.background)

    def nears(self, terms: Terms) -> bool:
        """Return whether it is time to start a summary in the background."""
        return self.is_past(self.used(terms), self.capacity(terms), self.early)

    @property
    def threshold(self) -> float:
        """The effective share: ``share`` less ``reserve``, at least ``min_share``."""
        return max(self.share - self.reserve, self.min_share)

    def kept_free(self, output: int | None) -> int:
        """Return the tokens kept free for the answer; ``output`` is the model's output limit, None if unknown."""
        return min(output or self.output, self.output)

    def used(self, terms: Terms) -> float:
        """Return the numerator."""
        used = 0.0
        for name in self.numerator:
            used += getattr(terms, name)
        return used

    def capacity(self, terms: Terms) -> int:
        """Return the denominator, at least 0."""
        if self.prefer_input_limit and terms.input_limit is not None:
            return terms.input_limit
        if terms.window <= 0:
            return 0
        whole = 0
        for name in self.denominator:
            whole += -getattr(terms, name[1:]) if name[0] == "-" else getattr(terms, name)
        capacity = max(int(whole), 0)
        return capacity if terms.input_limit is None else min(capacity, terms.input_limit)

    def limit(self, terms: Terms) -> int:
        """Return the numerator at which the share is reached."""
        return int(self.capacity(terms) * self.threshold)

    def utilisation(self, terms: Terms) -> float:
        """Return numerator over denominator."""
        capacity = self.capacity(terms)
        return self.used(terms) / capacity if capacity else self.unknown_utilisation

    def overflows(self, terms: Terms) -> bool:
        """Return whether the numerator exceeds the denominator."""
        return self.used(terms) > self.capacity(terms)

    def reached(self, terms: Terms) -> bool:
        """Return whether the share is reached."""
        return self.is_past(self.used(terms), self.capacity(terms), self.threshold)

    def fires(self, terms: Terms) -> bool:
        """Return whether compaction is due; False if automatic compaction is off."""
        return self.auto and self.reached(terms)

    def endangers(self, terms: Terms) -> bool:
        """Return whether the next call is in danger."""
        return self.is_past(self.used(terms), self.capacity(terms), self.critical)

    def is_past(self, used: float, capacity: int, share: float) -> bool:
        """Return whether the numerator is past a share of the denominator."""
        if not capacity:
            value, past = self.unknown_utilisation, share
        elif self.integer_limit:
            value, past = used, int(capacity * share)
        else:
            value, past = used / capacity, share
        return value >= past if self.inclusive else value > past


@dataclass(frozen=True, slots=True)
class Budget:
    """Token limits of one model call: past ``trigger``, compaction aims at ``target``.

    Attributes:
        window: the model's window in tokens, input and output together.
        reserve: tokens kept free for the answer.
        fixed: tokens of system text and tool definitions, which compaction cannot change.
        trigger: tokens of messages past which compaction is due.
        target: tokens of messages that compaction aims at.
        critical: tokens of messages past which the next call is in danger.
        rule: the trigger rule of the policy.
        input_limit: the model's input limit, where it is counted apart from the output; else None.
        source: where the window is from, as in ``models.SOURCES``.
        early: tokens of messages past which a summary starts in the background; None if none does.
    """

    __repr__ = short

    window: int
    reserve: int
    fixed: int
    trigger: int
    target: int
    critical: int
    rule: Trigger = field(default_factory=Trigger)
    input_limit: int | None = None
    source: WindowSource = "argument"
    early: int | None = None

    def __post_init__(self) -> None:
        """Reject a window without room for messages."""
        if not (0 <= self.reserve < self.window and self.target > 0 and 0 < self.trigger <= self.critical):
            msg = (
                f"no room for messages: window {self.window:,}{' (assumed)' * (self.source == 'assumed')} "
                f"less {self.reserve:,} for the answer "
                f"and {self.fixed:,} for system and tools"
            )
            raise ValueError(msg)

    @classmethod
    def of(cls, terms: Terms, rule: Trigger, target: float) -> Budget:
        """Return the budget of a call.

        ``target`` above 1 is a number of tokens. Up to 1 it is a share of the window less answer, system and tools, so
        that large tools cannot push it to 0.
        """
        alone = replace(terms, messages=0)
        beside = int(rule.used(alone))
        capacity = rule.capacity(terms)
        fixed = terms.system + terms.tools
        room = terms.input_budget - fixed
        return cls(
            window=terms.window,
            reserve=terms.output,
            fixed=fixed,
            trigger=int(capacity * rule.threshold) - beside,
            target=int(target) if target > 1 else int(room * target),
            critical=max(int(capacity * rule.critical), int(capacity * rule.threshold)) - beside,
            rule=rule,
            input_limit=terms.input_limit,
            source=terms.source,
            early=int(capacity * rule.early) - beside if rule.background else None,
        )

    @property
    def input_budget(self) -> int:
        """Most tokens of a prompt: the window less the reserve, and no more than the input limit."""
        most = self.window - self.reserve
        return most if self.input_limit is None else min(most, self.input_limit)

    @property
    def _target_share(self) -> str:
        room = self.input_budget - self.fixed
        return f", {self.target / room:.0%} of what system and tools leave" if room > 0 else ""

    def _background(self) -> list[tuple[str, int, str]]:
        """Return the row of the background; none without one."""
        early, rule = self.early, self.rule
        what = f"past this a summary starts in the background, {rule.early / rule.threshold:.0%} of the trigger"
        return [] if early is None else [("background", early, what)]

    def explain(self, tokens: int | None = None, beyond: int = 0) -> str:
        """Return every term on its own line; with ``tokens`` of messages, also how full the trigger is.

        ``beyond`` are tokens that were billed above the count.
        """
        limited = self.input_budget == self.input_limit
        held = f"{' + '.join(self.rule.numerator)} against {' '.join(self.rule.denominator)}"
        beside = bool(self.fixed) and {"system", "tools"} <= set(self.rule.numerator)
        prompt = f", a prompt past {self.trigger + self.fixed:,}" * beside
        rows = [
            ("window", self.window, f"input and output together, {SOURCES[self.source]}"),
            ("reserve", -self.reserve, "kept free for the answer"),
            ("input budget", self.input_budget, "the model's input limit" if limited else ""),
            ("system, tools", -self.fixed, "sent with every call"),
            ("trigger", self.trigger, f"messages past this are compacted{prompt}: {held}, {self.rule.threshold:.0%}"),
            *self._background(),
            ("target", self.target, f"and brought down to this{self._target_share}"),
            ("critical", self.critical, "past this the next call is in danger"),
        ]
        if tokens is not None:
            whole = tokens + beyond
            state = (
                f"{'over' if whole > self.trigger else 'below'} the trigger, {100 * whole / self.trigger:.0f} % of it"
            )
            rows.append(("messages", tokens, state * (not beyond)))
            if beyond:
                rows.append(("not counted", beyond, "billed, and in no message, system text or tool"))
                rows.append(("together", whole, state))
        return "\n".join(f"{name:14} {value:>11,}  {note}".rstrip() for name, value, note in rows)
