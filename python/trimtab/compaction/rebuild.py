"""The list that a compaction leaves: built, read again, and never one that its provider would refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..counting.counter import scan
from ..errors import InternalError, MessageError
from ..messages.envelope import wrap
from ..planning.plan import Summarize
from ..validity.validate import Rules
from .apply import apply, noticed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ledger.columns import Ledger
    from ..messages.types import Message
    from ..planning.plan import Plan
    from .request import Job

AT_THE_END = frozenset({"final_assistant_whitespace", "prefill_unsupported", "thinking_last", "reasoning_without_item"})
"""Findings about how a list ends: they go away when it goes on, so they are no reason to refuse it."""

TOO_MUCH = frozenset(
    {"image_too_heavy", "image_too_large", "image_too_large_many", "request_too_large", "too_many_images"}
)
"""Findings about how much a list holds: compaction takes some of it out."""


def check(ledger: Ledger) -> None:
    """Refuses a list that its provider would refuse, whatever comes behind it.

    Raises:
        MessageError: names the first problem.
    """
    for problem in Rules(in_flight=True).problems(ledger):
        if problem.code not in TOO_MUCH and (problem.code not in AT_THE_END or problem.index < len(ledger) - 1):
            raise problem.error()


def _arrived(job: Job) -> Sequence[Message]:
    """What the caller has put behind the transcript while it was worked on: kept, as it is."""
    known = len(job.messages)
    same = len(job.given) > known and all(a is b for a, b in zip(job.given, job.read.given, strict=False))
    return job.given[known:] if same else ()


def rebuilt(job: Job, plan: Plan, summary: str | None, ref: str) -> tuple[list[Message], int]:
    """The new list and its tokens; never one that the provider would refuse."""
    placed = None
    if zone := plan.zone():
        count = zone.stop - zone.start - len(zone.keep)
        text = job.policy.place.prefix + (summary or "")
        written = text if job.policy.parity else wrap(text, ref=ref, count=count)
        placed = written if isinstance(zone, Summarize) else noticed(zone.notice, job.policy.place)
    messages = apply(plan, job.messages, job.ledger, job.counter, placed, job.policy.place)
    messages.extend(job.read.more(_arrived(job)))
    ledger = scan(messages, job.counter, job.ledger.provider)
    try:
        if not job.policy.parity:
            check(ledger)
    except MessageError as error:
        raise InternalError(f"the compacted list would be refused ({error}); nothing was changed") from error
    return messages, ledger.total
