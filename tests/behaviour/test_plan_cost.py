"""Cost of ``plan``: one reading in the core, one look at the rules, and nothing in Python for a message."""

from __future__ import annotations

import sys
import weakref
from pathlib import Path
from types import FrameType
from typing import Any

import trimtab
from support.models import GPT

PACKAGE = Path(trimtab.__file__).parent


class Words(str):
    """A string that a weak reference can name."""

    __slots__ = ("__weakref__",)


def functions_of(cm: trimtab.Compactor, messages: list[Any]) -> list[str]:
    """Return the functions of the package and its core that a second ``plan`` calls."""
    cm.plan(messages)
    calls: list[str] = []

    def enter(frame: FrameType, event: str, called: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE) and event in {"call", "c_call"}:
            calls.append(frame.f_code.co_name if event == "call" else called.__name__)

    sys.setprofile(enter)
    try:
        cm.plan(messages)
    finally:
        sys.setprofile(None)
    return calls


def test_plan_calls_as_many_functions_for_any_number_of_messages_and_asks_the_rules_once() -> None:
    few, many = ([{"role": "user", "content": f"message {n}"} for n in range(count)] for count in (30, 300))
    calls = functions_of(trimtab.Compactor(GPT), few)
    assert functions_of(trimtab.Compactor(GPT), many) == calls
    assert calls.count("validate") == 1


def test_a_counter_keeps_its_list_when_it_reads_one_message_between() -> None:
    counter, texts = trimtab.Counter("o200k_base"), [Words(f"text {n}") for n in range(3)]
    kept = weakref.ref(texts[0])
    counter.per_message([{"role": "user", "content": text} for text in texts])
    texts.clear()
    counter.per_message([{"role": "user", "content": "a message to pin"}])
    assert kept() is not None
    counter.per_message([{"role": "user", "content": "another list"}] * 3)
    assert kept() is None
