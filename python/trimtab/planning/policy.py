"""A policy: the stages of a compaction, as values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal, get_args

from .._pickle import check_fields
from .._repr import short
from .budget import Trigger
from .stages.keep import Turns
from .stages.template import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..counting.estimate import Estimate
    from .stages import Emergency, Ingest, Keep, PruneResults, Stage, SummarizeZone

KEEP_TAG = re.compile(r"(?!trimtab-)[A-Za-z][A-Za-z0-9_-]{0,39}|", re.IGNORECASE)
"""Names of the tag that keeps a span; those of trimtab's own tags are none."""

USUAL_TAG = "keep"
"""The name, where nobody chooses one."""

Step = Literal["offline", "drop", "truncate", "emergency", "stop", "error"]

Server = Literal["", "call", "pass", "auto"]
"""How the provider's server is asked to compact."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The stages of a compaction, each a value.

    Attributes:
        name: the name on the command line.
        keep: the messages that stay verbatim.
        prune: the tool results that lose their content first; None prunes nothing.
        summarize: size and request of the summary of the messages that leave; None drops them with a notice, or keeps
            them if there is no fallback either.
        fallback: steps after a failed summary, in order. ``drop`` and ``truncate`` leave a notice, ``emergency``
            applies the emergency stage, ``stop`` changes nothing, ``error`` raises.
        trigger: the rule that decides when compaction is due.
        target: tokens of messages to reach; up to 1, a share of the window less system, tools and answer.
        counter: the length-based estimate to count with; None uses the model's tokenizer.
        place: position and shape of a summary.
        keep_tag: name of the tag that keeps a span of a user's or the system's text word by word, whatever happens to
            its message; empty for none.
        ingest: the cut of a tool's result before it enters the transcript; None takes it whole.
        emergency: the stage that applies at the danger line; None has none.
        stages: further stages, each for what those in front of it leave; ``prune`` and ``summarize`` come last.
        server: whether the provider's server compacts, where it can: ``call`` asks it in the model's own call, ``pass``
            in a request of its own, ``auto`` for what costs least, and empty never.
        strategy: the strategy's name in its document.
        order: the events of a finished compaction, in the order of the document.
        failure: format of the message of a failed summary, with ``{author}`` and ``{cause}``.
        on_nothing: the result if nothing can be compacted: no operation or an error.
        parity: for conformance tests only: a compaction may grow, the last request may leave, a summary has no
            envelope, earlier summaries are not merged, and the result is not validated.
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
    keep_tag: str = USUAL_TAG
    ingest: Ingest | None = None
    emergency: Emergency | None = None
    stages: tuple[Stage, ...] = ()
    server: Server = ""
    strategy: str = ""
    order: tuple[str, ...] = ()
    failure: str = "{author} failed: {cause}"
    on_nothing: Literal["noop", "error"] = "noop"
    parity: bool = False

    def __post_init__(self) -> None:
        """Reject contradictory values."""
        if not KEEP_TAG.fullmatch(self.keep_tag):
            msg = f"keep_tag must be a name of ASCII letters, digits, - and _, or empty, got {self.keep_tag!r}"
            raise ValueError(msg)
        if self.target <= 0 or (self.keep.fill_target and self.trigger.share < self.target <= 1):
            msg = f"need 0 < target <= trigger share, got {self.target} and {self.trigger.share}"
            raise ValueError(msg)
        if unknown := set(self.fallback) - set(get_args(Step)):
            msg = f"policy {self.name!r} falls back to {min(unknown)!r}; steps are {', '.join(get_args(Step))}"
            raise ValueError(msg)
        if "emergency" in self.fallback and self.emergency is None:
            msg = f"policy {self.name!r} falls back to an emergency, but has no emergency stage"
            raise ValueError(msg)
        try:
            self.failure.format(author="", cause="")
        except (AttributeError, LookupError, ValueError) as error:
            msg = f"failure must be a format with {{author}} and {{cause}} alone, got {self.failure!r}"
            raise ValueError(msg) from error
        if self.server not in get_args(Server):
            msg = f"server must be one of call, pass, auto or empty, got {self.server!r}"
            raise ValueError(msg)
        if self.server and (self.parity or self.trigger.background):
            msg = f"policy {self.name!r} has server={self.server!r}: not with background, and not in conformance tests"
            raise ValueError(msg)
        if self.parity and self.trigger.background:
            msg = f"policy {self.name!r} is for conformance tests and cannot summarize in the background"
            raise ValueError(msg)

    def __getstate__(self) -> list[object]:
        """Return the fields, in order.

        Raises:
            TypeError: a stage cannot go to another process, such as a lambda; names its field.
        """
        state = [(each.name, getattr(self, each.name)) for each in fields(self)]
        check_fields("Policy", state)
        return [value for _, value in state]

    @property
    def has_target(self) -> bool:
        """Whether a compaction aims at ``target``; else the policy's zones alone say what leaves."""
        return self.keep.fill_target or (self.summarize is not None and self.summarize.if_needed)

    @property
    def prunes_alone(self) -> bool:
        """Whether no message leaves: results are pruned, and nothing else is done."""
        return self.summarize is None and not self.fallback

    def explain(self) -> Iterator[str]:
        """Yield what never leaves and what is cut, a line each."""
        turns = sum(keeper.count for keeper in self.keep.keepers if isinstance(keeper, Turns))
        if turns:
            yield f"{'newest turns':14} {turns:>11,}  whose requests never leave"
        if self.ingest and self.ingest.tokens:
            where = "ingest and fit cut" if self.ingest.in_fit else "ingest cuts"
            yield f"{'result cap':14} {self.ingest.tokens:>11,}  {where} a larger result when it comes in"
        if self.prune and self.prune.skip:
            yield f"{'never pruned':14} {len(self.prune.skip):>11,}  results of {', '.join(self.prune.skip)}"

    def pruning(self) -> Policy:
        """Return the policy reduced to its pruning."""
        return replace(self, summarize=None, emergency=None, stages=(), fallback=(), order=())

    def paying(self) -> Policy:
        """Return the policy reduced to pruning where it pays, whatever the target."""
        return replace(self.pruning(), keep=replace(self.keep, fill_target=False))
