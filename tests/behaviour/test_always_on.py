"""Nothing switches the protection off: agents that do what they like under every policy, in a world that fails."""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from support.always_on import AlwaysOn
from support.models import CLAUDE
from support.scale import scaled

STEPS = 20

AGENT = {"policy": "default", "model": CLAUDE, "window": 6_000, "text": "ascii", "summarizer": "offline"}
AGENT |= {"all_moments": False, "auto": True, "awaits": False, "adopts": True}
TURN = {"answer": 0.002, "asks": 0.002, "charge": "right", "huge": False, "results": [], "thinks": False, "times": 1}
HALF = ("provider_refuses", {"share": 0.5})

FOUND = {
    "a second limit above the first": (
        {"adopts": False},
        [("turns", {"results": [0.3]}), HALF, ("provider_refuses", {"share": 0.8})],
    ),
    "a limit below system text and tools": (
        {"window": 12_000, "all_moments": True},
        [
            ("turns", {"results": [0.3]}),
            ("other_compactor_takes_over", {"model": CLAUDE, "policy": "default", "window": 6_000}),
            HALF,
            HALF,
            ("turns", {"answer": 0.1, "results": [0.002], "thinks": True, "times": 2}),
        ],
    ),
    "a limit below system text and tools, under a policy that counts neither": (
        {"policy": "agentpg"},
        [("turns", {"answer": 0.3, "results": [0.002]}), HALF, HALF, ("turns", {"results": [0.002] * 3, "times": 2})],
    ),
    "a limit, none, and a limit": (
        {"adopts": False},
        [
            ("assistant_says_what_looks_like_ours", {"other": "Continue if you have next steps"}),
            ("turns", {"asks": 0.3}),
            ("turns", {"results": [0.002]}),
            HALF,
            ("provider_refuses", {"share": None}),
            HALF,
        ],
    ),
    "a charge of twice the prompt, then a limit": (
        {},
        [
            ("turns", {"asks": 0.3, "times": 2}),
            ("turns", {"answer": 0.1, "charge": "twice", "results": [0.002]}),
            HALF,
            ("agent_fits_at_any_moment", {"when": "before_call"}),
        ],
    ),
}
"""Agents that once got past the protection: how they differ from ``AGENT``, and their steps."""


@pytest.mark.parametrize("name", FOUND)
def test_no_agent_that_was_found_gets_past_the_protection_again(name):
    options, steps = FOUND[name]
    agent = AlwaysOn()
    agent.begin(**AGENT | options)
    for step, given in steps:
        getattr(agent, step)(**(TURN | given if step == "turns" else given))
    agent.teardown()


def test_no_agent_gets_past_the_protection():
    runs = settings(max_examples=scaled(800), stateful_step_count=STEPS)
    run_state_machine_as_test(AlwaysOn, settings=runs)


@pytest.mark.slow
def test_none_of_twenty_thousand_agents_gets_past_the_protection():
    runs = settings(max_examples=20_000, stateful_step_count=STEPS)
    run_state_machine_as_test(AlwaysOn, settings=runs)
