"""Further stages of a policy: their edits come first, and the others decide on what they leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab
from support.checker import check
from support.models import CLAUDE
from support.scale import scaled
from support.transcripts import PROVIDERS, is_open, specs, transcript
from trimtab.planning import Prune, Summarize, Truncate
from trimtab.planning.decide import decide
from trimtab.planning.plan import Need
from trimtab.planning.stages.costs import Costs
from trimtab.policies import POLICIES

COUNTER = trimtab.Counter("o200k_base")


@dataclass(frozen=True)
class Shorten:
    """Truncates all results."""

    most: int

    def edits(self, costs: Costs, target: int) -> Iterator[Truncate]:
        rows = costs.results(0, costs.messages, at_least=self.most, without=costs.pins)
        rows = rows[~costs.pictured[rows]]
        if len(rows):
            yield Truncate(tuple(rows.tolist()), self.most)


@dataclass(frozen=True)
class Seen:
    """Edits nothing, and keeps the costs that it is asked with."""

    costs: list[Costs]

    def edits(self, costs: Costs, target: int) -> tuple[()]:
        self.costs.append(costs)
        return ()


def policy(*stages: Any, name: str = "default") -> trimtab.Policy:
    return replace(POLICIES[name], stages=stages)


def ledger(text: str) -> trimtab.Ledger:
    return trimtab.Ledger.of(transcript(text), counter=COUNTER)


LONG = "u " + " ".join(f"c{n} r{n}:900" for n in range(1, 11))


def test_a_stage_that_reaches_the_target_leaves_nothing_to_the_others() -> None:
    of = ledger(LONG)
    plan = decide(Costs(of), policy(Shorten(300)), Need(of.total // 2))
    assert {type(edit) for edit in plan.edits} == {Truncate}
    assert plan.tokens_after <= plan.target


def test_the_others_decide_on_what_a_stage_leaves_and_edit_no_row_of_it() -> None:
    of = ledger("u:900 a:900 " * 10 + LONG)
    seen = Seen([])
    plan = decide(Costs(of), policy(Shorten(300), seen), Need(of.total // 7))
    first, *others = plan.edits
    assert isinstance(first, Truncate)
    assert not {*first.rows} & {row for edit in others if isinstance(edit, Prune) for row in edit.rows}
    assert any(isinstance(edit, Summarize) for edit in others)
    (left,) = seen.costs
    saved = int(Costs(of).saved(Truncate((*left.edited,), 300)).sum())
    assert saved > 1_000
    assert [Costs(of).total - left.total, int((Costs(of).tokens - left.tokens).sum())] == [saved, saved]


def test_no_edit_of_a_stage_is_of_a_message_that_leaves() -> None:
    of = ledger("u:900 a:900 " * 10 + LONG)
    plan = decide(Costs(of), policy(Shorten(300)), Need(of.total // 7))
    zone = plan.zone()
    assert zone
    rows = [row for edit in plan.edits if isinstance(edit, Truncate) for row in edit.rows]
    assert not {int(of.owner[row]) for row in rows} & ({*range(zone.start, zone.stop)} - {*zone.keep})


def test_a_list_at_its_target_asks_no_stage() -> None:
    of, seen = ledger(LONG), Seen([])
    assert not decide(Costs(of), policy(seen), Need(of.total)).edits
    assert seen.costs == []


def test_pruning_between_compactions_asks_no_stage() -> None:
    assert policy(Shorten(9)).pruning().stages == policy(Shorten(9)).paying().stages == ()


LISTS = st.sampled_from(PROVIDERS).flatmap(lambda provider: st.tuples(st.just(provider), specs(provider)))


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_compaction_with_a_stage_is_valid_and_never_larger_under_every_preset(name: str) -> None:
    shortens = replace(policy(Shorten(60), name=name), on_nothing="noop")

    @settings(max_examples=scaled(80))
    @given(LISTS)
    def holds(given: tuple[Any, str]) -> None:
        provider, spec = given
        messages = transcript(spec, provider)
        done = trimtab.Compactor(CLAUDE, policy=shortens, provider=provider).compact(messages, target_share=0.4)
        assert done.tokens_after <= done.tokens_before
        assert check(list(done.messages), provider, in_flight=is_open(spec)) == []

    holds()
