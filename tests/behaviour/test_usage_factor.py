"""The correction factor of ``sven`` goes on where charges end, and where they are not believed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import trimtab

MODEL, WINDOW = "claude-sonnet-4-5", 200_000
LINE = "some words of an agent's work, number {n}, and a few more of them.\n"


def compacted_at(policy: str, charge: Callable[[int, int], Any]) -> tuple[float, float]:
    """The share of the window at which an agent's list is compacted first, and the factor then.

    ``charge`` returns the usage of a call from its number and the count of its prompt, or None.
    """
    cm = trimtab.Compactor(MODEL, policy=policy, window=WINDOW, max_output=32_000, summarizer="offline")
    messages: list[Any] = []
    for n in range(300):
        messages.append({"role": "user", "content": f"{n} " + "".join(LINE.format(n=k) for k in range(30))})
        count = trimtab.count(messages, model=MODEL)
        if cm.fit(messages).compaction is not None:
            return count / WINDOW, cm._session._memory.sizes.forecast.factor
        if (usage := charge(n, count)) is not None:
            cm.record(usage)
        messages.append({"role": "assistant", "content": "ok"})
    raise AssertionError("never compacted")


def hidden(count: int) -> dict[str, int]:
    """A bill with 20,000 tokens of system text and tools that nobody passed."""
    return {"input_tokens": count + 20_000, "output_tokens": 9}


ENDS: dict[str, Callable[[int, int], Any]] = {
    "one charge": lambda n, count: hidden(count) if n == 0 else None,
    "three charges": lambda n, count: hidden(count) if n < 3 else None,
    "then one that is no charge": lambda n, count: hidden(count) if n == 0 else {"input_tokens": 0},
    "then one that is not believed": lambda n, count: hidden(count) if n == 0 else {"input_tokens": 12},
    "then one above the window": lambda n, count: hidden(count) if n == 0 else {"input_tokens": 10**9},
}


@pytest.mark.parametrize("name", ["sven", "sven_narrative"])
@pytest.mark.parametrize("ends", ENDS)
def test_the_factor_of_a_first_charge_does_not_stay_for_good(name: str, ends: str) -> None:
    """A short first prompt with hidden text clamps the factor at 3: the list was compacted at 26 % of the window."""
    always = compacted_at(name, lambda _, count: hidden(count))
    assert compacted_at(name, ENDS[ends]) == pytest.approx(always, rel=0.02)
    assert always[0] > 0.5


def test_without_any_charge_the_factor_is_that_of_the_document() -> None:
    assert compacted_at("sven", lambda *_: None)[1] == 1.0


def test_a_count_between_two_calls_and_a_repeated_one_are_no_calls() -> None:
    cm = trimtab.Compactor(MODEL, policy="sven", window=WINDOW, max_output=32_000)
    messages: list[Any] = [{"role": "user", "content": LINE * 30}]
    cm.fit(messages)
    cm.record(hidden(cm.count(messages)))
    factor = cm._session._memory.sizes.forecast.factor
    for _ in range(3):
        cm.fit(messages)
        cm.count(messages)
        cm.budget()
    assert cm._session._memory.sizes.forecast.factor == factor
