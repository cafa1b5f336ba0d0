"""The real SDKs send ``**fitted.request``, and a server on this machine judges what arrives."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import anthropic
import boto3
import openai
import pytest
from google import genai
from google.genai import types
from werkzeug import Request, Response

import trimtab
from support.models import CLAUDE_BOUND, CLAUDE_NEW, GEMINI, GPT
from support.transcripts import transcript
from trimtab.policies import POLICIES

SYSTEM = "You are careful."
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = {"name": "Read", "description": "reads a file", "parameters": SCHEMA}
KEY = "sk-loopback"
MARKED = [
    {"type": "text", "text": "You are careful.", "cache_control": {"type": "ephemeral"}},
    {"type": "text", "text": "Be brief."},
]


@cache  # a client that is not held closes its connection
def client(name: str, url: str) -> Any:
    if name == "anthropic":
        return anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)
    if name == "gemini":
        return genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=url))
    if name == "bedrock":
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
        return boto3.client("bedrock-runtime", endpoint_url=url, **keys)
    return openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)


@dataclass(frozen=True)
class Api:
    """One provider's call.

    Attributes:
        method: the method of the SDK's client.
        model: the session's model.
        needed: the keywords beside the request.
        tools: one tool in the provider's shape.
        reply: what the server answers.
        messages: key of the messages in the body.
        system: reads the system text beside the messages from the body; with ``list`` it is in the messages.
        listed: where the body has the tools.
    """

    method: str
    model: str
    needed: dict[str, Any]
    tools: Any
    reply: dict[str, Any]
    messages: str
    system: Callable[[dict[str, Any]], Any]
    listed: Callable[[dict[str, Any]], Any]


def method(name: str, url: str = "http://127.0.0.1") -> Any:
    return attrgetter(APIS[name].method)(client(name, url))


def of_system(body: dict[str, Any]) -> Any:
    first = body["messages"][0]
    return first["content"] if first["role"] == "system" else None


APIS = {
    "anthropic": Api(
        "messages.create",
        CLAUDE_NEW,
        {"model": CLAUDE_NEW, "max_tokens": 64},
        [{"name": "Read", "description": "reads a file", "input_schema": SCHEMA}],
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "text", "text": "ok"}],
            "usage": {"input_tokens": 9, "output_tokens": 1},
        },
        "messages",
        lambda body: body.get("system"),
        lambda body: body["tools"],
    ),
    "openai_chat": Api(
        "chat.completions.create",
        GPT,
        {"model": GPT},
        [{"type": "function", "function": READ}],
        {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": []},
        "messages",
        of_system,
        lambda body: body["tools"],
    ),
    "openai_responses": Api(
        "responses.create",
        GPT,
        {"model": GPT},
        [{"type": "function", "strict": False, **READ}],
        {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": []},
        "input",
        lambda body: body.get("instructions"),
        lambda body: body["tools"],
    ),
    "bedrock": Api(
        "converse",
        "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        {"modelId": "us.anthropic.claude-sonnet-4-5-20250929-v1:0"},
        [{"toolSpec": {"name": "Read", "description": "reads a file", "inputSchema": {"json": SCHEMA}}}],
        {"output": {"message": {"role": "assistant", "content": [{"text": "ok"}]}}, "stopReason": "end_turn"},
        "messages",
        lambda body: body.get("system"),
        lambda body: body["toolConfig"]["tools"],
    ),
    "gemini": Api(
        "models.generate_content",
        GEMINI,
        {"model": GEMINI},
        [{"functionDeclarations": [{"name": "Read", "description": "reads a file", "parametersJsonSchema": SCHEMA}]}],
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}}]},
        "contents",
        lambda body: [part["text"] for part in (body.get("systemInstruction") or {"parts": []})["parts"]] or None,
        # The SDK turns this key into its own spelling, which the API takes as well.
        lambda body: json.loads(json.dumps(body["tools"]).replace("parameters_json_schema", "parametersJsonSchema")),
    ),
}
LIST_KEY = {"openai_responses": "input", "gemini": "contents"}
ONE_TEXT = {"bedrock": [{"text": SYSTEM}], "gemini": [SYSTEM]}
"""The system text as the body has it, where it is not the text itself."""

TALK = "u:9 " + " ".join(f"u:{30 + n} a:20 c{n} r{n}:150 a:25" for n in range(24)) + " u:9"


@pytest.fixture
def sent(httpserver: Any) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    """Sends a request with the provider's SDK, and returns the body that arrives."""

    def send(name: str, request: dict[str, Any]) -> dict[str, Any]:
        got: list[Any] = []

        def answer(asked: Request) -> Response:
            got.append(asked.get_json())
            return Response(json.dumps(APIS[name].reply), content_type="application/json")

        httpserver.clear()
        httpserver.expect_request(re.compile(".*"), method="POST").respond_with_handler(answer)
        method(name, httpserver.url_for("").rstrip("/"))(**APIS[name].needed, **request)
        return got[0]

    return send


def has_blank(value: Any) -> bool:
    """Whether a value of a request is empty; ``input={}`` of a call is the model's own."""
    return any(not part for part in value.values()) if isinstance(value, dict) else False


def says(name: str, role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text, **({"type": "message"} if name == "openai_responses" else {})}


def session(name: str, *, policy: str = "default", **options: Any) -> trimtab.Compactor:
    return trimtab.Compactor(APIS[name].model, provider=name, policy=policy, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(APIS))
def test_the_request_binds_to_the_signature_of_the_sdk_and_is_the_callers_list(name: str) -> None:
    api, messages = APIS[name], transcript("u:9 c1 r1:9 a:9 u:5", name)
    for beside in ({}, {"system": SYSTEM}, {"tools": api.tools}, {"system": SYSTEM, "tools": api.tools}):
        fitted = session(name).fit(messages, **beside)
        assert fitted.request is fitted.request
        found = fitted.request[LIST_KEY.get(name, "messages")]
        if name == "openai_chat" and "system" in beside:
            assert found[0] == {"role": "system", "content": SYSTEM}
            assert all(ours is theirs for ours, theirs in zip(found[1:], messages, strict=True))
        else:
            assert found is messages
        assert not has_blank(fitted.request)
        assert not has_blank(fitted.request.get("config"))
        assert not {"config", "system", "tools", "toolConfig", "instructions"} & fitted.request.keys() or beside
        if name == "gemini":
            types.GenerateContentConfig(**fitted.request.get("config", {}))
        if name != "bedrock":  # boto3 makes its methods of a description, and checks their values when they are called
            inspect.signature(method(name)).bind(**api.needed, **fitted.request)


@pytest.mark.parametrize("name", sorted(APIS))
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_what_arrives_is_the_fitted_list_the_system_text_once_and_the_tools(name: str, policy: str, sent: Any) -> None:
    api, messages = APIS[name], transcript(TALK, name)
    for part in (part for message in messages for part in message.get("parts", ()) if "thoughtSignature" in part):
        part["thoughtSignature"] = "c2ln"  # the SDK reads it as base64
    beside: Any = {"system": SYSTEM, "tools": api.tools}
    cm = session(name, policy=policy, window=12_000, max_output=1_000)
    whole = cm.fit(messages[: len(messages) // 6], **beside)
    smaller = [
        session(name, policy=policy, window=6_500, max_output=1_000).fit(messages, **beside),
        asyncio.run(session(name, policy=policy, window=6_500, max_output=1_000).afit(messages, **beside)),
        cm.overflow("prompt is too long: 21346 tokens > 5000 maximum", messages, **beside),
        asyncio.run(cm.aoverflow("prompt is too long: 21346 tokens > 4000 maximum", messages, **beside)),
    ]
    assert whole.compaction is None
    for fitted in (whole, *smaller):
        if fitted is not whole:
            assert fitted.compaction is not None, fitted.reason
        body = sent(name, fitted.request)
        assert api.system(body) == ONE_TEXT.get(name, SYSTEM)
        assert json.dumps(body).count(SYSTEM) == 1
        assert json.loads(json.dumps(api.tools)) == api.listed(body)
        assert "tool_choice" not in body
        arrived = body[api.messages][1:] if name == "openai_chat" else body[api.messages]
        assert arrived == json.loads(json.dumps([*fitted.messages]))


@pytest.mark.parametrize("name", sorted(APIS))
def test_nothing_empty_is_sent_and_nothing_beside_that_was_not_given(name: str, sent: Any) -> None:
    messages = transcript("u:9", name)
    for beside in ({}, {"system": None, "tools": None}, {"system": "", "tools": []}, {"system": [], "tools": ()}):
        request = session(name).fit(messages, **beside).request
        assert request == {LIST_KEY.get(name, "messages"): messages}
        body = sent(name, request)
        assert not {"system", "tools", "instructions", "toolConfig", "systemInstruction"} & body.keys()
    assert session(name).fit(messages, system=" \n").request.keys() == {LIST_KEY.get(name, "messages")}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("anthropic", MARKED),
        ("openai_chat", "You are careful.\n\nBe brief."),
        ("openai_responses", "You are careful.\n\nBe brief."),
        ("bedrock", [{"text": "You are careful."}, {"cachePoint": {"type": "default"}}, {"text": "Be brief."}]),
        ("gemini", ["You are careful.", "Be brief."]),
    ],
)
def test_system_blocks_become_what_the_provider_takes(name: str, expected: Any, sent: Any) -> None:
    messages = transcript("u:9", name)
    assert APIS[name].system(sent(name, session(name).fit(messages, system=MARKED).request)) == expected


@pytest.mark.parametrize("name", sorted(APIS))
def test_a_list_of_texts_is_system_text_for_every_provider(name: str, sent: Any) -> None:
    messages = transcript("u:9", name)
    found = json.dumps(APIS[name].system(sent(name, session(name).fit(messages, system=["One.", "Two."]).request)))
    assert "One." in found
    assert "Two." in found
    assert found.index("One.") < found.index("Two.")


def test_the_providers_own_system_form_is_sent_as_it_is() -> None:
    content = types.Content(parts=[types.Part(text=SYSTEM)])
    for name, own in (
        ("anthropic", MARKED),
        ("bedrock", [{"text": SYSTEM}, {"cachePoint": {"type": "default"}}]),
        ("gemini", content),
        ("gemini", [{"text": "One."}]),
    ):
        request = session(name).fit(transcript("u:9", name), system=own).request
        assert request.get("system", request.get("config", {}).get("system_instruction")) is own
    gateway = trimtab.Compactor("openrouter/anthropic/claude-sonnet-4.5", provider="openai_chat")
    request = gateway.fit(transcript("u:9", "openai_chat"), system=MARKED).request
    assert request["messages"][0] == {"role": "system", "content": MARKED}, "such a server reads cache_control"
    typed = [{"type": "text", "text": SYSTEM}]
    assert (
        session("openai_chat").fit(transcript("u:9", "openai_chat"), system=typed).request["messages"][0]["content"]
        is typed
    )


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("name", ["openai_chat", "openai_responses"])
def test_system_text_that_the_list_begins_with_stands_once(name: str, role: str, sent: Any) -> None:
    item = {"type": "message"} if name == "openai_responses" else {}
    kind = "input_text" if item else "text"
    talk = transcript("u:9 a:9 u:9", name)
    for content in (SYSTEM, [{"type": kind, "text": SYSTEM}], SYSTEM + "\n"):
        for lead in ([{"role": role, "content": content, **item}], [{"role": role, "content": "First.", **item}]):
            for system in (SYSTEM, [{"type": "text", "text": SYSTEM}]):
                messages = [*lead, *talk]
                fitted = session(name).fit(messages, system=system)
                body = sent(name, fitted.request)
                assert json.dumps(body).count(SYSTEM) == 1
                if lead[0]["content"] == content:
                    assert fitted.request == {LIST_KEY.get(name, "messages"): messages}
                elif name == "openai_chat":
                    assert body["messages"] == [
                        {"role": "system", "content": body["messages"][0]["content"]},
                        *messages,
                    ]
                else:
                    assert body["instructions"] == SYSTEM
                    assert body["input"] == messages
    both = [{"role": role, "content": text, **item} for text in (SYSTEM, "Be brief.")]
    for system in (SYSTEM, "Be brief.", f"{SYSTEM}\n\nBe brief."):
        assert session(name).fit([*both, *talk], system=system).request == {
            LIST_KEY.get(name, "messages"): [*both, *talk]
        }


@pytest.mark.parametrize("name", ["openai_chat", "openai_responses"])
def test_system_text_that_stands_once_counts_once(name: str) -> None:
    system = "Rule: " + "be careful with every file. " * 300
    messages = [says(name, "system", system), *transcript("u:9 a:9 u:9", name)]
    cm = session(name)
    assert cm.count(messages, system=system) == cm.count(messages)
    assert cm.count(messages, system="Be brief.") > cm.count(messages)
    room = cm.count(messages) + 1_500
    assert session(name, window=room, max_output=200).fit(messages, system=system).messages is messages


def test_a_chat_request_that_comes_back_as_the_list_does_not_grow() -> None:
    cm, messages = session("openai_chat"), transcript("u:9", "openai_chat")
    for _ in range(3):
        messages = cm.fit(messages, system=SYSTEM).request["messages"]
        messages = [*messages, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "go on"}]
    assert [message["content"] for message in messages].count(SYSTEM) == 1


ITEM = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
HI = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("model", "options", "messages", "tools", "keys"),
    [
        (GPT, {}, [ITEM], None, {"input", "instructions"}),
        (GPT, {"provider": "openai_responses"}, [HI], None, {"input", "instructions"}),
        (GPT, {}, [HI], "openai_responses", {"input", "instructions", "tools"}),
        (
            GPT,
            {},
            [{"role": "developer", "content": "x"}, HI],
            "openai_responses",
            {"input", "instructions", "tools"},
        ),
        (GPT, {}, [HI], None, {"messages"}),
        (GPT, {}, [HI], "openai_chat", {"messages", "tools"}),
        ("gpt-5.5-pro-2026-04-23", {}, [HI], None, {"input", "instructions"}),
        ("openai/gpt-5-codex", {}, [HI], None, {"input", "instructions"}),
        ("openai-responses:gpt-5.5", {}, [HI], None, {"input", "instructions"}),
        ("openai/responses/gpt-5.5", {}, [HI], None, {"input", "instructions"}),
        ("openrouter/openai/gpt-5-codex", {}, [HI], None, {"messages"}),
        (CLAUDE_NEW, {}, [HI], None, {"messages", "system"}),
        (CLAUDE_NEW, {}, [HI], "openai_chat", {"messages", "tools"}),
        (CLAUDE_NEW, {}, [{"role": "user", "content": [{"text": "hi"}]}], None, {"messages", "system"}),
        (
            CLAUDE_NEW,
            {},
            [{"role": "user", "content": [{"text": "hi"}]}],
            "bedrock",
            {"messages", "system", "toolConfig"},
        ),
        (GEMINI, {}, [{"role": "user", "parts": [{"text": "hi"}]}], None, {"contents", "config"}),
        (GEMINI, {}, [HI], None, {"messages"}),
    ],
)
def test_the_shape_is_that_of_provider_messages_tools_or_model_in_this_order(
    model: str, options: Any, messages: Any, tools: Any, keys: set[str]
) -> None:
    given = APIS[tools].tools if tools else None
    fitted = trimtab.Compactor(model, **options).fit(messages, system=SYSTEM, tools=given)
    assert fitted.request.keys() == keys


@pytest.mark.parametrize("name", sorted(APIS))
def test_tools_of_another_provider_are_refused_and_others_pass(name: str) -> None:
    messages = transcript("u:9 c1 r1:9 a:9 u:5", name)
    for other, api in APIS.items():
        for options in ({"provider": name}, {}):
            fitted = trimtab.Compactor(APIS[name].model, **options).fit(messages, tools=api.tools)
            if other == name:
                assert fitted.request
                continue
            with pytest.raises(ValueError, match=rf"tools\[0\] has the shape of {other}, the call that of {name}"):
                _ = fitted.request
    for own in ([{"type": "web_search"}], [{"google_search": {}}], [{"systemTool": {"name": "nova_grounding"}}]):
        request = session(name).fit(messages, tools=own).request
        found = {"gemini": "config", "bedrock": "toolConfig"}.get(name)
        assert (request[found] if found else request)["tools"] is own


def test_bedrocks_own_tool_config_is_sent_as_it_is(sent: Any) -> None:
    config = {"tools": APIS["bedrock"].tools, "toolChoice": {"auto": {}}}
    request = session("bedrock").fit(transcript("u:9", "bedrock"), tools=config).request
    assert request["toolConfig"] is config
    assert sent("bedrock", request)["toolConfig"] == config
    nothing = session("bedrock").fit(transcript("u:9", "bedrock"), tools={"tools": []}).request
    assert nothing.keys() == {"messages"}


def test_geminis_config_takes_the_callers_own_settings(sent: Any) -> None:
    fitted = session("gemini").fit(transcript("u:9", "gemini"), system=SYSTEM, tools=APIS["gemini"].tools)
    config = {**fitted.request["config"], "temperature": 0.5}
    body = sent("gemini", {**fitted.request, "config": config})
    assert body["generationConfig"] == {"temperature": 0.5}
    assert body["systemInstruction"]["parts"] == [{"text": SYSTEM}]
    fitted.request["config"]["temperature"] = 0.5  # or in place: the request is made once
    assert sent("gemini", fitted.request) == body
    tool = types.Tool(function_declarations=[types.FunctionDeclaration(name="Read", description="reads a file")])
    own = session("gemini").fit([types.UserContent(parts=[types.Part(text="hi")])], system=SYSTEM, tools=[tool])
    assert own.request["config"]["tools"] == [tool]
    assert sent("gemini", own.request)["tools"][0]["functionDeclarations"][0]["name"] == "Read"


@pytest.mark.parametrize("system", [object(), [{"type": "image", "source": {}}], 7])
def test_system_text_that_is_no_text_is_refused(system: Any) -> None:
    with pytest.raises(ValueError, match="system text must be a string or blocks of text, got"):
        _ = session("openai_responses").fit([HI], system=system).request


@pytest.mark.parametrize("name", ["anthropic", "bedrock"])
def test_marked_thinking_is_said_in_the_providers_own_fields(name: str, sent: Any) -> None:
    model = CLAUDE_BOUND
    cm = trimtab.Compactor(model, provider=name, thinking="mark", window=9_000, max_output=900)  # type: ignore[arg-type]
    fitted = cm.fit(transcript(TALK, name), system=SYSTEM)
    assert fitted.compaction is not None
    betas, dropped = (
        ["thinking-binding-controls-2026-08-01"],
        {"block_binding": {"prefix_mismatch_behavior": "drop_block"}},
    )
    if name == "bedrock":
        body = sent(name, fitted.request)
        assert body["additionalModelRequestFields"] == {"anthropic_beta": betas, "thinking": dropped}
        return
    assert fitted.request.items() >= {"betas": betas, "thinking": dropped}.items()
    beta = anthropic.Anthropic(api_key=KEY).beta.messages.create
    inspect.signature(beta).bind(model=model, max_tokens=9, **fitted.request)
    fitted.request["thinking"]["type"] = "adaptive"
    fitted.request["betas"].append("mine")
    assert cm.fit(fitted.messages).request["thinking"] == dropped, "a caller's change stays in the caller's request"
    assert cm.fit(fitted.messages).request["betas"] == betas


def test_below_the_trigger_the_request_costs_nothing_until_it_is_read() -> None:
    fitted = session("openai_chat").fit(transcript(TALK, "openai_chat"), system=SYSTEM)
    assert "request" not in vars(fitted)
    assert fitted.request["messages"][1:] == list(fitted.messages)
    assert "request" in vars(fitted)


def test_the_counting_endpoint_gets_the_keywords_of_the_call() -> None:
    asked: list[dict[str, Any]] = []

    def count(**request: Any) -> SimpleNamespace:
        asked.append(request)
        return SimpleNamespace(input_tokens=9)

    counter = SimpleNamespace(input_tokens=SimpleNamespace(count=count), count_tokens=count)
    for name in ("anthropic", "openai_responses"):
        messages, beside = transcript("u:9", name), {"system": MARKED, "tools": APIS[name].tools}
        session(name).check(messages, SimpleNamespace(messages=counter, responses=counter), **beside)
        assert asked.pop() == {"model": APIS[name].model, **session(name).fit(messages, **beside).request}
