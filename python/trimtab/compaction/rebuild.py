"""Builds the compacted list, counts it and validates it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..counting.counter import scan
from ..errors import InternalError, MessageError
from ..ledger.marks import marks
from ..messages.envelope import wrap
from ..planning.edits import Summarize
from ..validity.validate import Rules
from .apply import apply, noticed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ledger.columns import Ledger
    from ..messages.types import Message
    from ..planning.plan import Plan
    from .request import Request

AT_THE_END = frozenset({"final_assistant_whitespace", "prefill_unsupported", "thinking_last", "reasoning_without_item"})
"""Problems of a list's end, which vanish when the list grows."""

TOO_MUCH = frozenset(
    {"image_too_heavy", "image_too_large", "image_too_large_many", "request_too_large", "too_many_images"}
)
"""Problems of a list's size, which compaction reduces."""


def check(ledger: Ledger) -> None:
    """Reject a list that its provider would refuse whatever messages follow.

    Raises:
        MessageError: names the first problem.
    """
    for problem in Rules(in_flight=True).problems(ledger):
        if problem.code not in TOO_MUCH and (problem.code not in AT_THE_END or problem.index < len(ledger) - 1):
            raise problem.error()


def _arrived(request: Request) -> Sequence[Message]:
    """Return the messages that the caller appended during the compaction."""
    known = len(request.messages)
    grew = len(request.given) > known and all(a is b for a, b in zip(request.given, request.inputs.given, strict=False))
    return request.given[known:] if grew else ()


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The new list of a compaction.

    Attributes:
        messages: the messages.
        tokens: their tokens.
        marks: marks of the notices and acknowledgements.
    """

    messages: list[Message]
    tokens: int
    marks: tuple[str, ...]


def rebuilt(request: Request, plan: Plan, summary: str | None, ref: str) -> Rebuilt:
    """Return the new list.

    Raises:
        InternalError: the provider would refuse the list.
    """
    placed = None
    if zone := plan.zone():
        count = zone.stop - zone.start - len(zone.keep)
        text = request.policy.place.prefix + (summary or "")
        written = text if request.policy.parity else wrap(text, ref=ref, count=count)
        placed = written if isinstance(zone, Summarize) else noticed(zone.notice, request.policy.place)
    counter, place = request.settings.counter, request.policy.place
    made = apply(plan, request.messages, request.ledger, counter, placed, place, frozenset(request.fillers))
    messages = [*made.messages, *request.inputs.read(_arrived(request))]
    ledger = scan(messages, counter, request.ledger.provider)
    try:
        if not request.policy.parity:
            check(ledger)
    except MessageError as error:
        raise InternalError(f"the compacted list would be refused ({error}); nothing was changed") from error
    return Rebuilt(messages, ledger.total, marks(ledger, made.fillers))
