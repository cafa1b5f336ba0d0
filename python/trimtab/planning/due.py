"""Whether a compaction is due at a moment of an agent's loop, and for what: a function of numbers alone.

``docs/policies.md`` has the table of all cases.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from .budget import Terms
    from .policy import Policy

Goal = Literal["within_policy", "within_budget", "within_bytes", "prune", "prune_if_cheaper", "wait"]
"""What a compaction is for: the policy's target; the input budget; the provider's limit of bytes; fewer old results;
fewer old results where sending them again costs more than removing them. ``wait``: the target, when the summarizer is
asked again."""


class Pressure(NamedTuple):
    """Where a prompt stands.

    Attributes:
        is_past_trigger: whether it is past the policy's trigger.
        is_past_budget: whether it is past the input budget, or the policy's danger line.
        is_past_bytes: whether the request has more bytes than the provider takes.
    """

    is_past_trigger: bool
    is_past_budget: bool
    is_past_bytes: bool

    @property
    def is_danger(self) -> bool:
        """Whether the prompt must not go out as it is."""
        return self.is_past_budget or self.is_past_bytes


CALM = Pressure(is_past_trigger=False, is_past_budget=False, is_past_bytes=False)
"""Of a prompt with room for more."""


def pressure(policy: Policy, terms: Terms, prompt: int, sent: int = 0, limit: int | None = None) -> Pressure:
    """Return where a prompt stands.

    A billed prompt below its count lowers the trigger's numerator, but is no reason to pass the danger line.

    Args:
        policy: its trigger, and whether it has its own estimate, whose danger line is the trigger's own.
        terms: the terms of the trigger.
        prompt: tokens of the prompt, the larger of forecast and count.
        sent: bytes of the request.
        limit: most bytes that the provider takes; None if no limit is known.
    """
    trigger = policy.trigger
    used, capacity = trigger.used(terms), trigger.capacity(terms)
    is_past_budget = prompt > terms.input_budget or used > capacity
    if not is_past_budget and policy.counter is None:
        whole = used if terms.beyond >= 0 else trigger.used(replace(terms, beyond=0))
        is_past_budget = trigger.is_past(whole, capacity, trigger.critical)
    is_past_trigger = trigger.is_past(used, capacity, trigger.threshold)
    return Pressure(is_past_trigger, is_past_budget, limit is not None and sent > limit)


def due(
    policy: Policy,
    pressed: Pressure,
    moment: str,
    messages: int,
    *,
    rests: bool = False,
    is_writing: bool = False,
    passes: str = "",
) -> tuple[Goal | None, str]:
    """Return what is due at a moment, or None; and why the policy's own compaction is not, empty if it is.

    Args:
        policy: the policy.
        pressed: where the prompt stands.
        moment: the moment of the agent's loop, as ``fit`` takes it.
        messages: tokens of the messages.
        rests: whether the summarizer is not asked in this round, and the policy has no other step.
        is_writing: whether a summary is being written in the background, or waits for the trigger.
        passes: why a prompt passes its trigger until that summary is there; empty if it need not.
    """
    trigger, prune = policy.trigger, policy.prune
    if not trigger.auto:
        return None, f"automatic compaction is off: policy {policy.name} has auto=False"
    refused = moment == "on_overflow"
    if (refused or pressed.is_danger) and not policy.parity:
        return "within_bytes" if pressed.is_past_bytes and not pressed.is_past_budget else "within_budget", ""
    if passes:
        return None, passes
    if moment in trigger.when and (refused or pressed.is_past_trigger):
        return "wait" if rests else "within_policy", ""
    elsewhere = f"policy {policy.name} compacts {', '.join(trigger.when)}, not {moment}"
    if prune is None or moment not in prune.when or is_writing:
        return None, elsewhere
    if not prune.pays:
        return "prune", elsewhere
    return None if messages < prune.protect_tokens + prune.min_gain else "prune_if_cheaper", elsewhere
