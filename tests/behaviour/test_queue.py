"""Compaction as a task of the session: queued, answered first, a pivot afterwards; and pruning that only marks."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import trimtab
from support.models import GPT_SMALL
from trimtab.summarize import Function, Limits


def said(id: str, role: str, text: str, **info: Any) -> dict[str, Any]:
    return {"info": {"id": id, "role": role, **info}, "parts": [{"type": "text", "text": text}]}


def ran(id: str, call: str, output: str, tool: str = "bash") -> dict[str, Any]:
    state = {"status": "completed", "input": {}, "output": output, "time": {}, "attachments": []}
    return {
        "info": {"id": id, "role": "assistant"},
        "parts": [{"type": "tool", "callID": call, "tool": tool, "state": state}],
    }


def opened(messages: list[Any], write: Any = lambda _: "what was done") -> trimtab.CompactionQueue:
    writer = Function(write, limits=Limits(tries=1))
    cm = trimtab.Compactor(GPT_SMALL, provider="openai_chat", policy="opencode", summarizer=writer)
    return trimtab.CompactionQueue(cm, messages, clock=lambda: 7)


LONG = [said(f"m{n}", ("user", "assistant")[n % 2], f"{n} " + "words " * 80, finish="stop") for n in range(12)]


@pytest.mark.shows("R4.10", "R4.12", "R4.16", "R4.18")
def test_a_marker_is_answered_by_a_summary_that_is_the_pivot() -> None:
    held = opened([*LONG])
    assert held.run() is None
    marker = held.enqueue(auto=True)
    assert held.pending() is marker
    done = held.run()
    assert done
    assert done.summary == "what was done"
    assert held.pending() is None
    assert [m["info"]["role"] for m in held.visible()] == ["user", "assistant", "user"]
    assert [m["content"] for m in held.prompt()] == [
        "What did we do so far?",
        "what was done",
        "Continue if you have next steps",
    ]
    assert held.messages[: len(LONG)] == LONG


def test_old_output_that_could_be_pruned_does_not_take_the_summarys_place() -> None:
    """Pruning is maintenance beside compaction: a marker is answered by a summary, however much could be pruned."""
    held = opened([LONG[0], ran("t1", "c1", "x" * 400_000), *LONG[2:8], ran("t2", "c2", "y" * 200_000), *LONG[8:]])
    held.enqueue(auto=True)
    done = held.run()
    assert done
    assert done.summary == "what was done"
    assert held.pending() is None
    assert len(held.visible()) == 3


@pytest.mark.shows("R4.19")
def test_a_manual_compaction_does_not_go_on_by_itself() -> None:
    held = opened([*LONG])
    held.enqueue(auto=False)
    held.run()
    assert [m["info"]["role"] for m in held.visible()] == ["user", "assistant"]


@pytest.mark.shows("R4.40")
def test_a_failed_pass_leaves_the_history_and_does_not_go_on() -> None:
    def fails(_: object) -> str:
        raise RuntimeError("down")

    held = opened([*LONG], fails)
    held.enqueue(auto=True)
    held.run()
    assert held.messages[-1]["info"]["error"]
    assert held.visible() == held.messages
    assert held.pending() is not None


@pytest.mark.shows("R4.30")
def test_pruning_marks_old_results_and_keeps_what_they_said() -> None:
    big = "x" * 400_000
    messages = [
        said("u0", "user", "t"),
        ran("a0", "c0", big),
        ran("a1", "c1", big, "skill"),
        said("u1", "user", "t"),
        ran("a2", "c2", big),
        said("u2", "user", "t"),
    ]
    given = copy.deepcopy(messages)
    held = opened(messages)
    assert held.prune() == ("c0",)
    assert messages == given
    assert all(held.messages[at] is messages[at] for at in (0, 2, 3, 4, 5))
    assert held.messages[1]["parts"][0]["state"]["output"] == big
    assert held.messages[1]["parts"][0]["state"]["time"] == {"compacted": 7}
    (cleared,) = [m for m in held.prompt() if m.get("tool_call_id") == "c0"]
    assert cleared["content"] == "[Old tool result content cleared]"
    assert held.prune() == ()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("prompt is too long: 213462 tokens > 200000 maximum", "ContextOverflowError"),
        ({"type": "error", "error": {"code": "context_length_exceeded"}}, "ContextOverflowError"),
        ('{"error": {"message": "input exceeds the context window of this model"}}', "ContextOverflowError"),
        ("Too many requests: token limit exceeded for this minute", "APIError"),
        (ValueError("no"), "APIError"),
        (None, "APIError"),
    ],
)
def test_a_refusal_for_length_is_told_from_any_other(error: object, kind: str) -> None:
    assert trimtab.is_overflow(error) == (kind == "ContextOverflowError")
    assert trimtab.is_overflow(error, 413)
