"""Nothing switches the protection off: agents that do what they like under every policy, in a world that fails."""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from support.always_on import AlwaysOn
from support.scale import scaled

STEPS = 20


def test_no_agent_gets_past_the_protection():
    runs = settings(max_examples=scaled(800), stateful_step_count=STEPS)
    run_state_machine_as_test(AlwaysOn, settings=runs)


@pytest.mark.slow
def test_none_of_twenty_thousand_agents_gets_past_the_protection():
    runs = settings(max_examples=20_000, stateful_step_count=STEPS)
    run_state_machine_as_test(AlwaysOn, settings=runs)
