"""The stages that every policy shares where a prompt exceeds its input budget: all but the floor may leave."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .budget import Trigger
from .edits import dropped
from .stages import Keep, Pins, PruneResults, Tokens, Turns
from .stages.sizes import PLACEHOLDER
from .stages.summarize import SMALLEST, squeeze, zone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .edits import Edit
    from .policy import Policy, Step
    from .stages.costs import Costs

LAST_STEPS: tuple[Step, ...] = ("offline", "drop")
"""The fallback above the input budget: an error or a stop would send a list that the provider refuses."""

EMERGENCY = "emergency"
"""Strategy of a compaction by these stages, for events."""

SHARE = 0.40
"""Target as a share of the messages' part of the input budget; a policy's own may be a number of tokens."""


def lasting(policy: Policy) -> Policy:
    """Return the policy with a fallback that always ends in a smaller list."""
    steps = tuple(step for step in policy.fallback if step not in {"error", "stop"})
    return replace(policy, fallback=(*steps, *LAST_STEPS))


def protective(policy: Policy) -> Policy:
    """Return the policy without its own rules of what stays: it prunes and summarizes until the target is reached."""
    pins, _ = policy.keep.flags()
    own = policy.prune or PruneResults()
    return replace(
        policy,
        trigger=Trigger(),
        target=SHARE,
        counter=None,
        keep=Keep((Tokens(target_share=0.20), Turns(count=1), Pins(flag=pins)), fill_target=True),
        prune=PruneResults(
            min_tokens=PLACEHOLDER,
            placeholder=own.placeholder,
            argument_chars=own.argument_chars,
            skip=own.skip,
            order=("images", "superseded", "arguments"),
        ),
        emergency=None,
        fallback=LAST_STEPS,
        strategy=EMERGENCY,
    )


def target_within(policy: Policy, room: int) -> int:
    """Return the policy's target where the messages have ``room`` tokens."""
    return max(min(int(policy.target), int(room * SHARE)) if policy.target > 1 else int(room * policy.target), 1)


def to_floor(costs: Costs, policy: Policy, room: int) -> Iterator[Edit]:
    """Yield the edits that leave the floor: system text, pins, the last request and open calls.

    A summary or a notice replaces the rest. Results on the floor are truncated if ``room`` tokens do not hold them.
    """
    stays = costs.mask(costs.floor)
    stays[: costs.head] = True
    free = room - int(costs.per_message[stays].sum())
    stage = policy.summarize
    if gone := zone(costs, ~stays, 0):
        free -= costs.frame
        limit = min(free // 2, stage.max_tokens) if stage else 0  # the other half is for the next messages
        if stage and limit >= stage.min_tokens:
            free -= limit
            yield replace(gone, max_tokens=limit)
        else:
            yield dropped(gone, policy.place.notice, "...")
    rows = costs.results(0, costs.messages, at_least=SMALLEST, without=costs.pins)
    yield from squeeze(costs, rows[stays[costs.owner[rows]]], -free)
