"""Builds the compacted list, counts it and validates it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _core
from ..archive.recall import NAME as RECALL
from ..counting.counter import scan
from ..counting.tools import tool_names
from ..errors import InternalError, MessageError
from ..ledger.marks import marks
from ..messages.envelope import BRIEF_BELOW, wrap
from ..planning.edits import Summarize
from ..validity.validate import check
from .apply import apply, noticed
from .view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..messages.types import Message
    from ..planning.plan import Plan
    from .request import CompactionRequest


def _arrived(request: CompactionRequest) -> Sequence[Message]:
    """Return the messages that the caller appended during the compaction."""
    known = len(request.originals)
    grew = len(request.given) > known and all(a is b for a, b in zip(request.given, request.inputs.given, strict=False))
    return request.given[known:] if grew else ()


def rebuilt(
    request: CompactionRequest, plan: Plan, summary: str | None, ref: str
) -> tuple[list[Message], int, tuple[str, ...], View | None]:
    """Return the new list, its tokens, the marks of its notices and acknowledgements, and how it stands in for the old.

    Raises:
        InternalError: the provider would refuse the list.
    """
    placed, policy = None, request.policy
    if zone := plan.zone():
        count = zone.stop - zone.start - len(zone.keep)
        text = policy.place.prefix + (summary or "")
        written = text if policy.parity else wrap(text, ref=ref, count=count, brief=plan.target < BRIEF_BELOW)
        if isinstance(zone, Summarize):
            placed = written
        elif zone.notice:
            placed = noticed(zone.notice, policy.place)
    counter, known = request.settings.counter, frozenset(request.fillers)
    archived = "" if policy.parity else ref
    recalls = archived != "" and RECALL in tool_names(request.tools)
    made, fillers = apply(
        plan, request.messages, request.ledger, counter, placed, policy.place, known, archived, recalls=recalls
    )
    messages = [*made, *request.inputs.read(_arrived(request))]
    ledger = scan(messages, counter, request.ledger.provider)
    try:
        if not policy.parity:
            check(ledger, request.settings.rules)
    except MessageError as error:
        raise InternalError(f"the compacted list would be refused ({error}); nothing was changed") from error
    result, parts = ledger.digest_until(len(made)), _core.parts_of(request.originals, made)
    view = View(ref, len(request.originals), request.origin, len(made), result, parts)
    return messages, ledger.total, marks(ledger, fillers), None if policy.parity else view
