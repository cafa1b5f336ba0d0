"""The short form of ``make proof``: no compacted or repaired list is invalid."""

import pytest

from proofs import validity
from proofs.generate import from_kinds, signatures_hold
from trimtab.policies import POLICIES


@pytest.mark.parametrize(("run", "bound"), [("lists", 2), ("repairs", 2)])
def test_no_short_list_becomes_invalid(run, bound):
    totals = validity.Totals()
    validity.RUNS[run](bound, totals)
    assert totals.lists >= bound


@pytest.mark.parametrize(("run", "bound"), [("seeded", 180), ("histories", 90)])
def test_no_list_of_a_short_run_becomes_invalid_and_every_policy_compacts(run, bound):
    totals = validity.Totals()
    validity.RUNS[run](bound, totals)
    assert totals.lists >= bound
    assert totals.compactions.keys() == set(POLICIES)


def test_a_signature_holds_until_the_messages_before_it_change():
    messages = from_kinds("utrtr")
    assert signatures_hold(messages)
    assert not signatures_hold([{"role": "user", "content": "[summary]"}, *messages[1:]])
    assert signatures_hold([messages[0], {**messages[1], "content": messages[1]["content"][1:]}, *messages[2:]])
