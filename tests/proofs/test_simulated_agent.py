"""A simulated agent with background compaction: no request is invalid, and no message is lost, whatever fails."""

import pytest

from support.simulated import FAULTS, play


def judged(turns, **options):
    run = play(turns, background=True, **options)
    assert run.refused == []
    assert run.lost == []
    assert run.compactions
    return run


def test_no_request_is_invalid_and_no_message_is_lost_while_everything_fails():
    run = judged(60, faults=0.3)
    assert run.summaries


@pytest.mark.slow
def test_two_thousand_turns_with_every_fault():
    run = judged(2_000)
    assert run.met.keys() == {*FAULTS}
    assert run.summaries
    print(f"{run.compactions} compactions, {run.summaries} summaries, faults {dict(run.met)}")
