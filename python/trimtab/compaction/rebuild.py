"""Builds the compacted list, counts it and validates it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..archive.recall import NAME as RECALL
from ..counting.counter import scan
from ..counting.tools import tool_names
from ..counting.whole import framed
from ..errors import InternalError, MessageError
from ..messages.envelope import BRIEF_BELOW, wrap
from ..planning.edits import Drop, Summarize
from ..planning.pins import marks
from ..validity.validate import check
from .apply import apply, noticed
from .kept_spans import leaving
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


def _placed(request: CompactionRequest, plan: Plan, summary: str | None, ref: str) -> str | None:
    """Return the text in place of the messages that leave, or None; a notice with spans has a summary's envelope."""
    zone, policy = plan.zone(), request.policy
    if zone is None:
        return None
    kept = leaving(request.kept_spans, zone, request.fillers)
    if isinstance(zone, Summarize):
        text = policy.place.prefix + (summary or "")
    else:
        text = noticed(zone.notice, policy.place) if zone.notice else ""
    if policy.parity or (isinstance(zone, Drop) and not kept):
        return text or None
    count = zone.stop - zone.start - len(zone.keep)
    return wrap(text, ref=ref, count=count, brief=plan.target < BRIEF_BELOW, kept=kept)


def rebuilt(
    request: CompactionRequest, plan: Plan, summary: str | None, ref: str
) -> tuple[list[Message], int, tuple[str, ...], View | None]:
    """Return the new list, its tokens, the marks of its notices and acknowledgements, and how it stands in for the old.

    Raises:
        InternalError: the provider would refuse the list.
    """
    policy = request.policy
    placed = _placed(request, plan, summary, ref)
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
    strips = request.settings.strips
    view = None if policy.parity else View.of(ref, request.originals, request.origin, made, ledger, strips=strips)
    total = framed(ledger, messages, counter, request.system, request.tools)[0].total
    return messages, total, marks(ledger, fillers), view
