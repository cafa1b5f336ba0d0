"""The result of a compaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal

from .._repr import as_html, short
from ..audit.lists import Lists
from ..messages.types import MessageT
from ..planning.edits import Summarize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..audit.kept import Kept
    from ..planning.plan import Plan
    from ..summarize import Offer, Usage
    from .view import View

REFUSED = "refused: "
"""Start of the reason of a compaction that a hook refused."""


@dataclass(frozen=True)
class Compaction(Generic[MessageT]):
    """The result of a compaction.

    Attributes:
        messages: the new list; untouched messages are the same objects. The caller's own list if nothing was done.
        plan: the applied edits.
        ref: restores the originals (``Compactor.restore``); None if nothing was done.
        usage: what the summarizer billed, rejected answers included; empty if it bills nothing.
        tokens_before: tokens of the messages before.
        tokens_after: tokens of the messages after.
        reason: what was done and why, or why nothing was done.
        summarizer: the author of the summary, or None.
        summary: its text, or None.
        strategy: the policy's name for it, or the step that replaced a failed summarizer.
        offer: the form of the summary request and its maximum cost; None if no summarizer was asked.
        failed: why the summarizer returned no summary; empty if it returned one or was not needed.
        marks: marks of the notices and acknowledgements in ``messages``, by which the session knows them again.
        view: ``messages`` told by the list that was given: they stand in for it at the beginning of later lists.
        dropped: sentences of the model's summary that were taken out, each with what stands nowhere in the messages.
        added: rules and other facts of the messages that the model's summary lacked, and that were added.
        lists: the messages before and after, of which ``kept`` is computed; empty if nothing was done.
    """

    __repr__ = short
    _repr_html_ = as_html

    messages: Sequence[MessageT]
    plan: Plan
    ref: str | None
    tokens_before: int
    tokens_after: int
    reason: str
    summarizer: str | None = None
    usage: Usage = field(default_factory=dict)
    summary: str | None = None
    strategy: str = ""
    offer: Offer | None = None
    failed: str = ""
    marks: tuple[str, ...] = ()
    view: View | None = None
    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    lists: Lists = field(default_factory=Lists, repr=False, compare=False)

    @property
    def kept(self) -> Kept:
        """What is kept of the user's rules and requests, open tasks and files written; computed when it is first read.

        Its ``lost`` are the items that are gone. Empty if nothing was done.
        """
        return self.lists.kept

    @property
    def saved(self) -> int:
        """Tokens saved."""
        return self.tokens_before - self.tokens_after

    @property
    def reduction(self) -> float:
        """Percent of the tokens saved, as AgentPG reports it."""
        return self.saved / self.tokens_before * 100 if self.tokens_before else 0.0

    @property
    def outcome(self) -> Literal["compacted", "refused", "unchanged"]:
        """Whether the list was compacted, a hook refused, or nothing could leave."""
        if self.ref is not None:
            return "compacted"
        return "refused" if self.reason.startswith(REFUSED) else "unchanged"

    @property
    def path(self) -> str:
        """The kind of compaction: ``noop``, ``prune-only``, ``summarised`` or ``dropped``."""
        zone = self.plan.zone()
        if not self.plan.edits:
            return "noop"
        return "prune-only" if zone is None else "summarised" if isinstance(zone, Summarize) else "dropped"
