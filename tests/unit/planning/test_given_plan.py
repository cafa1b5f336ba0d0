"""A plan that is given is carried out where it fits, and is an error where an edit of it is wrong or out of date."""

from __future__ import annotations

import contextlib
import json
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import trimtab
from support.models import CLAUDE, GPT
from support.transcripts import transcript
from trimtab.planning.edits import Cut, Drop, Mend, Prune, StripThinking, Summarize, Truncate
from trimtab.policies import POLICIES

if TYPE_CHECKING:
    from trimtab.planning.edits import Edit

PARTS = ("u:90", "a:60", "c{0} r{0}:300", "u:9 t+c{0}+c9{0} r{0}:90+r9{0}:90", "i:300", "a:400")
MODELS = {"anthropic": CLAUDE, "openai_chat": GPT, "openai_responses": GPT}
CALLS = transcript("u:30 " + " ".join(f"c{n} r{n}:300" for n in range(12)) + " a:30 u:30", provider="anthropic")


def compactor(**options: Any) -> trimtab.Compactor:
    return trimtab.Compactor(CLAUDE, window=20_000, max_output=2_000, **options)


def talk() -> list[dict]:
    return [{"role": ("user", "assistant")[n % 2], "content": f"step {n}: " + "words " * 50} for n in range(401)]


def edited(messages: list[dict], *edits: Edit) -> trimtab.Plan:
    return replace(compactor().plan(messages, target_share=0.5), edits=edits)


@given(st.sampled_from(sorted(MODELS)), st.sampled_from(sorted(POLICIES)), st.integers(0, 10_000))
def test_each_plan_of_its_own_is_carried_out(provider: str, policy: str, seed: int) -> None:
    drawn = random.Random(seed)
    words = " ".join(drawn.choice(PARTS).format(n) for n in range(drawn.randint(3, 25)))
    messages = transcript(f"u {words}" + " u" * drawn.randint(0, 1), provider=provider)
    assume(not trimtab.validate(messages, provider=provider))
    cm = trimtab.Compactor(MODELS[provider], provider=provider, window=4_000, max_output=500, policy=policy)
    for _ in range(drawn.randint(0, 2)):
        cm.pin(drawn.choice(messages))
    for turn, share in enumerate((0.7, 0.5, 0.2)):
        plan = cm.plan(messages, target_share=share)
        with contextlib.suppress(trimtab.NothingToCompactError):
            messages = cm.compact(messages, plan=trimtab.Plan.from_json(plan.to_json())).messages
        messages = [*messages, *transcript(f"u ca{turn} ra{turn}:60 a", provider=provider)]


@pytest.mark.parametrize("is_text", [False, True])
def test_a_pin_since_the_plan_is_an_error_where_the_plan_removes_its_message(is_text: bool) -> None:
    cm, messages = compactor(), talk()
    plan = cm.plan(messages)
    cm.pin("step 400:" if is_text else messages[400])
    assert cm.compact(messages, plan=plan).ref
    cm.pin("step 4:" if is_text else messages[4])
    with pytest.raises(trimtab.PlanError, match="message 4 is pinned now; plan again"):
        cm.compact(messages, plan=plan)
    assert messages[4] in cm.compact(messages, plan=cm.plan(messages)).messages


def test_a_pin_since_the_plan_is_an_error_where_the_plan_edits_its_message() -> None:
    cm = compactor()
    cm.pin(CALLS[2])
    for edit in (Prune((2,)), Truncate((2,), 50), Cut((2,), 50, "chars", "")):
        with pytest.raises(trimtab.PlanError, match="message 2 is pinned now"):
            cm.compact(CALLS, plan=edited(CALLS, edit))


@pytest.mark.parametrize(
    "edit",
    [
        Summarize(0, 401, 500),
        Summarize(0, 501, 500),
        Drop(0, 10**9, "gone"),
        Drop(0, 10**30, "gone"),
        Drop(7, 7, "gone"),
        Drop(0, 9, "gone", keep=(9,)),
        Drop(4, 9, "gone", skipped=(0,)),
        Drop(4, 9, "gone", skipped=(5,)),
        Drop(0, 9, "gone", keep=[4]),  # type: ignore[arg-type]
        *(
            kind(rows, *more)
            for rows in [(500,), (2**63,), (10**30,), (0,), (-1,), (1.5,), ("x",), (), [1]]
            for kind, more in [(Prune, ()), (Truncate, (9,)), (StripThinking, ()), (Cut, (9, "chars", ""))]
        ),
        Mend((401,)),
        "Prune",
    ],
)
def test_an_edit_of_what_is_not_there_or_cannot_leave_is_an_error(edit: Any) -> None:
    cm, messages = compactor(), talk()
    with pytest.raises(trimtab.PlanError):
        cm.compact(messages, plan=edited(messages, edit))
    assert cm.archive.history() == []


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([Drop(2, 7, "gone")], "Drop .* part message 1 from"),
        ([Drop(1, 7, "gone", keep=(3,))], "part message 3"),
        ([Drop(1, 3, "gone"), Drop(5, 7, "gone")], "two edits remove messages"),
        ([Truncate((2,), 10**30)], "max_tokens of Truncate"),
        ([Cut((2,), 9, "words", "")], "unit of Cut is 'words'"),
        ([Prune((2,), why="old")], "why of Prune is 'old'"),
        ([Cut((1,), 9, "chars", "")], "row 1 is a call that it cannot change"),
    ],
)
def test_an_error_names_the_edit_of_a_list_with_calls(edits: list[Edit], words: str) -> None:
    with pytest.raises(trimtab.PlanError, match=words):
        compactor().compact(CALLS, plan=edited(CALLS, *edits))


def test_a_plan_of_other_types_is_an_error_that_says_what_to_do() -> None:
    plan = compactor().plan(CALLS, target_share=0.5)
    with pytest.raises(TypeError, match=r"plan must be a trimtab\.Plan, got str: read it with Plan\.from_json"):
        compactor().compact(CALLS, plan=plan.to_json())  # type: ignore[arg-type]
    for other in (replace(plan, edits=[*plan.edits]), replace(plan, keep_tag="<"), replace(plan, savings=5)):  # type: ignore[arg-type]
        with pytest.raises(trimtab.PlanError, match="not a plan"):
            compactor().compact(CALLS, plan=other)


@pytest.mark.parametrize("savings", ["x", 5, [], {"gain": "x", "rewrite": 1}, {"gain": 1, "rewrite": 1, "cold": "x"}])
def test_a_plan_with_savings_of_other_types_is_not_read(savings: object) -> None:
    plan = json.loads(compactor().plan(CALLS, target_share=0.5).to_json())
    assert trimtab.Plan.from_json(json.dumps(plan | {"savings": {"gain": -1, "rewrite": 1, "cold": 0.5}})).savings
    with pytest.raises(trimtab.PlanError, match="not a plan"):
        trimtab.Plan.from_json(json.dumps(plan | {"savings": savings}))
