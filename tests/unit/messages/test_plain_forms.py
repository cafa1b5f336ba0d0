"""Objects are made plain once: their plain form is remembered, and every change inside of them is noticed."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

import pytest
from anthropic.types import Message, TextBlock, ToolUseBlock
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage
from pydantic import BaseModel

import trimtab
from support.models import CLAUDE, GPT
from trimtab import _core

USAGE = {"input_tokens": 5, "output_tokens": 6}
KINDS = ("blocks", "answers", "chat", "dataclasses", "models")
EDITS = ("text", "input", "append", "delete", "insert", "slide", "first", "copy", "unset", "same")


@dataclass
class Said:
    """A message of a program of its own."""

    role: str
    content: Any


class Model(BaseModel):
    """The same, as a model of pydantic, with fields that it does not name."""

    model_config = {"extra": "allow"}
    role: str
    content: Any


def call(number: int, kind: str) -> Any:
    """Return an answer with a call, as objects of this kind."""
    arguments = {"path": f"/a/{number}", "lines": [number, number + 1]}
    if kind == "chat":
        function = {"name": "Read", "arguments": str(arguments).replace("'", '"')}
        called = [{"id": f"c{number}", "type": "function", "function": function}]
        return ChatCompletionMessage.model_validate({"role": "assistant", "content": "reads", "tool_calls": called})
    text, use = {"type": "text", "text": f"step {number}"}, {"type": "tool_use", "id": f"c{number}", "name": "Read"}
    use |= {"input": arguments}
    blocks = [TextBlock.model_validate(text), ToolUseBlock.model_validate(use)]
    match kind:
        case "blocks":
            return {"role": "assistant", "content": blocks}
        case "answers":
            about = {"id": "m", "type": "message", "model": CLAUDE, "stop_reason": "tool_use"}
            return Message.model_validate(
                {**about, "role": "assistant", "content": [text, use], "stop_sequence": None, "usage": USAGE}
            )
        case "dataclasses":
            return Said("assistant", [text, use])
    return Model(role="assistant", content=[text, use])


def talk(start: int, stop: int, kind: str) -> list[Any]:
    """Return turns of a tool loop, without the question that they begin with."""
    messages: list[Any] = []
    for number in range(start, stop):
        output = f"result {number}"
        result: Any = {"type": "tool_result", "tool_use_id": f"c{number}", "content": output}
        answered: Any = {"role": "user", "content": [result]}
        if kind == "chat":
            answered = {"role": "tool", "tool_call_id": f"c{number}", "content": output}
        messages += [call(number, kind), answered]
    return messages


def edit(messages: list[Any], how: str, place: int, kind: str) -> list[Any]:
    """Return the list with one change, in place where that can be."""
    answers = [message for message in messages if type(message) is not dict or message["role"] == "assistant"]
    answer = answers[place % len(answers)] if answers else None
    content = answer["content"] if isinstance(answer, dict) else getattr(answer, "content", None)
    blocks = content if isinstance(content, list) else []
    text, use = (*blocks, None, None)[:2]
    match how:
        case "text" if kind == "chat" and answer:
            answer.content += " and more"
        case "text" if isinstance(text, dict):
            text["text"] += " and more"
        case "text" if text:
            text.text += " and more"
        case "input" if kind == "chat" and answer:
            answer.tool_calls[0].function.arguments = '{"path": "/elsewhere"}'
        case "input" if use:
            given = use["input"] if isinstance(use, dict) else use.input
            given["lines"].append(7)
        case "unset" if kind == "answers" and use:
            use.caller = None  # it is sent from now on, as null
        case "append":
            messages += talk(1_000 + len(messages), 1_001 + len(messages), kind)
        case "delete":
            del messages[1:3]
        case "insert":
            messages[1:1] = talk(2_000 + len(messages), 2_001 + len(messages), kind)
        case "slide":
            return [messages[0], *messages[3:]]
        case "first":
            return [{"role": "user", "content": f"it is {place} o'clock"}, *messages[1:]]
        case "copy":
            return copy.deepcopy(messages)
    return messages


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(edits=st.lists(st.tuples(st.sampled_from(EDITS), st.integers(0, 9)), max_size=8))
def test_a_session_sees_what_a_fresh_one_sees_whatever_changes_inside_of_objects(
    kind: str, edits: list[tuple[str, int]]
) -> None:
    cm = trimtab.Compactor(GPT if kind == "chat" else "claude-opus-4-8")
    session, messages = cm.session("kept"), [{"role": "user", "content": "go"}, *talk(0, 4, kind)]
    for how, place in [("same", 0), *edits]:
        messages = edit(messages, how, place, kind)
        assert session.size(messages) == cm.session("fresh").size(messages)
        seen = session.counter.per_message(messages).tolist()
        assert seen == cm.session("fresh").counter.per_message(messages).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_objects_are_made_plain_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from trimtab.messages.objects import InputMessages

    made: list[Any] = []
    read = InputMessages._message

    def counted(self: Any, message: Any, **options: Any) -> Any:
        made.append(message)
        return read(self, message, **options)

    session = trimtab.Compactor(GPT if kind == "chat" else CLAUDE).session("kept")
    messages = [{"role": "user", "content": "go"}, *talk(0, 20, kind)]
    session.fit(messages)
    monkeypatch.setattr(InputMessages, "_message", counted)
    session.fit(messages)
    assert made == []
    messages += talk(20, 21, kind)
    session.fit(messages)
    assert len(made) <= 4, "the two new messages, read once and checked once"
    made.clear()
    session.fit([{"role": "user", "content": "another question"}, *messages[3:]])
    assert len(made) <= 2, "the first message alone is new"


@pytest.mark.parametrize("kind", KINDS)
def test_objects_are_made_plain_once_while_a_result_stands_in_for_them(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trimtab.messages.objects import InputMessages

    made: list[Any] = []
    read = InputMessages._message

    def counted(self: Any, message: Any, **options: Any) -> Any:
        made.append(message)
        return read(self, message, **options)

    cm = trimtab.Compactor(GPT if kind == "chat" else CLAUDE, summarizer="offline")
    session, messages = cm.session("kept"), [{"role": "user", "content": "go"}, *talk(0, 60, kind)]
    compacted = session.compact(messages, target_share=0.4)
    assert compacted.ref
    for _ in range(2):
        first = session.fit(messages)
        assert first.resumed_ref == compacted.ref
    monkeypatch.setattr(InputMessages, "_message", counted)
    again = session.fit(messages)
    assert made == []
    assert [*again.messages] == [*first.messages]
    messages += talk(60, 61, kind)
    assert [*session.fit(messages).messages] == [*first.messages, *messages[-2:]]
    assert len(made) <= 6, "the two new messages: of the list, behind the result, and checked"
    summary = next(message for message in first.messages if all(message is not given for given in messages))
    if isinstance(summary, dict):
        summary["content"] = "changed by its caller"
        assert [*session.fit(messages).messages] == [*again.messages, *messages[-2:]] or summary in again.messages
    edit(messages, "text", 0, kind)
    assert session.fit(messages).resumed_ref is None, "the list does not begin with what was compacted"


def test_values_are_placed_where_the_last_list_had_them() -> None:
    seen = _core.Seen()
    parsed = '{"role": "user", "content": ["a text", 2.5, 123456789, true, null]}'
    values: list[Any] = [Said("user", "a"), json.loads(parsed), Model(**json.loads(parsed), more=1)]
    assert seen.places(values) == (0, [None, None, None])
    assert seen.places(values) == (3, [])
    assert seen.places([*values[1:], {"new": 1}]) == (0, [1, 2, None])
    assert seen.places([json.loads(parsed), Model(**json.loads(parsed), more=1)]) == (0, [0, 1])
    other = json.loads(parsed.replace("true", "1"))
    assert seen.places([other, Model(**json.loads(parsed), more=2)]) == (0, [None, None])
    unknown = [object(), Said("user", bytearray(b"may change")), {1, 2}]
    assert seen.places(unknown) == seen.places(unknown) == (0, [None] * 3)
