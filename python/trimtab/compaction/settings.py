"""The settings of a Compactor, and the numbers that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, get_args

from ..counting.counter import Counter, fixed_tokens, scan
from ..messages.envelope import BRIEF_BELOW, wrap
from ..models.model import SOURCES, Model
from ..models.provider import Provider
from ..planning.budget import Budget, Terms
from ..planning.policy import Policy, Server
from ..planning.stages.sizes import PLACEHOLDER
from ..policies import POLICIES
from ..validity.validate import Rules, rules_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..ledger.columns import Ledger
    from ..models.model import WindowSource
    from ..summarize import Writer

    Target = Callable[[Ledger], int]
    """Returns the tokens of messages to reach, given the messages now."""

ORDER = tuple(SOURCES)
"""Sources of windows, the one that counts most first."""

SHAPES = get_args(Provider)
"""The message shapes that can be compacted."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Values that stay the same from call to call.

    Attributes:
        model: the model, with the limits that apply.
        model_id: the id that the session's calls name.
        policy: the policy.
        counter: the policy's own counter, or the model's.
        provider: shape of the messages; None detects it.
        limits: the terms of an empty call: the window, and the tokens kept free for the answer.
        writer: the caller's summarizer.
        summarizer: its name.
        session: name of the session in the archive.
        exclusive: whether a second simultaneous compaction of the session is a conflict.
        redact: removes from a text what must not be stored or summarized; None removes nothing.
        strips: whether an edit removes the thinking behind it.
        marks: whether later requests tell the provider that it may drop thinking.
        rules: what the provider refuses, while calls at the end may be running.
        clock: returns the time in seconds, from which the age of the provider's cache follows.
        count_with: client whose counting endpoint a policy with ``Estimate.asks`` asks; None asks none.
    """

    model: Model
    model_id: str
    policy: Policy
    counter: Counter
    provider: Provider | None
    limits: Terms
    writer: Writer
    summarizer: str
    session: str
    exclusive: bool
    redact: Callable[[str], str] | None
    strips: bool
    marks: bool
    rules: Rules
    clock: Callable[[], float]
    count_with: Any

    @classmethod
    def of(
        cls,
        model: str | Model,
        policy: str | Policy,
        *,
        provider: str | None,
        window: int | None,
        max_output: int | None,
        betas: Iterable[str],
        thinking: str,
        knobs: Mapping[str, Any],
        **others: Any,
    ) -> Settings:
        """Return the settings that follow from a Compactor's arguments.

        Raises:
            TypeError: the model is neither an id nor a ``Model``.
            ValueError: an unknown name, a knob that the policy does not have, or a window without room for messages.
        """
        if not isinstance(model, str | Model):
            msg = f"model must be an id or a Model, got {type(model).__name__}"
            raise TypeError(msg)
        if thinking not in {"strip", "mark"}:
            msg = f"thinking must be 'strip' or 'mark', got {thinking!r}"
            raise ValueError(msg)
        rules = _policy(policy, knobs)
        found = Model.named(model, betas=betas) if isinstance(model, str) else model
        if isinstance(model, Model) and model.known:
            found = replace(model, source="argument")
        counter = rules.counter.counter() if rules.counter else Counter.for_model(found)
        stands_in = rules.trigger.fixed_window or not found.known
        if window is None and stands_in and rules.trigger.window is not None:
            found = replace(found.limited(rules.trigger.window), source="policy")
        limited = found.limited(window, max_output)
        reserve = max_output or rules.trigger.kept_free(limited.max_output)
        settings = cls(
            model=limited,
            model_id=model if isinstance(model, str) else model.name,
            policy=rules,
            counter=counter,
            provider=_shape(provider),
            limits=Terms(limited.window, reserve, input_limit=limited.input_limit, source=limited.source),
            strips=limited.binds_thinking and thinking == "strip",
            marks=limited.binds_thinking and thinking == "mark",
            # The container is that which the caller's call names.
            rules=rules_of({"model": found, "in_flight": True, "container": True, "betas": tuple(betas) or None}),
            **others,
        )
        settings.budget(*fixed_tokens(counter))  # reports a window without room before the first message
        return settings

    def target(self, system: int, tools: int) -> int:
        """Return the policy's target with these tokens of system text and tools: tokens of messages, at least 1."""
        target, room = self.policy.target, self.limits.input_budget - system - tools
        return max(int(target) if target > 1 else int(room * target), 1)

    def budget(self, system: int, tools: int) -> Budget:
        """Return the limits of a call with these tokens of system text and tools."""
        limits = replace(self.limits, system=system, tools=tools)
        return Budget.of(limits, self.policy.trigger, self.policy.target)

    @cached_property
    def rule_options(self) -> dict[str, dict[str, Any]]:
        """The rules by name, as the core takes them, for each shape."""
        return {shape: self.rules.of(shape) for shape in SHAPES}

    def most_bytes(self, provider: str, beside: int) -> int | None:
        """Return the most bytes of the messages, with ``beside`` bytes of system text and tools; None without limit."""
        most = self.rules.most_bytes(provider)
        return None if most is None else max(most - beside, 0)

    def within(self, request: int) -> Settings:
        """Return the settings with another limit of a request's bytes."""
        return replace(self, rules=replace(self.rules, request=request))

    def of_session(self, session: str, *, exclusive: bool) -> Settings:
        """Return the settings of another session, with a counter of its own: it knows the list that it saw last."""
        other = replace(self, session=session, exclusive=exclusive, counter=self.new_counter())
        other.__dict__.update({name: getattr(self, name) for name in _OF_ALL})  # what all sessions compute alike
        return other

    def new_counter(self) -> Counter:
        """Return another counter as ``counter``, which knows no list yet."""
        estimate = self.policy.counter
        return estimate.counter() if estimate else Counter.for_model(self.model)

    @cached_property
    def model_counter(self) -> Counter:
        """The model's own counter, where the policy estimates too."""
        return self.counter if self.policy.counter is None else Counter.for_model(self.model)

    @cached_property
    def marks_cache(self) -> bool:
        """Whether a server of Chat Completions reads ``cache_control`` for this model; OpenAI's own refuses it."""
        return not self.model.prompt.name.startswith("OpenAI")

    def under(self, policy: Policy, counter: Counter | None = None) -> Settings:
        """Return the settings with another policy and counter.

        Without a counter, a policy without an estimate counts with the model's tokenizer.
        """
        counter = counter or (self.counter if policy.counter else self.model_counter)
        if policy is self.policy and counter is self.counter:
            return self
        return replace(self, policy=policy, counter=counter)

    def keeping(self, keep_tag: str) -> Settings:
        """Return the settings with another tag: a plan keeps the spans of the tag that it was made with."""
        if keep_tag == self.policy.keep_tag:
            return self
        return replace(self, policy=replace(self.policy, keep_tag=keep_tag))

    def lowered(self, window: int, fixed: int) -> Settings:
        """Return the settings with a refusal's window; at most half of what system and tools leave is for output."""
        return self.limited(window, min(self.limits.output, max(window - fixed, 0) // 2), "refusal")

    def leaves_room(self, window: int, fixed: tuple[int, int]) -> bool:
        """Return whether a refusal's window holds more than system text and tools, by the model's counter."""
        lowered = self.lowered(window, sum(fixed))
        try:
            lowered.budget(*fixed)
        except ValueError:
            return False
        return lowered.limits.input_budget > sum(fixed)  # a trigger of the policy's own may have no such term

    def limited(self, window: int, output: int, source: WindowSource) -> Settings:
        """Return the settings with another window and another number of tokens for the answer."""
        model = replace(self.model.limited(window), source=source)
        limits = replace(self.limits, window=window, output=output, input_limit=model.input_limit, source=source)
        return replace(self, model=model, limits=limits)

    def learned(self, window: int, source: WindowSource) -> Settings:
        """Return the settings with a window whose source stands above that of theirs; else these settings.

        A refusal also lowers a window that stands above it. A profile may state the input limit where the provider
        counts input apart: then it agrees with the table.
        """
        known, fixed = self.model, self.policy.trigger.fixed_window
        if source == "profile" and (fixed or window == known.input_limit):
            return self
        below = ORDER.index(known.source) < ORDER.index(source)
        lowers = source == "refusal" and window < known.window
        if (below and not lowers) or (window, source) == (known.window, known.source):
            return self
        return self.limited(window, min(self.limits.output, window // 2), source)

    def frame(self, target: int, provider: str) -> int:
        """Return the most tokens around a summary: envelope, note, the overhead of its messages, and what answers it.

        Args:
            target: of the plan; the envelope of a small one is brief.
            provider: the messages' shape; only some need an acknowledgement.
        """
        place, brief = self.policy.place, target < BRIEF_BELOW
        if (brief, provider) not in self._frames:
            around = place.prefix
            if not self.policy.parity:
                around = wrap(around, ref=_SAMPLE, count=10**3, brief=brief)
            beside = [text for text in place.beside(provider) if text]
            placed = [{"role": "user", "content": text} for text in (around, *beside)]
            self._frames[brief, provider] = int(scan(placed, self.counter, "openai_chat").per_message.sum()) + SPARE
        return self._frames[brief, provider]

    @cached_property
    def _frames(self) -> dict[tuple[bool, str], int]:
        """Results of ``frame``, by the kind of envelope and the provider."""
        return {}

    @cached_property
    def placeholder(self) -> int:
        """Tokens of a pruned result."""
        text = self.policy.prune.placeholder if self.policy.prune else ""
        if not text:
            return PLACEHOLDER
        pruned = [{"role": "tool", "tool_call_id": "", "content": text}]
        return int(scan(pruned, self.counter, "openai_chat").tokens[0])


_OF_ALL = ("rule_options", "placeholder", "_frames")
"""Properties that depend on no session, and on the counter's kind alone."""

_SAMPLE = "e7b0d93f5a16c82f4b9d"
"""A ref with about as many tokens as any."""
SPARE = 4
"""Tokens that another ref and digest may have more."""


def target_of(tokens: int | None, share: float | None) -> Target | None:
    """Return the caller's target, or None without one.

    Raises:
        TypeError: ``tokens`` is no int, or ``share`` is no float.
        ValueError: both are given, ``tokens`` is less than 1, or ``share`` is not between 0 and 1.
    """
    if tokens is not None and share is not None:
        raise ValueError("give target_tokens or target_share, not both")
    if tokens is not None:
        if isinstance(tokens, bool) or not isinstance(tokens, int):
            msg = f"target_tokens must be an int, got {type(tokens).__name__}"
            raise TypeError(msg)
        if tokens < 1:
            msg = f"target_tokens must be 1 or more, got {tokens}"
            raise ValueError(msg)
        return lambda _: tokens
    if share is None:
        return None
    if not isinstance(share, float):
        msg = f"target_share must be a float, got {type(share).__name__}"
        raise TypeError(msg)
    if not 0 < share < 1:
        msg = f"target_share must be more than 0 and less than 1, got {share}"
        raise ValueError(msg)
    return lambda ledger: max(int(ledger.total * share), 1)


def check_span(span: tuple[int, int], messages: int, *targets: float | None) -> None:
    """Check the caller's span of messages.

    Raises:
        TypeError: an end is no int.
        ValueError: a target is given too, or the span is empty or outside of the messages.
    """
    if any(target is not None for target in targets):
        raise ValueError("give a span or a target, not both")
    start, stop = span
    if any(isinstance(end, bool) or not isinstance(end, int) for end in span):
        msg = f"a span has two ints, got {type(start).__name__} and {type(stop).__name__}"
        raise TypeError(msg)
    if not 0 <= start < stop <= messages:
        msg = f"a span of {messages} messages has ends from 0 to {messages}, got {start} and {stop}"
        raise ValueError(msg)


def _shape(provider: str | None) -> Provider | None:
    if provider is not None and provider not in SHAPES:
        msg = f"unknown provider {provider!r}, known are {', '.join(SHAPES)}"
        raise ValueError(msg)
    return cast("Provider | None", provider)


ON_SERVER: dict[str, Server] = {"server": "call", "auto": "auto"}
"""Names of the default policy, carried out by the provider's server where it can, or where that costs least."""


def _policy(policy: str | Policy, knobs: Mapping[str, Any]) -> Policy:
    if not isinstance(policy, Policy) and policy not in POLICIES and policy not in ON_SERVER:
        msg = f"unknown policy {policy!r}, known are {', '.join((*POLICIES, *ON_SERVER))}"
        raise ValueError(msg)
    if not isinstance(policy, Policy) and policy in ON_SERVER:
        policy = replace(POLICIES["default"], server=ON_SERVER[policy])
    found = policy if isinstance(policy, Policy) else POLICIES[policy]
    if not knobs:
        return found
    from ..config import configure  # noqa: PLC0415 - most Compactors change no field of their policy

    if isinstance(server := knobs.get("server"), bool):
        knobs = {**knobs, "server": "call" if server else ""}
    return configure("policy", knobs, found)
