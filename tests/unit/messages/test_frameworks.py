"""LangChain's and pydantic-ai's messages are read at every door, and come back as what they are."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from langchain_core import messages as lc
from pydantic_ai import messages as ai
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from test_foreign import LANGCHAIN, PYDANTIC_AI, doors

import trimtab
from support.checker import check
from support.models import CLAUDE, GPT
from support.transcripts import PROVIDERS, specs, transcript
from trimtab.messages.objects import InputMessages, plain

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WORDS = "done 1234 " * 300


def langchain(turns: int) -> list[Any]:
    """A conversation whose messages have everything that an edit could lose."""
    made: list[Any] = [lc.SystemMessage("rules", id="s"), lc.HumanMessage("go", name="ann", id="h")]
    for n in range(turns):
        content = [
            {"type": "thinking", "thinking": "hm " * 20, "signature": "s"},
            {"type": "text", "text": "let me look"},
            {"type": "tool_use", "id": f"c{n}", "name": "f", "input": {"a": n}},
        ]
        calls = [{"name": "f", "args": {"a": n}, "id": f"c{n}"}, {"name": "g", "args": {}, "id": f"d{n}"}]
        usage = {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10}
        made.append(lc.AIMessage(content, tool_calls=calls, id=f"ai{n}", usage_metadata=usage))
        made.append(
            lc.ToolMessage(WORDS, tool_call_id=f"c{n}", name="f", status="error", artifact={"n": n}, id=f"t{n}")
        )
        made.append(lc.ToolMessage("ok", tool_call_id=f"d{n}", name="g", id=f"u{n}"))
        if n % 9 == 8:
            made.extend([lc.AIMessage("ok"), lc.HumanMessage([{"type": "text", "text": f"next {n}"}])])
    return made


def pydantic_ai(turns: int) -> list[Any]:
    """The same for pydantic-ai."""
    first = ai.ModelRequest(parts=[ai.SystemPromptPart("rules"), ai.UserPromptPart("go")], conversation_id="talk")
    made: list[Any] = [first]
    for n in range(turns):
        calls = [ai.ToolCallPart("f", {"a": n}, f"c{n}"), ai.ToolCallPart("g", json.dumps({"a": n}), f"d{n}")]
        thinking = ai.ThinkingPart("hm " * 20, signature="s")
        made.append(ai.ModelResponse(parts=[thinking, ai.TextPart("let me look"), *calls], model_name="m"))
        parts = [
            ai.ToolReturnPart("f", WORDS, f"c{n}", metadata={"n": n}),
            ai.ToolReturnPart("g", {"x": [1, 2]}, f"d{n}", outcome="failed"),
        ]
        made.append(ai.ModelRequest(parts=parts, run_id="r"))
        if n % 9 == 8:
            picture = ai.BinaryContent(data=b"aa", media_type="image/png")
            made.append(ai.ModelResponse(parts=[ai.TextPart("ok")]))
            made.append(ai.ModelRequest(parts=[ai.UserPromptPart([f"next {n}", picture, ai.CachePoint()])]))
    return made


MAKERS = {"langchain": langchain, "pydantic_ai": pydantic_ai}
SHAPES = {"langchain": "openai_chat", "pydantic_ai": "anthropic"}
EVERY = pytest.mark.parametrize("kind", MAKERS)


def sent(messages: list[Any], kind: str) -> list[dict[str, Any]]:
    """What the framework itself sends to a server of Chat Completions."""
    if kind == "langchain":
        found = lc.convert_to_openai_messages(messages)
        for message in found:
            if isinstance(content := message["content"], list):
                message["content"] = [block for block in content if block["type"] not in {"thinking", "tool_use"}]
        return found
    model = OpenAIChatModel(GPT, provider=OpenAIProvider(api_key="k"))
    return asyncio.run(model._map_messages(messages, ModelRequestParameters()))


@pytest.mark.parametrize("messages", [LANGCHAIN, PYDANTIC_AI], ids=MAKERS)
@pytest.mark.parametrize("provider", [None, *PROVIDERS])
def test_a_frameworks_messages_are_read_at_every_door(messages: list[Any], provider: Any) -> None:
    for name, door in doors(GPT, provider).items():
        if name == "overflow":
            with pytest.raises(trimtab.OverflowedError):
                door(messages)
        else:
            assert door(messages) is not None
    assert trimtab.validate(messages, provider=provider or "openai_chat") == []
    assert trimtab.Compactor(GPT).fit(messages).messages is messages


def test_the_count_is_that_of_the_messages_that_the_framework_sends() -> None:
    for model in (GPT, CLAUDE):
        for messages, kind in ((LANGCHAIN, "langchain"), (PYDANTIC_AI, "pydantic_ai")):
            wire = sent(messages, kind)
            assert abs(trimtab.count(messages, model=model) - trimtab.count(wire, model=model)) <= 4, (model, kind)


@EVERY
@pytest.mark.parametrize("share", [0.5, 0.15, 0.03])
@pytest.mark.parametrize("model", [GPT, CLAUDE])
def test_untouched_messages_are_the_same_objects_and_edited_ones_keep_the_rest(
    kind: str, share: float, model: str
) -> None:
    messages = MAKERS[kind](40)
    before = repr(messages)
    cm = trimtab.Compactor(model)
    done = cm.compact(messages, target_share=share)
    assert repr(messages) == before
    assert done.ref
    assert {type(message) for message in done.messages} <= {type(message) for message in messages}
    kept = [message for message in done.messages if any(message is given for given in messages)]
    edited = [message for message in done.messages if not any(message is given for given in messages)]
    assert kept
    assert edited
    assert check(sent(list(done.messages), kind), "openai_chat", in_flight=True) == []
    assert check(plain(done.messages), SHAPES[kind], in_flight=True) == []
    assert abs(cm.count(done.messages) - done.tokens_after) <= 20
    assert cm.restore(done.ref) == json.loads(json.dumps(plain(messages)))
    if kind == "langchain":
        assert done.messages[0] is messages[0]
        given = {message.id: message for message in messages if message.id}
        for message in edited:
            if message.id in given:
                changed = {"content": given[message.id].content}
                if message.type == "ai":
                    changed["tool_calls"] = given[message.id].tool_calls
                assert message.model_copy(update=changed) == given[message.id]
            else:
                assert message.content.startswith(("<trimtab-summary", "[trimtab", "Understood."))
    else:
        assert done.messages[0].parts[0].content == "rules"
        prompts = [part for message in done.messages for part in message.parts if part.part_kind == "system-prompt"]
        assert prompts == messages[0].parts[:1]
        returns = {part.tool_call_id: part for m in messages for part in m.parts if part.part_kind == "tool-return"}
        for message in edited:
            for part in message.parts:
                if part.part_kind == "tool-return":
                    old = returns[part.tool_call_id]
                    assert (part.metadata, part.outcome, part.timestamp) == (old.metadata, old.outcome, old.timestamp)


@EVERY
def test_a_result_is_recognized_when_it_comes_back(kind: str) -> None:
    """As from a framework that keeps the compacted list: the summary is updated, not stacked."""
    cm = trimtab.Compactor(CLAUDE, window=20_000, max_output=2_000)
    messages, compactions = MAKERS[kind](2), 0
    for more in range(2, 26):
        messages = [*messages, *MAKERS[kind](more + 1)[len(MAKERS[kind](more)) :]]
        fitted = cm.fit(messages)
        compactions += fitted.compaction is not None
        messages = list(fitted.messages)
        assert sum("<trimtab-summary" in str(message) for message in plain(messages)) <= 1
        assert check(sent(messages, kind), "openai_chat", in_flight=True) == []
    assert compactions >= 3


@EVERY
def test_the_whole_history_is_taken_again_and_again(kind: str) -> None:
    """As from a hook whose result the framework forgets."""
    cm = trimtab.Compactor(CLAUDE, window=20_000, max_output=2_000)
    done = 0
    for turns in range(1, 40):
        done += cm.fit(MAKERS[kind](turns)).compaction is not None if kind == "langchain" else 0
    if kind == "pydantic_ai":
        history = pydantic_ai(40)
        for end in range(3, len(history), 2):
            done += cm.fit(history[:end]).compaction is not None
    assert 3 <= done < 15


@settings(max_examples=40)
@given(specs())
def test_any_valid_list_of_chat_completions_survives_the_way_through_langchain(spec: str) -> None:
    try:
        wire = transcript(spec, "openai_chat")
        objects = lc.convert_to_messages(wire)
    except (ValueError, TypeError, NotImplementedError):
        return  # neither Chat Completions nor LangChain takes it
    found = plain(objects)
    assert [message["role"] for message in found] == [message["role"] for message in wire]
    assert [m.get("tool_call_id") for m in found] == [m.get("tool_call_id") for m in wire]
    assert trimtab.validate(objects, provider="openai_chat") == trimtab.validate(found, provider="openai_chat")


def test_langchains_blocks_are_counted() -> None:
    url = f"data:image/png;base64,{PNG}"
    pictures = [
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "image", "base64": PNG, "mime_type": "image/png"},
        {"type": "image", "source_type": "base64", "data": PNG, "mime_type": "image/png"},
        {"type": "image", "source": {"type": "base64", "data": PNG, "media_type": "image/png"}},
    ]
    counts = {trimtab.count([lc.HumanMessage([picture])], model=GPT) for picture in pictures}
    assert len(counts) == 1
    others = [
        {"type": "file", "base64": "aGk=", "mime_type": "application/pdf"},
        {"type": "audio", "base64": "aGk=", "mime_type": "audio/wav"},
        {"type": "reasoning", "reasoning": "so and so"},
        {"type": "unheard_of", "field": 1},
        "a text",
    ]
    for block in others:
        assert trimtab.Compactor(GPT).fit([lc.HumanMessage("go"), lc.AIMessage([block]), lc.HumanMessage("on")])
    chunk = lc.AIMessageChunk("hello")
    assert plain([chunk])[0]["role"] == "assistant"


def rewritten(message: lc.AIMessage, **changes: Any) -> lc.AIMessage:
    """Return a message after an edit of its plain form."""
    (read,) = plain([message])
    return InputMessages([message]).write([{**read, **changes}])[0]


def shortened(message: lc.AIMessage) -> lc.AIMessage:
    """Return a message whose first call has lost its arguments."""
    first, *others = plain([message])[0]["tool_calls"]
    short = {**first, "function": {**first["function"], "arguments": '{"a": "short"}'}}
    return rewritten(message, tool_calls=[short, *others])


def test_a_call_whose_arguments_are_no_json_is_a_call() -> None:
    bad = {"name": "f", "args": "{,,}", "id": "x", "error": "e", "type": "invalid_tool_call"}
    nameless = {"name": None, "args": "{", "id": None, "error": "e", "type": "invalid_tool_call"}
    for others in ([], [{"name": "f", "args": {"a": 1}, "id": "c"}]):
        call = lc.AIMessage("", tool_calls=others, invalid_tool_calls=[bad, nameless])
        results = [lc.ToolMessage("ok", tool_call_id=each["id"]) for each in others]
        messages = [lc.HumanMessage("go"), call, *results, lc.ToolMessage("bad arguments", tool_call_id="x")]
        assert plain(messages)[1]["tool_calls"][-1]["function"] == {"name": "f", "arguments": "{,,}"}
        assert trimtab.Compactor(GPT).fit(messages).messages is messages
        assert trimtab.Compactor(CLAUDE).fit(messages).messages is messages
    edited = shortened(call)
    assert edited.tool_calls[0]["args"] == {"a": "short"}
    assert edited.invalid_tool_calls == [bad]
    assert rewritten(call, tool_calls=plain([call])[0]["tool_calls"][:1]).invalid_tool_calls == []


def test_edited_arguments_are_written_into_the_blocks_that_repeat_them() -> None:
    long = {"a": "long " * 9}
    text, short = json.dumps(long), {"a": "short"}
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (
            {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": text},
            {"arguments": json.dumps(short)},
        ),
        ({"type": "tool_use", "id": "c", "name": "f", "input": long, "caller": {"type": "direct"}}, {"input": short}),
        (
            {"type": "tool_call", "id": "c", "name": "f", "args": long, "extras": {"item_id": "fc_1"}},
            {"args": short},
        ),
        ({"type": "tool_call_chunk", "id": "c", "name": "f", "args": text, "index": 0}, {"args": json.dumps(short)}),
    ]
    for block, change in blocks:
        other = {**block, "id": "d", "call_id": "d"}
        calls = [{"name": "f", "args": long, "id": name} for name in ("c", "d")]
        given = dict(block)
        if "extras" in given:
            given["extras"] = {**given["extras"], "arguments": text}
        elif given["type"] == "tool_use":
            given["partial_json"] = text
        edited = shortened(lc.AIMessage([given, other], tool_calls=calls))
        assert edited.content == [{**block, **change}, other]
        assert edited.tool_calls[0]["args"] == short


def test_thinking_without_a_text_stays_in_an_edited_message_in_its_place() -> None:
    for thought in (
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"},
        {"type": "thinking", "thinking": "", "signature": "s"},
    ):
        seen = {**thought, "reasoning": "so", "thinking": "so"}
        said, call = {"type": "text", "text": "well"}, {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}
        calls = [{"name": "f", "args": {"a": 1}, "id": "c"}]
        edited = shortened(lc.AIMessage([thought, said, thought, call], tool_calls=calls))
        assert edited.content == [thought, said, thought, {**call, "input": {"a": "short"}}]
        assert rewritten(edited, content="so").content[1] == {"type": "text", "text": "so"}
        assert rewritten(lc.AIMessage([thought, said]), content="").content == ""
        visible = lc.AIMessage([seen, said, call], tool_calls=calls)
        assert shortened(visible).content[0] == seen
        without = {key: value for key, value in plain([visible])[0].items() if key != "reasoning_content"}
        assert InputMessages([visible]).write([without])[0].content == [said, call]


def test_an_instruction_to_langchains_reducer_is_no_message() -> None:
    with pytest.raises(trimtab.MessageError, match="not for a model") as caught:
        trimtab.count([lc.HumanMessage("go"), lc.RemoveMessage(id="1")], model=GPT)
    assert caught.value.index == 1


def test_pydantic_ais_other_parts_are_read() -> None:
    messages = [
        ai.ModelRequest(parts=[ai.UserPromptPart("go")], instructions="be brief"),
        ai.ModelResponse(parts=[ai.ToolCallPart("f", "{broken", "a"), ai.ThinkingPart("", signature="x")]),
        ai.ModelRequest(parts=[ai.UserPromptPart("and"), ai.ToolReturnPart("f", [1], "a", outcome="retried")]),
        ai.ModelResponse(parts=[]),
        ai.ModelRequest(parts=[ai.SystemPromptPart("now this"), ai.UserPromptPart("on")], instructions="be kind"),
        ai.ModelResponse(
            parts=[ai.NativeToolCallPart("web_search", {"q": 1}, "s"), ai.NativeToolReturnPart("web_search", [1], "s")]
        ),
        ai.ModelRequest(parts=[ai.UserPromptPart([ai.ImageUrl("https://x/y.png"), ai.DocumentUrl("https://x/y.pdf")])]),
    ]
    read = plain(messages)
    assert [block["type"] for block in read[2]["content"]] == ["tool_result", "text"]
    assert read[2]["content"][0]["is_error"]
    assert "now this" in str(read[4])
    assert trimtab.validate(messages, provider="anthropic") == []
    less = [*messages[:-1], ai.ModelRequest(parts=messages[-1].parts, instructions="be kind " * 50)]
    assert trimtab.count(less, model=GPT) > trimtab.count(messages, model=GPT) + 90


def test_a_system_message_that_is_passed_beside_the_list_counts_once() -> None:
    cm = trimtab.Compactor(GPT)
    assert cm.count(LANGCHAIN, system="rules") == cm.count(LANGCHAIN)


def test_messages_of_langchain_and_dicts_may_be_mixed() -> None:
    messages = langchain(20)
    messages[1] = {"role": "user", "content": "go"}
    done = trimtab.Compactor(GPT).compact(messages, target_share=0.5)
    assert done.messages[1] is messages[1]
