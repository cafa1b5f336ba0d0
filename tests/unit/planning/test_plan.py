"""Deciding: pure, in range of its target, groups whole, pins and the last request kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab
from support.checker import check
from support.scale import scaled
from support.transcripts import PROVIDERS, specs, transcript
from trimtab import Plan
from trimtab.planning import Drop, Prune, StripThinking, Summarize, Truncate
from trimtab.planning.decide import decide
from trimtab.planning.edits import dropped
from trimtab.planning.plan import Need
from trimtab.planning.stages.costs import Costs
from trimtab.policies import POLICIES

LONG = " ".join(f"u:30 c{n} r{n}:300 a:60" for n in range(20))
"""Twenty turns, most of it tool results."""

TALK = " ".join("u:60 a:90" for _ in range(30))
"""Thirty turns without a tool."""


def ledger_of(spec: str, provider: str = "anthropic") -> trimtab.Ledger:
    counter = trimtab.Counter("o200k_base")
    return trimtab.Ledger.of(transcript(spec, provider=provider), counter=counter, provider=provider)


def plan_of(spec: str, share: float = 0.5, provider: str = "anthropic", **options: object) -> Plan:
    ledger = ledger_of(spec, provider)
    return decide(Costs(ledger, **options), POLICIES["default"], Need(int(ledger.total * share)))


def test_old_results_are_pruned_first_and_no_more_than_needed() -> None:
    plan = plan_of(LONG, 0.7)
    assert {type(edit) for edit in plan.edits} <= {Prune, Truncate}
    assert 0.97 * plan.target <= plan.tokens_after <= plan.target
    ledger = ledger_of(LONG)
    rows = sorted(row for edit in plan.edits for row in edit.rows)
    results = [row for row, kind in enumerate(ledger.kind) if kind == 2]
    assert rows == results[: len(rows)], "the oldest go first"


def test_what_pruning_cannot_reach_is_summarized() -> None:
    plan = plan_of(TALK)
    (edit,) = plan.edits
    assert isinstance(edit, Summarize)
    assert edit.start == 0
    assert edit.max_tokens <= plan.target - plan.target // 3 + 300, "the newest messages have a third, less 300 tokens"
    assert 0.9 * plan.target <= plan.tokens_after <= plan.target


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_plans_of_long_transcripts_land_just_under_their_target(provider: str, share: float) -> None:
    for spec in (LONG, TALK, LONG + " " + TALK):
        plan = plan_of(spec, share, provider)
        assert 0.9 * plan.target <= plan.tokens_after <= plan.target, str(plan)


def test_at_or_under_the_target_nothing_is_done() -> None:
    ledger = ledger_of(TALK)
    plan = decide(Costs(ledger), POLICIES["default"], Need(ledger.total))
    assert plan.edits == ()
    assert plan.reason == "already at or under the target"


def test_the_last_request_stays_verbatim_in_the_middle_of_what_leaves() -> None:
    spec = "u:20 a:50 u:40 " + " ".join(f"c{n} r{n}:40 a:200" for n in range(40))
    (zone,) = [edit for edit in plan_of(spec, 0.3).edits if isinstance(edit, Summarize)]
    assert 2 in zone.keep
    assert zone.stop > 3


def test_pins_stay_with_their_whole_group() -> None:
    spec = "u:20 c1 r1:300 a:50 " + TALK
    plan = plan_of(spec, 0.3, pins=(2,))
    zone = plan.zone()
    assert zone is not None
    assert {1, 2} <= set(zone.keep), "a result is pinned, so its call stays too"
    assert not any(isinstance(edit, Prune | Truncate) for edit in plan.edits)


def test_no_cut_parts_a_group_and_an_open_call_stays() -> None:
    plan = plan_of(TALK + " u:10 c1+c2", 0.3)
    zone = plan.zone()
    assert zone is not None
    assert zone.stop <= 60, "the request and its open calls are one tail"


def test_a_target_that_cannot_be_reached_names_the_floor() -> None:
    plan = plan_of("u:10 a:10 u:3000 a:10", 0.3)
    assert plan.tokens_after == plan.tokens_before > plan.target
    assert "not make it smaller: pins and the last request, which stay, have" in plan.reason


def test_a_result_is_better_than_none_where_the_target_cannot_be_reached() -> None:
    plan = plan_of(TALK + " u:1500", 0.2)
    assert plan.target < plan.tokens_after < plan.tokens_before
    assert "not to the target: " in plan.reason


def test_system_messages_at_the_start_never_leave() -> None:
    plan = plan_of("s:50 " + TALK, 0.3, "openai_chat")
    zone = plan.zone()
    assert zone is not None
    assert zone.start == 1


def test_thinking_goes_with_an_edit_where_the_model_binds_it() -> None:
    spec = " ".join(f"u:30 t a:60 c{n} r{n}:300 a:60" for n in range(12))
    plain, bound = plan_of(spec), plan_of(spec, binds_thinking=True)
    assert not any(isinstance(edit, StripThinking) for edit in plain.edits)
    (strip,) = [edit for edit in bound.edits if isinstance(edit, StripThinking)]
    assert len(strip.rows) == 12
    assert bound.tokens_after <= bound.target


def test_a_large_group_in_front_of_the_tail_leaves_room_for_older_ones() -> None:
    spec = " ".join(f"u:20 a:{80 + n}" for n in range(10)) + " u:10 a:3000 " + " ".join("u:20 a:80" for _ in range(10))
    plan = plan_of(spec, 0.5)
    zone = plan.zone()
    assert zone is not None
    assert zone.keep, "messages before the large one stay"
    assert plan.tokens_after >= 0.9 * plan.target


def test_the_drop_policy_asks_for_no_summary() -> None:
    ledger = ledger_of(TALK)
    plan = decide(Costs(ledger), POLICIES["drop"], Need(ledger.total // 2))
    (edit,) = plan.edits
    assert isinstance(edit, Drop)
    assert edit.notice.startswith(f"[trimtab: {edit.stop - edit.start - len(edit.keep)} earlier messages")
    assert "dropped" in plan.reason


def test_a_dropped_zone_is_the_summarized_one_without_a_summary() -> None:
    assert dropped(Summarize(1, 5, 300, (2,))) == Drop(
        1, 5, "[trimtab: 3 earlier messages were left out here to save room; they are archived]", (2,)
    )


@settings(max_examples=scaled(300))
@given(specs(), st.sampled_from(PROVIDERS), st.floats(0.05, 0.95), st.booleans())
def test_every_plan_is_json_and_back_and_its_cuts_are_safe(spec: str, provider: str, share: float, bound: bool) -> None:
    try:
        ledger = ledger_of(spec, provider)
    except ValueError:
        return  # an element that this shape has no word for
    plan = decide(Costs(ledger, binds_thinking=bound), POLICIES["default"], Need(max(int(ledger.total * share), 1)))
    assert Plan.from_json(plan.to_json()) == plan
    assert str(plan).startswith("plan by default: ")
    zone = plan.zone()
    if zone:
        assert ledger.safe[zone.start] or zone.start == 0
        assert ledger.safe[zone.stop]
    if plan.edits:
        assert plan.tokens_after < plan.tokens_before


def test_deciding_twice_gives_the_same_plan() -> None:
    assert plan_of(LONG, 0.4) == plan_of(LONG, 0.4)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a plan: it is no JSON"),
        ("[]", "not a plan, which trimtab plan --json writes: it has no version"),
        ("{}", "not a plan, which trimtab plan --json writes: it has no version"),
        ('{"version": 1}', "not a plan: it has no list of edits"),
        ('{"version": 1, "edits": [3]}', "not a plan: an edit is 3; known are Prune, "),
        ('{"version": 1, "edits": [{"edit": ["Prune"]}]}', "not a plan: an edit is {'edit': ['Prune']}"),
        ('{"version": 1, "edits": [{"edit": "Prune"}]}', "not a plan: Prune has no rows"),
        ('{"version": 1, "edits": [{"edit": "Prune", "lines": [1]}]}', "not a plan: Prune has unknown keys lines"),
        ('{"version": 1, "edits": []}', "not a plan: Plan has no tokens_before, no tokens_after"),
        ('{"version": 99}', "version 99, this trimtab reads version 1"),
        ('{"version": 1, "edits": [{"edit": "Explode"}]}', "not a plan"),
        ('{"version": 1, "edits": [{"edit": "Prune", "rows": ["x", 6]}]}', "rows of Prune is ['x', 6]"),
        ('{"version": 1, "edits": [{"edit": "Prune", "rows": [-1]}]}', "rows of Prune is [-1]"),
        ('{"version": 1, "edits": [{"edit": "Prune", "rows": []}]}', "Prune of nothing"),
        ('{"version": 1, "edits": [{"edit": "Prune", "rows": 3}]}', "rows of Prune is 3"),
        ('{"version": 1, "edits": [{"edit": "Prune", "rows": [3, 2]}]}', "rows of Prune is [3, 2]"),
        ('{"version": 1, "edits": [{"edit": "Drop", "start": 3, "stop": 3, "notice": "x"}]}', "Drop of nothing"),
        ('{"version": 1, "edits": [{"edit": "Drop", "start": 3, "stop": 4, "notice": 5}]}', "notice of Drop is 5"),
        ('{"version": 1, "edits": [], "tokens_before": "abc"}', "tokens_before of Plan is 'abc'"),
        ('{"version": 1, "edits": [], "messages": -1}', "messages of Plan is -1"),
        ('{"version": 1, "edits": [], "reason": null}', "reason of Plan is None"),
        ("[" * 100_000, "not a plan"),
        ('{"version": 1, "edits": [], "colour": "red"}', "Plan has unknown keys colour"),
    ],
)
def test_what_is_no_plan_is_refused(text: str, words: str) -> None:
    with pytest.raises(trimtab.PlanError) as caught:
        Plan.from_json(text)
    assert words in str(caught.value)


def test_a_plan_of_another_transcript_is_refused() -> None:
    from trimtab.compaction.apply import apply

    plan = plan_of(TALK)
    messages = transcript(TALK + " u:5", provider="anthropic")
    counter = trimtab.Counter("o200k_base")
    with pytest.raises(trimtab.PlanError, match="another transcript"):
        apply(plan, messages, trimtab.Ledger.of(messages, counter=counter), counter, "x")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_applied_plan_touches_only_what_it_names(provider: str) -> None:
    from trimtab.compaction.apply import apply

    messages = transcript(LONG, provider=provider)
    before = json.dumps(messages)
    counter = trimtab.Counter("o200k_base")
    ledger = trimtab.Ledger.of(messages, counter=counter, provider=provider)
    plan = decide(Costs(ledger), POLICIES["default"], Need(ledger.total // 2))
    out, _ = apply(plan, messages, ledger, counter, None)
    assert json.dumps(messages) == before
    touched = {int(ledger.owner[row]) for edit in plan.edits for row in edit.rows}
    assert len(out) == len(messages)
    for index, (old, new) in enumerate(zip(messages, out, strict=True)):
        assert (new is old) == (index not in touched)
    assert check(out, provider) == []
