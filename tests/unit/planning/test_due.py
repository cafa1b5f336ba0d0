"""What is due at a moment: the table in the docs, and every case of every preset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import get_args

import pytest

import due as table
from trimtab import Policy
from trimtab.planning import Terms, Trigger
from trimtab.planning.due import Pressure, due, pressure
from trimtab.policies import DEFAULT, POLICIES
from trimtab.session.call import When

MOMENTS = get_args(When)
FLAGS = (False, True)


def cases() -> Iterator[tuple[Policy, Pressure, str, bool, bool, int]]:
    """Yield every case of every preset."""
    states = product(POLICIES.values(), product(FLAGS, repeat=3), MOMENTS, FLAGS, FLAGS, (1_000, 100_000))
    for policy, (past, budget, over), moment, rests, writing, messages in states:
        yield policy, Pressure(past, budget, over), moment, rests, writing, messages


def test_the_table_in_the_docs_is_that_of_the_function() -> None:
    found = table.BLOCK.search(table.DOCS.read_text())
    assert found is not None
    assert found[0] == table.table(), "run make docs"


def test_the_table_has_a_row_for_each_state() -> None:
    rows = [line.split(" | ")[0].removeprefix("| ").split("; ") for line in table.table().splitlines()[2:]]
    for words, _, _ in table.states():
        assert any({*row} <= {*words.split("; ")} for row in rows), words


def test_a_prompt_in_danger_goes_out_at_no_moment_of_any_preset() -> None:
    for policy, pressed, moment, rests, writing, messages in cases():
        if pressed.is_danger or moment == "on_overflow":
            bytes_alone = pressed.is_past_bytes and not pressed.is_past_budget
            wanted = "within_bytes" if bytes_alone else "within_budget"
            assert due(policy, pressed, moment, messages, rests=rests, is_writing=writing) == (wanted, "")


def test_a_prompt_past_its_trigger_is_compacted_at_the_moments_of_the_policy_alone() -> None:
    for policy, pressed, moment, rests, writing, messages in cases():
        if pressed.is_danger or moment == "on_overflow" or not pressed.is_past_trigger:
            continue
        goal, reason = due(policy, pressed, moment, messages, rests=rests, is_writing=writing)
        if moment in policy.trigger.when:
            assert (goal, reason) == ("wait" if rests else "within_policy", "")
        else:
            assert goal in {None, "prune", "prune_if_cheaper"}
            assert reason == f"policy {policy.name} compacts {', '.join(policy.trigger.when)}, not {moment}"


def test_a_prompt_below_its_trigger_is_pruned_at_the_moments_of_the_policy_and_at_no_other() -> None:
    for policy, pressed, moment, rests, writing, messages in cases():
        if any(pressed) or moment == "on_overflow":
            continue
        goal, _ = due(policy, pressed, moment, messages, rests=rests, is_writing=writing)
        prune = policy.prune
        if prune is None or writing or moment not in prune.when:
            assert goal is None
        elif prune.pays:
            enough = messages >= prune.protect_tokens + prune.min_gain
            assert goal == ("prune_if_cheaper" if enough else None)
        else:
            assert goal == "prune"


def test_a_prompt_passes_while_its_summary_is_written_unless_it_is_in_danger() -> None:
    for policy, pressed, moment, _, _, messages in cases():
        goal, reason = due(policy, pressed, moment, messages, is_writing=True, passes="being written")
        if not pressed.is_danger and moment != "on_overflow":
            assert (goal, reason) == (None, "being written")


def test_nothing_is_due_where_automatic_compaction_is_off() -> None:
    policy = replace(DEFAULT, trigger=replace(DEFAULT.trigger, auto=False))
    for _, pressed, moment, rests, writing, messages in cases():
        goal, reason = due(policy, pressed, moment, messages, rests=rests, is_writing=writing)
        assert goal is None
        assert "auto=False" in reason


@pytest.mark.parametrize(
    ("messages", "prompt", "expected"),
    [
        (100, 100, (False, False, False)),
        (640, 640, (False, False, False)),
        (641, 641, (True, False, False)),
        (760, 760, (True, False, False)),
        (761, 761, (True, True, False)),
        (100, 801, (False, True, False)),
    ],
)
def test_pressure_is_that_of_trigger_danger_line_and_input_budget(
    messages: int, prompt: int, expected: tuple[bool, bool, bool]
) -> None:
    policy = replace(DEFAULT, trigger=Trigger(share=0.8, critical=0.95))
    terms = Terms(window=1_000, output=200, messages=messages)
    assert pressure(policy, terms, prompt) == Pressure(*expected)
    assert pressure(policy, terms, prompt, sent=8, limit=7).is_past_bytes
    assert not pressure(policy, terms, prompt, sent=7, limit=7).is_past_bytes


def test_a_bill_below_the_count_lowers_the_trigger_and_not_the_danger_line() -> None:
    terms = Terms(window=1_000, output=200, messages=770, beyond=-300)
    assert pressure(DEFAULT, terms, 470) == Pressure(is_past_trigger=False, is_past_budget=True, is_past_bytes=False)
