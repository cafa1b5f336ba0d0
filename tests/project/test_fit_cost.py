"""Cost of ``fit`` below its trigger: one pass over the list, none over unchanged system text and tools, few modules."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import house
import trimtab
from support.models import CLAUDE_MILLION, GPT
from support.transcripts import transcript
from trimtab.counting import counter
from trimtab.session import memory, sizes

PACKAGE = Path(trimtab.__file__).parent
TOOLS = [{"name": "Read", "description": "reads", "input_schema": {"type": "object", "properties": {}}}]


def grown(count: int) -> list[Any]:
    return transcript("u:9 " + " ".join(f"c{n} r{n}:{20 + 7 * n}" for n in range(1, count + 1)))


@pytest.mark.parametrize("model", [CLAUDE_MILLION, GPT])
def test_fit_below_the_trigger_reads_the_list_once_and_enters_nine_modules(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cm, messages = trimtab.Compactor(model), grown(4)
    cm.fit(messages, system="rules", tools=TOOLS)
    cm.record({"input_tokens": 900, "output_tokens": 5})
    messages = grown(5)

    reads: list[int] = []
    overheads: list[object] = []
    modules: set[str] = set()
    ledger_of, fixed_tokens = counter._core.Ledger.of, counter.fixed_tokens

    class Ledger:
        @staticmethod
        def of(read: Any, **options: Any) -> Any:
            reads.append(len(read))
            return ledger_of(read, **options)

    def counted(*args: Any) -> tuple[int, int]:
        overheads.append(args)
        return fixed_tokens(*args)

    def enter(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            modules.add(str(path.relative_to(PACKAGE)))

    monkeypatch.setattr(counter._core, "Ledger", Ledger)
    monkeypatch.setattr(memory, "fixed_tokens", counted)
    monkeypatch.setattr(sizes, "fixed_tokens", counted)
    monkeypatch.setattr(sizes, "overhead", counted)
    sys.setprofile(enter)
    try:
        fitted = cm.fit(messages, system="rules", tools=TOOLS)
    finally:
        sys.setprofile(None)
    assert fitted.messages is messages
    assert reads == [len(messages)]
    assert overheads == [], "system text and tools are those of the call before"
    assert modules == {
        "session/session.py",
        "session/decision.py",
        "session/memory.py",
        "session/rounds.py",
        "session/sizes.py",
        "counting/counter.py",
        "planning/forecast.py",
        "planning/budget.py",
        "planning/due.py",
    }


def test_a_change_inside_of_the_tools_or_the_system_text_is_counted():
    cm, messages = trimtab.Compactor(CLAUDE_MILLION), grown(2)
    system: list[Any] = [{"type": "text", "text": "rules"}]
    tools: list[Any] = [{**TOOLS[0], "input_schema": {"type": "object", "properties": {}}}]

    def sizes() -> list[int]:
        session = trimtab.Compactor(CLAUDE_MILLION).session()
        return [each.size(messages, system=system, tools=tools).beside for each in (cm, session)]

    found = [sizes(), sizes()]
    tools[0]["input_schema"]["properties"]["path"] = {"type": "string", "description": "which file"}
    found.append(sizes())
    system[0]["text"] = "rules, and many more of them"
    found.append(sizes())
    tools.append({**TOOLS[0], "name": "Write"})
    found.append(sizes())
    kept, fresh = zip(*found, strict=True)
    assert kept == fresh
    assert len({*kept}) == 4


def test_fit_of_the_same_list_is_at_most_40_calls_and_seven_deep() -> None:
    found = dict(house.walks())
    same, more = found["fit, same list"], found["fit, one turn more"]
    assert same.calls <= 40, "below the trigger the same list costs next to nothing"
    assert max(same.depth, more.depth) <= 7
    assert sum(same.core.values()) == 0, "beside the ledger nothing of the core is asked"
    assert more.calls <= 45
    compacts = found["fit that compacts 61 messages"]
    assert compacts.calls <= 1_220
    assert not {name: count for name, count in compacts.core.items() if count >= 10}, "no call a message or a row"
