"""A plan in the words of a provider's server: what it can do of the plan, or why it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..ledger.columns import Kind, Role
from ..planning.edits import Cut, Drop, Mend, Prune, Summarize, Truncate
from ..planning.stages.keep import Turns
from ..validity.parameters import CLEAR_THINKING, COMPACT, LEAST
from . import anthropic, openai
from .call import Clearing, ServerCall, Way

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..ledger.columns import Ledger
    from ..planning.plan import Plan
    from ..planning.policy import Policy
    from ..planning.stages.costs import Costs

SERVERS = ("anthropic", "openai_responses")
"""Shapes of messages whose provider compacts on its server. Bedrock takes Anthropic's parameters in ``InvokeModel``
alone, not in ``Converse``; Chat Completions and Gemini's ``generate_content`` have none."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a plan asks for.

    Attributes:
        plan: the plan.
        costs: of the messages that it is for.
        policy: the policy.
        way: how the server is asked for a summary.
        prompt: tokens of the whole prompt, with what the server leaves out of it.
        fixed: tokens of system text and tools.
        trigger: tokens of the prompt past which the policy compacts.
        budget: most tokens of a prompt.
        clearing: the results that the server clears already; None without any.
        instructions: for the summary; None for the server's own.
        refused: types of edits that the server has refused.
        signed: whether a compaction that was asked for on demand is in the list.
    """

    plan: Plan
    costs: Costs
    policy: Policy
    way: Way
    prompt: int
    fixed: int
    trigger: int
    budget: int
    clearing: Clearing | None = None
    instructions: str | None = None
    refused: frozenset[str] = frozenset()
    signed: bool = False


def asked(work: Work) -> tuple[ServerCall, Clearing | None] | str:
    """Return what asks the server for a plan, and the clearing that stays from then on; or why it cannot be asked."""
    provider, plan = work.costs.ledger.provider, work.plan
    if provider not in SERVERS:
        return f"the server of {provider} compacts nothing"
    zone = plan.zone()
    if isinstance(zone, Drop):
        return "no server drops messages without a summary" if zone.notice else "what is left out costs nothing there"
    if any(isinstance(edit, Mend) or (isinstance(edit, Prune) and edit.mends) for edit in plan.edits):
        return "no server takes out the pictures and the surrogates that it refuses"
    if zone is not None:
        return _summary(work, zone)
    if provider != "anthropic":
        return "OpenAI's server clears no tool results: it summarizes"
    if work.way == "pass":
        return "a compaction on demand reads every result that a later one would clear"
    return _cleared(work)


def uses(kind: NDArray[np.uint8], pair: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the rows of the client's calls that have a result, in order."""
    return np.flatnonzero((kind == Kind.CALL) & (pair >= 0))


def later_uses(ledger: Ledger, calls: int) -> int:
    """Return the number of tool uses behind the oldest calls of the client, those of the server's own tools too.

    Anthropic's documents exclude a server's tool from the clearing by name, so that it counts like the client's. If it
    does not, fewer results are cleared than could be, and none that stays.
    """
    rows = uses(ledger.kind, ledger.pair)
    served = np.flatnonzero(ledger.kind == Kind.SERVER_CALL)
    return len(rows[calls:]) + int((served > rows[:calls].max(initial=-1)).sum())


def results_of(ledger: Ledger, calls: int, tools: Sequence[str]) -> NDArray[np.int32]:
    """Return the rows of the results of the oldest calls, in the order of the calls; none of these tools."""
    rows: NDArray[np.int32] = ledger.pair[uses(ledger.kind, ledger.pair)[:calls]]
    return rows[~ledger.named(tools)[rows]] if tools else rows


def cleared_rows(clearing: Clearing, ledger: Ledger) -> dict[int, int]:
    """Return the tokens that a clearing takes out of each row; they are ``clearing.tokens`` together."""
    rows = results_of(ledger, clearing.uses, clearing.tools)
    held = ledger.tokens[rows].astype(np.int64)
    share = min(clearing.tokens / max(int(held.sum()), 1), 1.0)
    return dict(zip(rows.tolist(), (held * share).astype(np.int64).tolist(), strict=True))


def _cleared(work: Work) -> tuple[ServerCall, Clearing | None] | str:
    """Return the edits that clear what the plan prunes: everything up to its newest result."""
    costs, policy = work.costs, work.policy
    rows = _edited(work.plan)
    of_results = rows[costs.kind[rows] == Kind.RESULT]
    if ((costs.kind[rows] != Kind.RESULT) & (costs.kind[rows] != Kind.CALL)).any():
        return "Anthropic's server clears no pictures of the user's"
    calls = uses(costs.kind, costs.ledger.pair)
    answered = costs.ledger.pair[of_results]
    boundary = int(np.searchsorted(calls, answered.max(initial=-1), side="right"))
    if work.clearing and boundary <= work.clearing.uses:
        return "the server has cleared the results that the plan prunes"
    skip = policy.prune.skip if policy.prune else ()
    gone = results_of(costs.ledger, boundary, skip)
    served = np.flatnonzero(costs.kind[: calls[:boundary].max(initial=0)] == Kind.SERVER_RESULT)
    if np.isin(costs.owner[[*gone, *served]], [*costs.pins, *costs.group(costs.last_group)]).any():
        return "a pinned result, or one of the newest step, is among the oldest ones, which the server clears in order"
    gone = np.sort(gone)
    new = gone[~np.isin(gone, [*costs.edited])].astype(np.int64)
    before = work.clearing.tokens if work.clearing else 0
    tokens = before + int(costs.freed(new).clip(min=0).sum())
    least = policy.prune.min_gain if policy.prune else 0
    if not len(gone):
        return "the results that the plan prunes are of tools whose results stay"
    last = int(costs.owner[gone[-1]]) + 1
    names, of_row = costs.ledger.names
    changed = rows[costs.kind[rows] == Kind.CALL]
    made = Clearing(
        boundary,
        tokens,
        last,
        costs.ledger.digest_until(last),
        max(min(work.trigger, work.prompt), 0),
        least if least < tokens else 0,
        tuple(skip),
        tuple(sorted({names[of_row[row]] for row in changed})),
        0 if CLEAR_THINKING in work.refused else _thinking(work),
    )
    return anthropic.clearing(made, later_uses(costs.ledger, boundary), clears=tokens), made


def _edited(plan: Plan) -> NDArray[np.int64]:
    """Return the rows that lose their content; the server has no way to leave a part of it."""
    rows = [row for edit in plan.edits if isinstance(edit, Prune | Truncate | Cut) for row in edit.rows]
    return np.asarray(sorted(rows), dtype=np.int64)


def _thinking(work: Work) -> int:
    """Return the number of newest turns whose thinking stays, where older turns have some that is billed.

    The server takes the edit only while thinking is switched on, which shows in the newest answer.
    """
    costs = work.costs
    rows = np.flatnonzero((costs.kind == Kind.THINKING) & (costs.ledger.tokens > 0))
    answers = np.flatnonzero(costs.role == Role.ASSISTANT)
    if not len(rows) or not len(answers) or int(costs.owner[rows[-1]]) != int(answers[-1]):
        return 0
    turns = len(np.unique(np.searchsorted(costs.requests, costs.owner[rows], side="right")))
    kept = max((keeper.count for keeper in work.policy.keep.keepers if isinstance(keeper, Turns)), default=1)
    return max(kept, 1) if turns > max(kept, 1) else 0


def _summary(work: Work, zone: Summarize) -> tuple[ServerCall, Clearing | None] | str:
    """Return what asks for a summary."""
    costs, is_anthropic = work.costs, work.costs.ledger.provider == "anthropic"
    if work.way == "pass":
        cut = _cut(costs, zone.stop, roles_differ=is_anthropic)
        if cut <= zone.start:
            return "no place behind the messages that leave begins with another role and a whole step"
        read = int(costs.ledger.per_message[:cut].sum())
        if read + work.fixed > work.budget:
            return f"the messages that leave have {read:,} tokens, too many for one request"
        clears = read - zone.max_tokens
        if clears <= 0:
            return "a summary would not be smaller"
        made = anthropic.on_demand(cut, work.instructions, clears) if is_anthropic else openai.on_demand(cut, clears)
        return made, None
    clears = costs.ledger.total - zone.max_tokens - sum(int(costs.per_message[pin]) for pin in costs.pins)
    if clears <= 0:
        return "a summary would not be smaller"
    now = work.prompt - (work.clearing.tokens if work.clearing else 0)
    if now > work.budget:
        return f"the prompt has {now:,} tokens: the server reads all of it before it summarizes"
    trigger = min(work.trigger, now)
    if not is_anthropic:
        return openai.compacting(max(trigger, LEAST["compact_threshold"]), clears), None
    if now < LEAST[COMPACT]:
        return f"{COMPACT} takes no trigger below {LEAST[COMPACT]:,} tokens"
    if work.signed:
        return f"a signed compaction is in the list: the provider takes it together with no {COMPACT}"
    kept = None
    if work.clearing:
        kept = anthropic.clearing(work.clearing, later_uses(costs.ledger, work.clearing.uses))
    return anthropic.compacting(max(trigger, LEAST[COMPACT]), work.instructions, clears, kept), None


def _cut(costs: Costs, stop: int, *, roles_differ: bool) -> int:
    """Return the last place up to ``stop`` at which a compaction may end; 0 without one.

    No call is open there, and what follows has another role and is no system message.
    """
    for cut in range(stop, 0, -1):
        if not costs.safe[cut]:
            continue
        if cut == costs.messages or not roles_differ:
            return cut
        if costs.role[cut] != costs.role[cut - 1] and costs.role[cut] != Role.SYSTEM:
            return cut
    return 0
