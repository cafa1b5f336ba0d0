"""Messages of frameworks are made plain once, as SDK objects are, and a change inside of one is noticed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core import messages as lc
from pydantic_ai import messages as ai
from pydantic_ai.usage import RequestUsage

import trimtab
from support.models import GPT
from trimtab.messages.objects import InputMessages

EDITS = ("text", "input", "result", "append", "delete", "slide", "copy", "first", "same")


def langchain(start: int, stop: int) -> list[Any]:
    """Return turns of a tool loop, behind the question that it begins with at 0."""
    messages: list[Any] = [] if start else [lc.SystemMessage("Be good."), lc.HumanMessage("go", id="1")]
    for n in range(start, stop):
        usage = {"input_tokens": n + 1, "output_tokens": 9, "total_tokens": n + 10}
        call = {"name": "look", "args": {"n": n, "all": [n]}, "id": f"c{n}"}
        messages.append(lc.AIMessage(f"step {n}", id=f"a{n}", tool_calls=[call], usage_metadata=usage))
        messages.append(lc.ToolMessage(f"result {n}", tool_call_id=f"c{n}", id=f"t{n}"))
    return messages


def pydantic_ai(start: int, stop: int) -> list[Any]:
    """Return the same in pydantic-ai's messages; they hold times, and some a picture."""
    asked = [
        ai.SystemPromptPart("Be good."),
        ai.UserPromptPart(["go", ai.BinaryContent(b"\x89PNG", media_type="image/png")]),
    ]
    messages: list[Any] = [] if start else [ai.ModelRequest(parts=asked)]
    for n in range(start, stop):
        parts = [ai.TextPart(f"step {n}"), ai.ToolCallPart("look", {"n": n, "all": [n]}, f"c{n}")]
        messages.append(ai.ModelResponse(parts=parts, usage=RequestUsage(input_tokens=n + 1, output_tokens=9)))
        messages.append(ai.ModelRequest(parts=[ai.ToolReturnPart("look", f"result {n}", f"c{n}")]))
    return messages


KINDS: dict[str, Callable[[int, int], list[Any]]] = {"langchain": langchain, "pydantic_ai": pydantic_ai}


def edit(messages: list[Any], how: str, place: int, kind: str) -> list[Any]:
    """Return the list with one change, in place where that can be."""
    answers = [message for message in messages if message.__class__.__name__ in ("AIMessage", "ModelResponse")]
    answer, at = (answers[place % len(answers)], 1_000 + len(messages)) if answers else (None, 0)
    result = messages[messages.index(answer) + 1] if answer in messages[:-1] else None
    match how, kind:
        case "text", "langchain" if answer:
            answer.content += " and more"
        case "text", _ if answer:
            answer.parts[0].content += " and more"
        case "input", "langchain" if answer:
            answer.tool_calls[0]["args"]["all"].append(7)
        case "input", _ if answer:
            answer.parts[1].args["all"].append(7)
        case "result", "langchain" if result:
            result.content += " and more"
        case "result", _ if result:
            result.parts[0] = replace(result.parts[0], content="another")
        case "append", _:
            messages += KINDS[kind](at, at + 1)
        case "delete", _:
            first = len(KINDS[kind](0, 0))
            del messages[first : first + 2]
        case "slide", _:
            first = len(KINDS[kind](0, 0))
            return [*messages[:first], *messages[first + 2 :]]
        case "copy", _:
            return copy.deepcopy(messages)
        case "first", "langchain":
            return [lc.SystemMessage(f"It is {place} o'clock."), *messages[1:]]
        case "first", _:
            asked = [ai.SystemPromptPart(f"It is {place} o'clock."), *messages[0].parts[1:]]
            return [ai.ModelRequest(parts=asked), *messages[1:]]
    return messages


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The messages of the framework that were made plain."""
    seen: list[Any] = []
    read = InputMessages._message

    def counted(self: Any, message: Any, **options: Any) -> Any:
        if not isinstance(message, dict):  # a plain form that is checked
            seen.append(message)
        return read(self, message, **options)

    monkeypatch.setattr(InputMessages, "_message", counted)
    return seen


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(edits=st.lists(st.tuples(st.sampled_from(EDITS), st.integers(0, 9)), max_size=8))
def test_a_session_sees_what_a_fresh_one_sees_whatever_changes_inside_of_messages(
    kind: str, edits: list[tuple[str, int]]
) -> None:
    cm = trimtab.Compactor(GPT)
    session, messages = cm.session("kept"), KINDS[kind](0, 4)
    for how, place in [("same", 0), *edits]:
        messages = edit(messages, how, place, kind)
        assert session.size(messages) == cm.session("fresh").size(messages)
        seen = session.counter.per_message(messages).tolist()
        assert seen == cm.session("fresh").counter.per_message(messages).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_frameworks_messages_are_made_plain_once(kind: str, made: list[Any]) -> None:
    session = trimtab.Compactor(GPT).session("kept")
    messages = KINDS[kind](0, 20)
    session.fit(messages)
    made.clear()
    session.fit(messages)
    session.fit([*messages])
    assert made == []
    messages += KINDS[kind](20, 21)
    session.fit(messages)
    assert len(made) <= 4, "the two new messages, read once and checked once"


@pytest.mark.parametrize("kind", KINDS)
def test_a_frameworks_messages_are_made_plain_once_while_a_result_stands_in_for_them(
    kind: str, made: list[Any]
) -> None:
    session = trimtab.Compactor(GPT, summarizer="offline").session("kept")
    messages = KINDS[kind](0, 60)
    compacted = session.compact(messages, target_share=0.4)
    assert compacted.ref
    for _ in range(2):
        first = session.fit(messages)
        assert first.resumed_ref == compacted.ref
    made.clear()
    assert [*session.fit(messages).messages] == [*first.messages]
    assert made == []
    messages += KINDS[kind](60, 61)
    again = session.fit(messages)
    assert [*again.messages] == [*first.messages, *messages[-2:]]
    assert again.messages[-1] is messages[-1]
    assert len(made) <= 6, "the two new messages: of the list, behind the result, and checked"
    edit(messages, "text", 0, kind)
    assert session.fit(messages).resumed_ref is None, "the list does not begin with what was compacted"


def test_the_system_prompt_of_pydantic_ai_stays_in_the_first_request_of_a_result() -> None:
    session = trimtab.Compactor(GPT, summarizer="offline").session("kept")
    messages = pydantic_ai(0, 60)
    session.compact(messages, target_share=0.4)
    for _ in range(3):
        messages += pydantic_ai(len(messages), len(messages) + 1)
        found = session.fit(messages).messages
        prompts = [part.content for message in found for part in message.parts if part.part_kind == "system-prompt"]
        assert prompts == ["Be good."]
        assert found[0].parts[0].part_kind == "system-prompt"
