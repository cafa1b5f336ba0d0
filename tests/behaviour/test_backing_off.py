"""Automatic compaction backs off: the event that says why, what stays, and what ends the rest."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import trimtab
from support.models import CLAUDE_MILLION
from trimtab import Compactor
from trimtab.events import BackedOff
from trimtab.policies import POLICIES
from trimtab.summarize import Function, Limits

MODEL = CLAUDE_MILLION


def talk(turn: int, count: int = 60) -> list[Any]:
    """Another list in each turn, past its trigger: nothing stands in for its beginning."""
    return [{"role": "user", "content": f"turn {turn} step {n}: " + "words " * 60} for n in range(count)]


def agent(write: Any, **options: Any) -> tuple[Compactor, list[Any]]:
    writer = Function(write, limits=Limits(tries=1), window=200_000)
    cm = Compactor(MODEL, window=4_000, max_output=400, summarizer=writer, **options)
    told: list[Any] = []
    cm.on("backedoff")(told.append)
    return cm, told


@pytest.mark.parametrize("goes_on", [False, True])
def test_too_many_rounds_in_a_row_that_compact_let_the_summarizer_rest(goes_on: bool) -> None:
    asked: list[int] = []

    def write(_: trimtab.summarize.Ask) -> str:
        asked.append(turn)
        return "went well"

    cm, told = agent(write)
    fits, session = [], cm.session("a")
    for turn in range(12):
        fits.append(session.fit(talk(turn), system="You are careful. " * 40))
        if goes_on:  # in another process
            session = cm.session("a", json.loads(json.dumps(session.state())))
        assert fits[-1].compaction is not None
        assert cm.count(list(fits[-1].messages)) < 2_900
    assert asked == [0, 1, 2, 6, 10]
    (event,) = told
    assert event.reason.startswith(
        "3 rounds in a row needed a compaction; system text and tools have 165 of 3,600 tokens"
    )
    assert event.until == "a round needs none"
    assert [fitted.compaction.summarizer for fitted in fits[2:4]] == ["write", "offline"]  # type: ignore[union-attr]


def test_a_round_that_needs_no_compaction_ends_the_rest() -> None:
    asked: list[int] = []

    def write(_: trimtab.summarize.Ask) -> str:
        asked.append(turn)
        return "went well"

    cm, told = agent(write)
    for turn in range(5):
        cm.fit(talk(turn))
    assert asked == [0, 1, 2]
    cm.fit(talk(0, 2))
    for turn in range(5, 9):
        cm.fit(talk(turn))
    assert asked == [0, 1, 2, 5, 6, 7]
    assert len(told) == 2


def test_a_compaction_by_hand_asks_during_the_rest() -> None:
    asked: list[int] = []

    def write(_: trimtab.summarize.Ask) -> str:
        asked.append(1)
        return "went well"

    cm, _ = agent(write)
    for turn in range(4):
        cm.fit(talk(turn))
    cm.compact(talk(9), target_share=0.4)
    assert len(asked) == 4


@pytest.mark.parametrize("fallback", [("offline", "drop"), ("error",)])
def test_failures_in_a_row_are_told_once(fallback: Any) -> None:
    def down(_: trimtab.summarize.Ask) -> str:
        raise RuntimeError("down")

    cm, told = agent(down, policy=replace(POLICIES["default"], fallback=fallback))
    for turn in range(9):
        cm.fit(talk(turn, 46))  # past the trigger, below the danger line
    (event,) = told
    assert event == BackedOff("the summarizer failed in 3 rounds in a row", "a summary succeeds")


def test_the_offline_summary_never_rests() -> None:
    cm = Compactor(MODEL, window=4_000, max_output=400)
    told: list[Any] = []
    cm.on("backedoff")(told.append)
    cm.on("fellback")(told.append)
    for turn in range(8):
        fitted = cm.fit(talk(turn))
        assert fitted.compaction is not None
        assert fitted.compaction.summarizer == "offline"
    assert told == []


def test_system_text_and_tools_that_leave_no_room_are_named() -> None:
    cm, _ = agent(lambda _: "went well")
    fitted = cm.fit(talk(0), system="Rules: " + "words " * 3_300)
    assert "system text and tools have 3," in fitted.reason
