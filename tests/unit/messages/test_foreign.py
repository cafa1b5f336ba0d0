"""Messages of most frameworks, dumps of all, mixed lists and unknown elements are refused at every door."""

from __future__ import annotations

import asyncio
import json
import typing
import warnings
from base64 import b64encode
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator
from google.genai import types as genai
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.load import dumpd, load
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    messages_from_dict,
    messages_to_dict,
)
from openai.types import chat, responses
from pydantic_ai import messages as ai

import trimtab
from support.command import run
from support.models import CLAUDE, GEMINI, GPT
from support.transcripts import PROVIDERS, specs, transcript
from trimtab import formats
from trimtab.messages.objects import plain

MODELS = dict.fromkeys(PROVIDERS, GPT) | {"anthropic": CLAUDE, "gemini": GEMINI}
MODELS["bedrock"] = "anthropic.claude-sonnet-4-5-20250929-v1:0"
CONVERSE = botocore.session.get_session().get_service_model("bedrock-runtime")

LANGCHAIN = [
    SystemMessage("rules"),
    HumanMessage("go"),
    AIMessage("", tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c1"}]),
    ToolMessage("done", tool_call_id="c1"),
    ChatMessage(role="user", content="and now?"),
]
PYDANTIC_AI = [
    ai.ModelRequest(parts=[ai.SystemPromptPart("rules"), ai.UserPromptPart("go")]),
    ai.ModelResponse(parts=[ai.ToolCallPart("f", {"a": 1}, "c1")]),
    ai.ModelRequest(parts=[ai.ToolReturnPart("f", "done", "c1")]),
    ai.ModelResponse(parts=[ai.TextPart("so")]),
]
ADAPTER = ai.ModelMessagesTypeAdapter


@dataclass
class RunItem:
    """As the OpenAI Agents SDK has it: an agent, and the item that goes into the next input."""

    agent: Any
    raw_item: Any
    type: str = "message_output_item"


FOREIGN: dict[str, tuple[list[Any], str]] = {
    "LangChain model_dump": ([m.model_dump() for m in LANGCHAIN], "pass the messages themselves"),
    "LangChain messages_to_dict": (messages_to_dict(LANGCHAIN), "messages_from_dict"),
    "LangChain dumpd": ([dumpd(m) for m in LANGCHAIN], "load("),
    "LangChain tuples": ([("system", "rules"), ("human", "go")], "convert_to_messages"),
    "pydantic-ai dump": (ADAPTER.dump_python(PYDANTIC_AI), "validate_python"),
    "pydantic-ai JSON": (json.loads(ADAPTER.dump_json(PYDANTIC_AI)), "validate_python"),
    "OpenAI Agents items": ([RunItem("a", {"type": "message", "role": "assistant", "content": "x"})], "to_input_list"),
    "AI SDK UI messages": (
        [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "go"}]}],
        "convertToModelMessages",
    ),
    "AI SDK model messages": (
        [
            {
                "role": "assistant",
                "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "f", "input": {}}],
            }
        ],
        '"role"',
    ),
    "LlamaIndex": (
        [{"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": "go"}]}],
        "to_openai_message_dicts",
    ),
    "Haystack": (
        [{"role": "user", "meta": {}, "name": None, "content": [{"text": "go"}]}],
        "to_openai_dict_format",
    ),
    "Haystack calls": (
        [{"role": "assistant", "meta": {}, "content": [{"tool_call": {"tool_name": "f", "arguments": {}, "id": "c"}}]}],
        "to_openai_dict_format",
    ),
    "AutoGen": ([{"content": "go", "source": "user", "type": "UserMessage"}], "role"),
    "MCP": ([{"role": "user", "content": {"type": "text", "text": "go"}}], "list"),
    "MCP pictures": ([{"role": "user", "content": [{"type": "image", "data": "aa", "mimeType": "image/png"}]}], "list"),
    "A2A": ([{"role": "user", "messageId": "1", "parts": [{"kind": "text", "text": "go"}]}], "parts"),
    "Cohere's first API": ([{"role": "USER", "message": "go"}], '"content"'),
    "ShareGPT": ([{"from": "human", "value": "go"}], '"role"'),
    "Semantic Kernel": ([{"role": "user", "content_type": "message", "items": [{"text": "go"}]}], "to_dict"),
    "Agent Framework": ([{"role": "user", "contents": [{"type": "text", "text": "go"}]}], "content"),
    "Google ADK events": (
        [{"author": "user", "content": {"role": "user", "parts": [{"text": "go"}]}}],
        "event.content",
    ),
    "a Chat Completions choice": (
        [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x", "tool_calls": []}}],
        "choice.message",
    ),
    "a Converse answer": (
        [{"output": {"message": {"role": "assistant", "content": [{"text": "x"}]}}, "stopReason": "end_turn"}],
        '["output"]["message"]',
    ),
    "a Responses answer": ([{"object": "response", "output": [{"type": "message"}], "id": "r"}], "response.output"),
    "another field for the text": ([{"role": "user", "body": "go"}], '"content"'),
}
EVERY = pytest.mark.parametrize("name", FOREIGN)


def doors(model: str, provider: Any = None) -> dict[str, Any]:
    """Return the functions that take a list of messages, by name; each has a Compactor of its own."""

    def cm() -> trimtab.Compactor:
        return trimtab.Compactor(model, provider=provider)

    return {
        "count": lambda m: trimtab.count(m, model=model, provider=provider),
        "per_message": lambda m: trimtab.Counter("o200k_base").per_message(m, provider=provider),
        "Compactor.count": lambda m: cm().count(m),
        "fit": lambda m: cm().fit(m),
        "afit": lambda m: asyncio.run(cm().afit(m)),
        "plan": lambda m: cm().plan(m, target_share=0.5),
        "compact": lambda m: cm().compact(m, target_share=0.5),
        "stats": lambda m: cm().stats(m),
        "explain": lambda m: cm().explain(m),
        "prune": lambda m: cm().prune(m),
        "overflow": lambda m: cm().overflow("prompt is too long: 9000 tokens > 8000 maximum", m),
        "repair": lambda m: trimtab.repair(m, provider=provider or "openai_chat"),
    }


def refused(door: Any, messages: Any, where: str = "") -> trimtab.MessageError:
    with pytest.raises(trimtab.MessageError) as caught:
        door(messages)
    return caught.value


@EVERY
def test_a_frameworks_messages_are_refused_at_every_door(name: str) -> None:
    messages, converter = FOREIGN[name]
    for door, call in doors(GPT).items():
        error = refused(call, messages)
        assert (error.index, error.path.split(".")[0]) == (0, "messages[0]"), door
        assert converter in error.hint, door
    pin = trimtab.Compactor(GPT).pin
    assert converter in refused(pin, messages[0]).hint
    for provider in PROVIDERS:
        (problem,) = trimtab.validate(messages, provider=provider)
        assert (problem.code, problem.index) == ("malformed", 0)
        assert converter in problem.fix


@EVERY
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_named_provider_does_not_make_a_frameworks_messages_readable(name: str, provider: Any) -> None:
    messages, converter = FOREIGN[name]
    for door in ("count", "fit", "prune", "compact"):
        assert converter in refused(doors(MODELS[provider], provider)[door], messages).hint


@EVERY
def test_a_framework_message_among_many_is_named_by_its_place(name: str) -> None:
    (stranger, *_), converter = FOREIGN[name]
    for provider in PROVIDERS:
        messages = [*transcript("u c1 r1 " + "a:9 u:9 " * 20, provider), stranger, *transcript("a u", provider)]
        for door in ("count", "fit", "prune", "compact"):
            error = refused(doors(MODELS[provider])[door], messages)
            assert (error.index, converter in error.hint) == (len(messages) - 3, True), (provider, door)


@EVERY
@pytest.mark.parametrize("lines", [False, True])
def test_a_file_of_a_frameworks_messages_is_refused(name: str, lines: bool, tmp_path: Any, capsys: Any) -> None:
    messages, converter = FOREIGN[name]
    found = json.loads(json.dumps(plain(messages), default=str))
    text = "\n".join(map(json.dumps, found)) if lines else json.dumps(found)
    if name == "LangChain tuples" and lines:
        return  # a line that is a list is no message
    file = tmp_path / "session.json"
    file.write_text(text)
    for read in (trimtab.read, formats.scan, formats.counts, formats.sums):
        options = {} if read is trimtab.read else {"counter": trimtab.Counter("o200k_base")}
        error = refused(partial(read, **options), str(file))
        assert (error.index, converter in error.hint) == (0, True), read
    done = run("count", str(file))
    assert done.returncode == 65
    assert converter in done.stderr


def test_the_converters_of_the_hints_make_messages_that_are_read() -> None:
    """With the real packages, as the hints name them."""
    stored, dumps = [dumpd(m) for m in LANGCHAIN], [m.model_dump() for m in LANGCHAIN]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ``load`` is in beta
        loaded = load(stored[:-1], allowed_objects="messages")
    for found in (
        messages_from_dict(messages_to_dict(LANGCHAIN)),
        messages_from_dict([{"type": dump["type"], "data": dump} for dump in dumps]),
        [*loaded, LANGCHAIN[-1]],
    ):
        assert [message.content for message in found] == [message.content for message in LANGCHAIN]
        assert trimtab.count(found, model=GPT) == trimtab.count(LANGCHAIN, model=GPT)
        assert trimtab.Compactor(GPT).fit(found).messages is found
    tuples = convert_to_messages([("system", "rules"), ("human", "go")])
    assert trimtab.Compactor(GPT).fit(tuples).messages is tuples
    history = ADAPTER.validate_python(ADAPTER.dump_python(PYDANTIC_AI))
    assert trimtab.count(history, model=GPT) == trimtab.count(PYDANTIC_AI, model=GPT)
    assert trimtab.Compactor(GPT).fit(history).messages is history


@pytest.mark.parametrize("first", PROVIDERS)
@pytest.mark.parametrize("second", PROVIDERS)
def test_a_list_of_two_shapes_is_refused_at_the_first_message_that_differs(first: Any, second: Any) -> None:
    if first == second:
        return
    head, tail = transcript("u c1 r1", first), transcript("c2 r2", second)
    for named in (None, first):
        for door in ("count", "fit", "prune", "compact", "repair"):
            calls = doors(MODELS[first], named or (first if door == "repair" else None))
            assert refused(calls[door], [*head, *tail]).index == len(head), (door, named)
    (problem,) = trimtab.validate([*head, *tail], provider=first)
    assert problem.index == len(head)
    error = refused(trimtab.read, json.dumps([*head, *tail]).encode())
    assert error.index == len(head)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "element",
    [
        {"type": "human", "content": "hi"},
        {"type": "text", "text": "a block, and no message"},
        {"type": "hologram", "depth": 1},
        {"content": "no role"},
        {"id": "1"},
        {},
        "text",
        7,
        None,
        ["list"],
    ],
)
def test_one_unknown_element_in_a_long_list_is_refused(provider: Any, element: Any) -> None:
    messages = [*transcript("u c1 r1 " + "a u " * 200, provider), element, *transcript("a u", provider)]
    for named in (None, provider):
        for door in ("count", "fit", "compact"):
            assert refused(doors(MODELS[provider], named)[door], messages).index == len(messages) - 3


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "user", "text", "tool_use", "hi", "human"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from("role content type text parts id kind data lc kwargs name tool_calls input blocks".split()),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


def scan(raw: bytes, provider: Any = None) -> trimtab.Ledger:
    return formats.scan(raw, counter=trimtab.Counter("o200k_base"), provider=provider).ledger


def verdict(read: Any) -> Any:
    try:
        return read()
    except trimtab.MessageError as error:
        return error.index, error.path, str(error.args[0]), error.hint


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(PROVIDERS).flatmap(lambda p: st.tuples(st.just(p), specs(p))), JSON, st.booleans(), st.booleans()
)
def test_objects_and_json_are_recognized_alike(drawn: Any, element: Any, is_named: bool, alone: bool) -> None:
    """The walker over Python objects and the one over JSON: the same shape, counts, or error with its place."""
    provider, spec = drawn
    messages = [element] if alone else [*transcript(spec, provider), element]
    if not isinstance(element, dict):
        return  # JSONL skips a bare value, and says so
    raw, named = json.dumps(messages).encode(), provider if is_named else None
    counter = trimtab.Counter("o200k_base")

    def objects() -> Any:
        ledger = trimtab.Ledger.of(plain(messages), counter=counter, provider=named)
        return ledger.provider, ledger.per_message.tolist()

    def text() -> Any:
        ledger = scan(raw, named)
        return ledger.provider, ledger.per_message.tolist()

    def core() -> Any:
        try:
            return objects()
        except trimtab.MessageError:
            raise
        except ValueError as error:
            what, path, index, hint = error.args
            raise trimtab.MessageError(what, path=path, index=index, hint=hint) from None

    assert verdict(core) == verdict(text)


# Objects of the SDKs, as answers and as input.


def genai_contents() -> list[Any]:
    return [genai.Content.model_validate(message) for message in transcript("u c1 r1 " + "a:30 u:60 " * 20, "gemini")]


def test_contents_of_google_genai_are_gemini_messages_and_stay_contents() -> None:
    contents = genai_contents()
    dumped = [content.model_dump(mode="json", by_alias=True, exclude_none=True) for content in contents]
    cm = trimtab.Compactor(GEMINI)
    assert cm.count(contents) == trimtab.Compactor(GEMINI).count(dumped) > 0
    done = cm.compact(contents, target_share=0.3)
    assert {type(content) for content in done.messages} == {genai.Content}
    assert any(content is contents[-1] for content in done.messages)
    assert cm.restore(done.ref) == dumped


def test_answers_of_the_openai_sdk_are_read_in_both_apis() -> None:
    answer = chat.ChatCompletionMessage.model_validate(
        {"role": "assistant", "content": None, "tool_calls": transcript("u c1 r1", "openai_chat")[1]["tool_calls"]}
    )
    messages = [*transcript("u", "openai_chat"), answer, *transcript("u c1 r1", "openai_chat")[2:]]
    assert trimtab.count(messages, model=GPT) == trimtab.count(plain(messages), model=GPT)
    assert trimtab.Compactor(GPT).fit(messages).messages is messages
    nulls = [m if isinstance(m, dict) else m.model_dump() for m in messages]
    assert trimtab.count(nulls, model=GPT) == trimtab.count(messages, model=GPT)


def items_of(union: Any) -> list[str]:
    """The types of the items in a union of the SDK."""
    kinds = []
    for item in typing.get_args(union):
        fields = getattr(item, "model_fields", None)
        hint = fields["type"].annotation if fields else typing.get_type_hints(item)["type"]
        words = [word for part in (hint, *typing.get_args(hint)) for word in typing.get_args(part)]
        kinds += [word for word in words if isinstance(word, str)]
    return kinds


def test_every_item_of_the_responses_api_is_one_of_ours() -> None:
    """By the SDK's own types, so that a new one is noticed."""
    inputs = items_of(responses.ResponseInputItemParam)
    outputs = items_of(typing.get_args(responses.ResponseOutputItem)[0])
    assert len({*inputs, *outputs}) > 25
    for kind in sorted({*inputs, *outputs} - {"message"}):
        messages = [*transcript("u", "openai_responses"), {"type": kind}]
        assert trimtab.count(messages, model=GPT, provider="openai_responses") > 0
        assert trimtab.validate([{"type": kind}], provider="openai_chat")[0].code == "malformed"


def converse(messages: list[Any]) -> str:
    """Return the faults that boto3 finds in a Converse call with these messages; empty if it takes them."""
    shape = CONVERSE.operation_model("Converse").input_shape
    return ParamValidator().validate({"modelId": "m", "messages": messages}, shape).generate_report()


def pictured() -> list[Any]:
    """Messages of Converse as boto3 takes them: pictures are bytes."""
    picture = {"image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n" + bytes(99)}}}
    messages = transcript("u:20 " + " ".join(f"c{n} r{n}:90" for n in range(20)) + " a:9 u:9", "bedrock")
    messages[0]["content"].append(picture)
    messages[-1]["content"].append(picture)
    return messages


def test_an_item_that_comes_from_a_role_tells_its_shape() -> None:
    item = {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "rate"}]}
    messages = [{"role": "user", "content": "Find the tool."}, item]
    named = trimtab.Compactor(GPT, provider="openai_responses")
    assert trimtab.Compactor(GPT).count(messages) == named.count(messages) > 0


def test_every_block_of_converse_is_one_of_ours() -> None:
    blocks = CONVERSE.shape_for("ContentBlock").members
    for kind in blocks:
        messages = [{"role": "user", "content": [{kind: {} if kind != "text" else "x"}]}]
        assert scan(json.dumps(messages).encode()).provider == "bedrock"


def test_pictures_of_converse_are_bytes_and_stay_bytes() -> None:
    messages = pictured()
    assert converse(messages) == ""
    cm = trimtab.Compactor(MODELS["bedrock"])
    assert cm.fit(messages).messages is messages
    done = cm.compact(messages, target_share=0.4)
    assert done.ref
    assert converse([*done.messages]) == ""
    assert done.messages[-1] is messages[-1]
    encoded = json.loads(json.dumps(messages, default=lambda file: b64encode(file).decode()))
    assert cm.restore(done.ref) == encoded
    assert cm.count(messages) == cm.count(encoded)


def test_an_answer_of_anthropic_is_read_the_same_from_a_file() -> None:
    """As ``model_dump_json`` writes it: with a type, as items of the Responses API have it."""
    answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": CLAUDE}
    answer |= {"content": [{"type": "text", "text": "yes"}], "stop_reason": "end_turn", "stop_sequence": None}
    messages = [{"role": "user", "content": "go"}, answer, {"role": "user", "content": "on"}]
    assert trimtab.read(json.dumps(messages).encode()).provider == "anthropic"
    assert trimtab.Compactor(CLAUDE).fit(messages).messages is messages


def test_a_choice_of_an_answer_is_not_read_as_a_log_entry() -> None:
    """Its message's calls vanished: entries of Claude Code have a message too, and the type of its role."""
    call = transcript("u c1 r1", "openai_chat")[1]
    choice = SimpleNamespace(model_dump=lambda **_: {"index": 0, "finish_reason": "tool_calls", "message": call})
    error = refused(doors(GPT)["fit"], [{"role": "user", "content": "go"}, choice.model_dump()])
    assert (error.index, "choice.message" in error.hint) == (1, True)
