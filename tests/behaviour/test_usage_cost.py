"""A session file's usage is read and learned from in time that grows with the file, in every format."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import trimtab
from support import billed
from support.models import CLAUDE_BOUND

TURNS = 100
"""Turns of the shorter session; past the 64 newest billed calls, which are the most that are learned from."""


def calls(data: bytes) -> int:
    """The number of calls, of Python's functions and of others, in which a session is read and its next prompt told."""
    made = 0

    def profile(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    cm = trimtab.Compactor(CLAUDE_BOUND)
    sys.setprofile(profile)
    try:
        found = trimtab.read(data)
        cm.learn(found)
        size = cm.size(found.messages)
    finally:
        sys.setprofile(None)
    assert size.billed
    return made


@pytest.mark.parametrize("name", billed.FORMATS)
def test_four_times_the_turns_take_at_most_five_times_the_calls(name: str) -> None:
    short, long = (billed.session(name, turns, lambda turn: 20_000 + 30 * turn) for turns in (TURNS, 4 * TURNS))
    calls(short)  # the first reading loads modules
    assert len(trimtab.read(long).usage) == 4 * TURNS
    assert calls(long) <= 5 * calls(short)
