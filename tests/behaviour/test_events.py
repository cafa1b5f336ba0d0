"""Arguments of hooks and listeners: every field that a document names, with its value."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import trimtab
from support.models import CLAUDE
from trimtab import events, hooks

TALK = [{"role": ("user", "assistant")[n % 2], "content": f"step {n} " + "word " * 999} for n in range(30)]
TRIGGERED = {"trigger": "auto", "custom_instructions": None}


def done(policy: str, **more: Any) -> tuple[Any, list[Any], list[hooks.Review]]:
    """A compaction by a policy, what was told of it, and what was asked before."""
    told: list[Any] = []
    asked: list[hooks.Review] = []
    hook = more.pop("hook", lambda _: None)
    cm = trimtab.Compactor(
        CLAUDE,
        policy=policy,
        window=20_000,
        max_output=500,
        provider="openai_chat",
        listeners=[told.append],
        pre_compact=lambda review: (asked.append(review), hook(review))[1],
        **more,
    ).session("mine")
    return cm.compact(TALK, instructions="the tests", trigger="auto", target_tokens=4_000), told, asked


@pytest.mark.parametrize("policy", ["goat", "sven", "sven_narrative"])
def test_a_hook_is_given_trigger_and_instructions_before_anything_is_decided(policy: str) -> None:
    _, _, asked = done(policy)
    assert [review.plan is None for review in asked] == [True, False]
    assert asked[0].payload() == {"trigger": "auto", "custom_instructions": "the tests"}


def test_a_boundary_and_a_session_start_have_the_documents_fields() -> None:
    found, told, _ = done("goat")
    start, boundary = (event for event in told if isinstance(event, events.SessionStart | events.CompactBoundary))
    assert start.payload() == {"source": "compact", "session_id": "mine"}
    payload = boundary.payload()
    assert len(payload.pop("uuid")) == 36
    assert payload == {
        "type": "system",
        "subtype": "compact_boundary",
        "compact_metadata": {"trigger": "auto", "pre_tokens": found.tokens_before},
        "session_id": "mine",
    }
    assert boundary.payload()["uuid"] != done("goat")[1][-1].payload()["uuid"]


@pytest.mark.parametrize(("policy", "strategy"), [("sven", "structured"), ("sven_narrative", "narrative")])
def test_context_compacted_says_before_after_strategy_and_turn(policy: str, strategy: str) -> None:
    found, told, _ = done(policy)
    (event,) = (event for event in told if isinstance(event, events.ContextCompacted))
    assert event.payload() == {
        "type": "ContextCompacted",
        "tokens_before": found.tokens_before,
        "tokens_after": found.tokens_after,
        "strategy": strategy,
        "turn": 0,
    }
    moved = f"{found.tokens_before} → {found.tokens_after} tokens"
    assert str(event) == f"[sven:context:compacted:{strategy}] {moved} (tool round 0)"


def test_a_hook_that_raises_refuses_with_its_reason_and_changes_nothing() -> None:
    def refuses(_: hooks.Review) -> None:
        raise RuntimeError("not while the build runs")

    found, told, _ = done("goat", hook=refuses)
    assert (found.ref, list(found.messages)) == (None, TALK)
    assert "not while the build runs" in found.reason
    (event,) = told
    assert isinstance(event, events.Refused)
    assert (event.trigger, "not while the build runs" in event.reason) == ("auto", True)


def test_an_awaited_hook_changes_the_instructions_and_a_listener_that_raises_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[Any] = []

    async def changes(_: hooks.Review) -> hooks.Verdict:
        await asyncio.sleep(0)
        return hooks.Verdict(instructions="the paths")

    def write(ask: Any) -> str:
        seen.append(ask.instructions)
        return "what was done"

    def raises(event: Any) -> None:
        raise RuntimeError(type(event).__name__)

    cm = trimtab.Compactor(
        CLAUDE,
        policy="goat",
        window=20_000,
        max_output=500,
        provider="openai_chat",
        summarizer=write,
        pre_compact=changes,
        listeners=[raises],
    )
    with caplog.at_level(logging.ERROR):
        found = asyncio.run(cm.acompact(TALK, instructions="the tests"))
    assert found.summary == "what was done"
    assert seen == ["the paths"]
    assert "a listener raised on CompactBoundary" in caplog.text
