"""How one Compactor measures: messages as a ledger, a call as terms, a target as tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self, cast, get_args

from .. import _core
from ..counting.counter import Counter, read_plain, scan
from ..counting.overhead import overhead
from ..messages.envelope import wrap
from ..messages.objects import lately
from ..models.model import Model, known
from ..models.provider import Provider
from ..planning.budget import Budget, Terms
from ..planning.policy import Policy
from ..planning.stages.sizes import PLACEHOLDER
from ..policies import POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..ledger.columns import Ledger
    from ..messages.objects import Given
    from ..messages.types import Message

    Target = Callable[[Ledger], int]
    """Tokens of messages to come down to, by what they take now."""

SHAPES = get_args(Provider)
"""The message shapes that can be compacted."""


@dataclass(frozen=True)
class Measure:
    """What does not change from call to call, and what follows from it.

    Attributes:
        model: with the limits that rule.
        policy: how to decide.
        counter: the policy's own, or the model's.
        provider: the messages' shape; found from the messages where it is None.
        reserve: tokens kept free for the answer.
    """

    model: Model
    policy: Policy
    counter: Counter
    provider: Provider | None
    reserve: int

    @classmethod
    def of(
        cls,
        model: str | Model,
        policy: str | Policy,
        provider: str | None,
        *,
        window: int | None,
        max_output: int | None,
        betas: Iterable[str],
    ) -> Self:
        """What follows from a Compactor's arguments.

        Raises:
            TypeError: the model is neither an id nor a ``Model``.
            ValueError: a name that there is not.
        """
        if not isinstance(model, str | Model):
            msg = f"model must be an id or a Model, got {type(model).__name__}"
            raise TypeError(msg)
        rules = _policy(policy)
        found = Model.named(model, betas=betas) if isinstance(model, str) else model
        counter = rules.counter.counter() if rules.counter else Counter.for_model(found)
        # The caller's window rules, then the policy's for a model that is in no table, then the table's.
        stands_in = rules.trigger.rules or found.name not in known()
        if window is None and stands_in and rules.trigger.window is not None:
            is_wide = not rules.trigger.rules and found.window > rules.trigger.window  # by a beta flag
            window = found.window if is_wide else rules.trigger.window
        limited = found.limited(window, max_output)
        reserve = max_output or rules.trigger.kept_free(limited.max_output)
        return cls(limited, rules, counter, _shape(provider), reserve)

    def scan(self, messages: Sequence[Message]) -> Ledger:
        """The messages as numbers.

        Raises:
            MessageError: a message cannot be read.
        """
        messages = lately(messages)
        return scan(messages, self.counter, self.shape(messages))

    def read(self, messages: Sequence[Message]) -> tuple[Given, Ledger]:
        """The messages as plain dicts, and as numbers.

        Raises:
            MessageError: a message cannot be read.
        """
        return read_plain(messages, self.counter, self.shape)

    def shape(self, messages: Sequence[Message]) -> Provider:
        """The shape that the messages have."""
        return cast("Provider", self.provider or _core.detect(messages) or self.model.provider)

    def terms(self, messages: int, system: object, tools: object) -> Terms:
        """What is known of a call with so many tokens of messages before it is made."""
        return Terms(
            window=self.model.window,
            output=self.reserve,
            messages=messages,
            system=overhead(self.counter, system=system),
            tools=self._tools(tools),
        )

    def _tools(self, tools: object) -> int:
        """Tokens of tool definitions, by the policy's own estimate where it has one."""
        estimate = self.policy.counter
        if estimate is None or not isinstance(tools, list | tuple):
            return overhead(self.counter, tools=tools) - overhead(self.counter)
        return estimate.overhead(tools)

    def budget(self, system: object, tools: object) -> Budget:
        """The limits of a call with this system text and these tools."""
        return Budget.of(self.terms(0, system, tools), self.policy.trigger, self.policy.target)

    def aim(self, target: Target | None, system: object, tools: object) -> Target:
        """How many tokens a transcript is brought to: the caller's target, or the policy's."""
        if target is not None:
            return target
        room = self.budget(system, tools).target
        return lambda _: room

    @cached_property
    def frame(self) -> int:
        """Most tokens of what stands around a summary: envelope, note, acknowledgement, and their two messages."""
        place = self.policy.place
        around = place.prefix if self.policy.parity else wrap(place.prefix, ref="0" * 20, count=10**7)
        beside = max(place.ack, place.question, key=len)
        placed = [{"role": "user", "content": around}, {"role": "assistant", "content": beside}]
        return int(self.counter.per_message(placed, provider="openai_chat").sum()) + 8

    @cached_property
    def placeholder(self) -> int:
        """Tokens of a pruned result."""
        text = self.policy.prune.placeholder if self.policy.prune else ""
        if not text:
            return PLACEHOLDER
        pruned = [{"role": "tool", "tool_call_id": "", "content": text}]
        return int(scan(pruned, self.counter, "openai_chat").tokens[0])


def target_of(tokens: int | None, share: float | None) -> Target | None:
    """The caller's target; None where the policy's applies.

    Raises:
        TypeError: tokens are no int, or the share is no float.
        ValueError: both are given, tokens are less than 1, or the share is not between 0 and 1.
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


def _shape(provider: str | None) -> Provider | None:
    if provider is not None and provider not in SHAPES:
        msg = f"unknown provider {provider!r}, known are {', '.join(SHAPES)}"
        raise ValueError(msg)
    return cast("Provider | None", provider)


def _policy(policy: str | Policy) -> Policy:
    if isinstance(policy, Policy):
        return policy
    if policy not in POLICIES:
        msg = f"unknown policy {policy!r}, known are {', '.join(POLICIES)}"
        raise ValueError(msg)
    return POLICIES[policy]
