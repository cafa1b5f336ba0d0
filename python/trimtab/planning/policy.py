"""A policy: how to decide, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from .._repr import short
from .budget import Trigger
from .stages.template import Place

if TYPE_CHECKING:
    from ..counting.estimate import Estimate
    from .stages import Emergency, Ingest, Keep, PruneResults, SummarizeZone

Step = Literal["offline", "drop", "truncate", "emergency", "stop", "error"]


@dataclass(frozen=True, slots=True)
class Policy:
    """The stages of a compaction, each a value.

    Attributes:
        name: what the command line calls it.
        keep: what stays as it is, whatever happens.
        prune: which tool results lose their content first; None prunes nothing.
        summarize: how large a summary of what leaves may be, and how it is asked for; None drops with a notice.
        fallback: what takes a failed summarizer's place, in order. ``drop`` and ``truncate`` leave a notice,
            ``emergency`` does what the emergency does, ``stop`` changes nothing, ``error`` raises.
        trigger: when compaction pays.
        target: tokens of messages that it aims at, as a share of what system, tools and answer leave of the window, or
            as a number.
        counter: what it counts with; None counts as the model does.
        place: where a summary stands.
        ingest: how a tool's result is cut before it enters the transcript; None takes it whole.
        emergency: what is done where the next call is in danger; None knows no such thing.
        strategy: what the documents call it.
        order: the steps that are told of a compaction once it is done, in the order of the document.
        failure: how a failed summary is told; ``{author}`` and ``{cause}`` are filled in.
        on_nothing: whether there being nothing to compact is an error.
        parity: for conformance tests alone: a compaction may grow, no request is kept by force, a summary stands
            without its envelope and earlier ones are not taken up, and the result is not validated.
    """

    __repr__ = short

    name: str
    keep: Keep
    prune: PruneResults | None
    summarize: SummarizeZone | None
    fallback: tuple[Step, ...]
    trigger: Trigger = field(default_factory=Trigger)
    target: float = 0.40
    counter: Estimate | None = None
    place: Place = field(default_factory=Place)
    ingest: Ingest | None = None
    emergency: Emergency | None = None
    strategy: str = ""
    order: tuple[str, ...] = ()
    failure: str = "{author} failed: {cause}"
    on_nothing: Literal["noop", "error"] = "noop"
    parity: bool = False

    def __post_init__(self) -> None:
        """Refuses shares that make no sense together."""
        if self.target <= 0 or (self.keep.fill and self.trigger.share < self.target <= 1):
            msg = f"need 0 < target <= trigger, got {self.target} and {self.trigger.share}"
            raise ValueError(msg)
        if unknown := set(self.fallback) - set(get_args(Step)):
            msg = f"policy {self.name!r} falls back to {min(unknown)!r}; steps are {', '.join(get_args(Step))}"
            raise ValueError(msg)
        if "emergency" in self.fallback and self.emergency is None:
            msg = f"policy {self.name!r} falls back to an emergency that it does not have"
            raise ValueError(msg)
