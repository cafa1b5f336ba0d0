"""What a plan prunes stays after all where the list would have fewer tokens than its target."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

import trimtab
from support.checker import check
from support.models import CLAUDE, GPT
from trimtab.counting.counter import scan
from trimtab.planning import Prune, Summarize, Truncate
from trimtab.planning.decide import summarize_edits
from trimtab.planning.give_back import LEFT, SPARE, give_back
from trimtab.planning.plan import Plan
from trimtab.planning.stages.costs import Costs

MODELS = {"anthropic": CLAUDE, "openai_chat": GPT}


def session(seed: int, provider: str, calls: int = 30) -> list[Any]:
    """A session of reads of different files, of 20 to 3,000 words each; the user speaks now and then."""
    chosen = random.Random(seed)
    out: list[Any] = [{"role": "user", "content": "Never touch the tests. Read all files."}]
    for n in range(calls):
        said = f"file {n}: " + " ".join(
            f"w{chosen.randint(0, 999)}" for _ in range(chosen.choice([20, 90, 400, 3_000]))
        )
        if provider == "anthropic":
            call = {"type": "tool_use", "id": f"c{n}", "name": "Read", "input": {"file_path": f"/{n}"}}
            result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": said}
            out += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        else:
            function = {"name": "read", "arguments": f'{{"path": "/{n}"}}'}
            calls_of = [{"id": f"c{n}", "type": "function", "function": function}]
            out += [
                {"role": "assistant", "content": None, "tool_calls": calls_of},
                {"role": "tool", "tool_call_id": f"c{n}", "content": said},
            ]
        if n % 9 == 8:
            out += [{"role": "assistant", "content": f"Read {n}."}, {"role": "user", "content": f"Go on with {n + 1}."}]
    return out


def compactor(provider: str) -> trimtab.Compactor:
    """A Compactor that has seen nothing."""
    return trimtab.Compactor(MODELS[provider], provider=provider)


def pruned(plan: Plan) -> set[int]:
    """The rows that a plan prunes or truncates."""
    return {row for edit in plan.edits if isinstance(edit, Prune | Truncate) for row in edit.rows}


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_a_compaction_fills_its_target(provider: str, seed: int, share: float) -> None:
    messages = session(seed, provider)
    plan = compactor(provider).plan(messages, target_share=share)
    bare = compactor(provider).compact(messages, plan=plan)
    done = compactor(provider).compact(messages, target_share=share)
    assert bare.plan.edits == plan.edits  # a given plan is carried out as it is
    assert done.tokens_after <= done.plan.target == plan.target
    assert done.tokens_after >= bare.tokens_after
    assert pruned(done.plan) <= pruned(plan)
    assert done.plan.zone() == plan.zone()
    if pruned(done.plan) and bare.tokens_after < plan.target * (1 - SPARE):
        assert done.tokens_after > bare.tokens_after
    assert check(list(done.messages), provider) == []
    again = compactor(provider).compact(messages, plan=done.plan)
    assert again.messages == done.messages


def decided(messages: list[Any], *edits: Any, target: int = 10_000) -> tuple[Costs, Plan]:
    """The costs of a transcript, and a plan of these edits."""
    ledger = scan(messages, trimtab.Counter.for_model(CLAUDE), "anthropic")
    plan = Plan(edits, ledger.total, target, target, "", len(messages), ledger.digest, "anthropic", "default")
    return Costs(ledger), replace(plan, reason=f"{summarize_edits(plan)}; for a test")


def test_the_last_pruned_comes_back_first_and_the_next_in_part() -> None:
    messages = session(3, "anthropic")
    costs, _ = decided(messages)
    rows = [row for row in range(len(costs.tokens)) if costs.tokens[row] > 300][:6]
    sizes = [int(costs.tokens[row]) for row in rows]
    _, plan = decided(messages, Prune(tuple(rows)))
    stays = int(LEFT * plan.target)
    free = sizes[-1] + sizes[-2] + 200 + stays
    found = give_back(costs, plan, free)
    assert found is not None
    assert found.edits == (Truncate((rows[-3],), 200), Prune(tuple(rows[:-3])))
    assert found.reason == "truncated, pruned; for a test"
    assert give_back(costs, plan, int(SPARE * plan.target)) is None
    whole = give_back(costs, plan, sum(sizes) + stays)
    assert whole is not None
    assert whole.edits == ()


def test_what_is_truncated_comes_before_what_is_pruned() -> None:
    messages = session(5, "anthropic")
    costs, _ = decided(messages)
    first, second, third = [row for row in range(len(costs.tokens)) if costs.tokens[row] > 1_000][:3]
    zone = Summarize(1, 3, 900)
    _, plan = decided(messages, Truncate((third,), 400), Prune((first, second)), zone)
    stays = int(LEFT * plan.target)
    found = give_back(costs, plan, 600 + stays)
    assert found is not None
    assert found.edits == (Truncate((third,), 1_000), Prune((first, second)), zone)
    both = int(costs.tokens[third]) - 400 + int(costs.tokens[second])
    more = give_back(costs, plan, both + stays)
    assert more is not None
    assert more.edits == (Prune((first,)), zone)
    assert more.tokens_after == plan.target


@pytest.mark.parametrize("why", ["superseded", "pictures"])
def test_what_has_a_reason_of_its_own_stays_away(why: str) -> None:
    messages = session(7, "anthropic")
    costs, _ = decided(messages)
    rows = tuple(row for row in range(len(costs.tokens)) if costs.tokens[row] > 300)
    _, plan = decided(messages, Prune(rows, why=why))
    assert give_back(costs, plan, 9_000) is None


@pytest.mark.parametrize("policy", ["agentpg", "opencode", "sven"])
def test_a_policy_of_zones_has_no_target_to_fill(policy: str) -> None:
    messages = session(9, "anthropic", calls=60)
    cm = trimtab.Compactor(CLAUDE, policy=policy, window=30_000, max_output=2_000)
    plan = cm.plan(messages)
    assert plan.edits
    assert cm.compact(messages).plan.edits == plan.edits
