"""The short form of ``make proof``: that no list is refused, whatever is done to it."""

import importlib.util
import sys
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("validity", Path(__file__).parents[2] / "benches" / "validity.py")
validity = importlib.util.module_from_spec(_SPEC)
sys.modules["validity"] = validity
_SPEC.loader.exec_module(validity)


@pytest.mark.parametrize(
    ("run", "bound", "least"), [("lists", 2, 5), ("seeded", 60, 20), ("repairs", 2, 0), ("histories", 30, 20)]
)
def test_no_list_of_a_short_run_is_refused(run, bound, least):
    tally = validity.Tally()
    validity.RUNS[run](bound, tally)
    assert tally.lists >= bound
    assert tally.compacted >= least


def test_thinking_is_signed_as_a_server_does():
    messages = validity.spelled("utrtr")
    assert validity.bound(messages)
    assert not validity.bound([{"role": "user", "content": "[summary]"}, *messages[1:]])
    assert validity.bound([messages[0], {**messages[1], "content": messages[1]["content"][1:]}, *messages[2:]])
