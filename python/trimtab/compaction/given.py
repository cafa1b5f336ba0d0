"""Checks a summary that is given instead of asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import PlanError
from ..hooks import CALLER, HOOK
from ..messages.surrogates import sendable
from ..planning.edits import Summarize

if TYPE_CHECKING:
    from ..hooks import Given
    from ..planning.plan import Plan
    from .request import CompactionRequest
    from .result import Compaction


def cleared(request: CompactionRequest, given: Given) -> str:
    """Return the text as it may be sent and stored; empty if it is none."""
    return request.redact(sendable(given.text)) if isinstance(given.text, str) else ""


def flaw(request: CompactionRequest, given: Given, zone: Summarize) -> str | None:
    """Return why a given summary cannot replace the messages, or None if it can.

    It is not compared with the messages: a person may know more than they say. The caller's may be longer than planned.
    """
    if not isinstance(given.text, str):
        return f"the summary is {type(given.text).__name__}, not text"
    text = cleared(request, given)
    if not text.strip():
        return "the summary is blank"
    tokens, most = request.settings.counter.count(text), replaced(request, zone)
    if tokens >= most and not request.policy.parity:
        return f"the summary has {tokens:,} tokens, what it replaces has {most:,}"
    if tokens > zone.max_tokens and given.author == HOOK:
        return f"the summary has {tokens:,} tokens, the limit is {zone.max_tokens:,}"
    return None


def check(request: CompactionRequest, plan: Plan) -> None:
    """Reject a caller's summary that cannot replace the messages of the plan, before anything is stored.

    Raises:
        PlanError: it is blank, it is no shorter than what it replaces, or the plan has no summary; says the figures.
    """
    given = request.summary
    if given is None or given.author == HOOK:
        return
    zone = plan.zone()
    if not isinstance(zone, Summarize):
        raise PlanError("a summary is given, but the plan summarizes no messages")
    if wrong := flaw(request, given, zone):
        raise PlanError(f"the given summary cannot be used: {wrong}")


def longer(request: CompactionRequest, text: str, zone: Summarize) -> str:
    """Return what the reason says of a given summary that is longer than planned; empty if it is not."""
    tokens = request.settings.counter.count(text)
    over = tokens > zone.max_tokens
    return f"; the given summary has {tokens:,} tokens, {zone.max_tokens:,} were planned" if over else ""


def check_fit(request: CompactionRequest, done: Compaction[Any]) -> None:
    """Reject a result that the caller's summary keeps from being smaller, or from fitting the input budget.

    Raises:
        PlanError: says the figures.
    """
    if done.summarizer != CALLER or request.policy.parity:
        return
    zone = done.plan.zone()
    if not isinstance(zone, Summarize):
        return
    tokens = request.settings.counter.count(done.summary or "")
    if done.tokens_after >= done.tokens_before and not done.plan.mends:
        msg = (
            f"with the given summary of {tokens:,} tokens the messages have {done.tokens_after:,} tokens, "
            f"and {done.tokens_before:,} without a compaction"
        )
        raise PlanError(msg)
    room = request.settings.limits.input_budget - request.fixed
    if tokens > zone.max_tokens and done.tokens_after > room:
        msg = (
            f"with the given summary of {tokens:,} tokens, {zone.max_tokens:,} were planned, the messages have "
            f"{done.tokens_after:,} tokens, and {room:,} fit into the next call"
        )
        raise PlanError(msg)


def replaced(request: CompactionRequest, zone: Summarize) -> int:
    """Return the tokens of the messages that a summary replaces."""
    costs = request.ledger.per_message
    return int(costs[zone.start : zone.stop].sum()) - int(costs[list(zone.keep)].sum())
