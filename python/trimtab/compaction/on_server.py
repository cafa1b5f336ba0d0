"""A compaction that the provider's server carries out: the hook and the archive before it, the new list behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..archive import Record
from ..archive.redact import redact_record
from ..counting.counter import scan
from ..events import Refused
from ..planning.edits import Cut, Prune, StripThinking, Truncate
from ..validity.validate import check
from .apply import apply
from .effects import Commit, Store
from .flow import noted, own_ref, review, stored_view, with_verdict
from .result import REFUSED
from .view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..archive import Stored
    from ..messages.types import Message
    from ..planning.plan import Plan
    from .effects import Flow
    from .request import CompactionRequest

STRATEGY = "server"
"""The strategy of these compactions in the archive."""


@dataclass(frozen=True, slots=True)
class Archived:
    """A compaction whose originals are stored, before the server is asked.

    Attributes:
        request: the compaction, with what the hook said.
        plan: its plan.
        stored: the stored originals.
        since: the time at which they were stored.
        ref: of the compaction.
    """

    request: CompactionRequest
    plan: Plan
    stored: Stored
    since: float
    ref: str

    def commit(self, after: int, view: View | None, kept: str | None, summary: str | None = None) -> Commit:
        """Return the effect that records the compaction.

        Args:
            after: tokens of the messages after it, as far as they are known.
            view: how the new list stands in for the old one; None where the server has the new one.
            kept: the session's view until now as JSON, where ``view`` is None.
            summary: the compaction's text, where it can be read.
        """
        request, settings = self.request, self.request.settings
        record = Record(
            ref=self.ref,
            strategy=STRATEGY,
            tokens_before=request.ledger.total,
            tokens_after=after,
            plan=self.plan.to_json(),
            summary=summary,
            summarizer=STRATEGY if summary else None,
            view=stored_view(request, view) if view else kept,
            exclusive=settings.exclusive,
        )
        record = record if settings.redact is None else redact_record(record, settings.redact)
        return Commit(self.stored, record, self.since, view)

    def edited(self, cut: int) -> tuple[Message, ...]:
        """Return the messages with what the plan does behind ``cut``: a compaction stands for those in front of it."""
        request, ledger = self.request, self.request.ledger
        begins = int(ledger.first[cut])
        edits = []
        for edit in self.plan.edits:
            if isinstance(edit, Prune | Truncate | Cut | StripThinking):
                rows = tuple(row for row in edit.rows if row >= begins)
                edits += [replace(edit, rows=rows)] if rows else []
        if not any(not isinstance(edit, StripThinking) for edit in edits):
            return request.messages
        plan = replace(self.plan, edits=tuple(edits))
        made, _ = apply(plan, request.messages, ledger, request.settings.counter, None, ref=self.ref)
        return tuple(made)

    def placed(self, made: Sequence[Message]) -> tuple[View, int]:
        """Return how a new list stands in for the given one, and its tokens.

        Raises:
            MessageError: the provider would refuse the new list.
        """
        request = self.request
        ledger = scan(made, request.settings.counter, request.ledger.provider)
        check(ledger, request.settings.rules)
        given = (self.ref, request.originals, request.origin, made, ledger)
        return View.of(*given, strips=request.settings.strips), ledger.total


def archived(request: CompactionRequest, plan: Plan) -> Flow[Archived | str]:
    """Ask the hook, and store the originals; return why not, if the hook refuses.

    Raises:
        MessageError: JSON cannot hold a message.
        ArchiveError: the originals cannot be stored.
    """
    request = request.archivable()
    for shown in (None, plan):
        verdict = yield from review(request, shown)
        if verdict.refuse is not None:
            yield Refused(request.trigger, verdict.refuse)
            yield noted(request.settings.session, "refused", "a hook refused")
            return f"{REFUSED}{verdict.refuse}"
        request = with_verdict(request, verdict)
    stored, since = yield Store(request.stored, request.settings.session)
    return Archived(request, plan, stored, since, (yield from own_ref(request, stored, plan, None)))
