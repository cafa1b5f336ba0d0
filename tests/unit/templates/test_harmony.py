"""Prompts of gpt-oss have the tokens that OpenAI's own package gives them, message by message."""

from __future__ import annotations

import itertools
import json
import pickle
import random
from dataclasses import replace
from typing import Any

import pytest

import trimtab
from oracles import harmony as oracle
from support.model_folders import PIECES, TOOLS, conversation, some_text
from support.models import GPT_OSS
from support.scale import scaled
from trimtab import Compactor, Counter, CountError, Model
from trimtab.models.prompts import PROMPTS
from trimtab.templates import Harmony
from trimtab.templates.chat import reasoning_of
from trimtab.templates.fitting import fitted
from trimtab.templates.harmony import HarmonyMessage
from trimtab.templates.items import as_messages
from trimtab.templates.typescript import namespace_of

MODEL = Model.named(GPT_OSS)
COUNTER = Counter.for_model(MODEL)
USER = {"role": "user", "content": "go"}
NUMBERS = (0, 1, -7, 1.5, 1e-5, 1.25e-6, 1e16, 123456789.25, 1e300, -0.0, 2**63, -(2**63) - 1, 2**64, 10**20)


@pytest.fixture(scope="module")
def harmony(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The package's encoding."""
    return oracle.encoding(tmp_path_factory.mktemp("ranks"))


def text_of(messages: list[HarmonyMessage]) -> str:
    """Return a prompt, the beginning of the answer included."""
    return "".join(part for message in messages for part in message.parts) + "<|start|>assistant"


def varied(rng: random.Random, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages with contents in parts, texts of other roles among them, and calls without arguments."""
    changed = []
    for message in messages:
        each = dict(message)
        if isinstance(each.get("content"), str) and rng.random() < 0.2:
            each["content"] = [{"type": "text", "text": text} for text in (each["content"], some_text(rng))]
            if each["role"] == "user":
                each["content"].append({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}})
        if "tool_calls" in each and rng.random() < 0.2:
            empty = [{**call, "function": {**call["function"], "arguments": ""}} for call in each["tool_calls"]]
            each["tool_calls"] = empty
        changed.append(each)
        if rng.random() < 0.1:
            changed.append({"role": rng.choice(["system", "developer"]), "content": some_text(rng)})
    return changed


def schema(rng: random.Random, depth: int = 0) -> Any:
    """Return a schema of a parameter, in the ways that people and libraries write them."""
    kinds = ["string", "number", "integer", "boolean", "null", "array", "object", ["string", "null"], ["integer"], []]
    made: dict[str, Any] = {"type": rng.choice(kinds if depth < 3 else kinds[:5])}
    if rng.random() < 0.2:
        made = {}
    if made.get("type") == "array" and rng.random() < 0.8:
        made["items"] = schema(rng, depth + 1)
    if made.get("type") == "object":
        made |= properties(rng, depth)
    if rng.random() < 0.15 and depth < 3:
        made["oneOf"] = [schema(rng, depth + 1) for _ in range(rng.randrange(4))]
    if rng.random() < 0.3:
        made["enum"] = rng.choice([["a", "b"], [1, "x"], [], [None]])
    fields = {
        "description": lambda: rng.choice([some_text(rng), "two\nlines", "", 3]),
        "title": lambda: rng.choice([some_text(rng), None]),
        "examples": lambda: rng.choice([["x", 1, "y"], [], "none"]),
        "default": lambda: rng.choice([*NUMBERS, "a", "two words", None, True, [1, "é"], {"k": [1e-7, '"\n\x01']}]),
        "nullable": lambda: rng.choice([True, False, "yes"]),
        "anyOf": lambda: [{"type": "string"}],
        "$ref": lambda: "#/$defs/x",
    }
    made |= {name: value() for name, value in fields.items() if rng.random() < 0.25}
    return made if rng.random() < 0.97 else rng.choice([True, "string", None, []])


def properties(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    """Return the parts of an object's schema."""
    names = rng.sample(["path", "z", "lines", "a_b", "naïve", "x-y"], rng.randrange(5))
    required = rng.choice([names[:1], names, [], ["other", 3], None])
    return {"properties": {name: schema(rng, depth + 1) for name in names}, "required": required}


def functions(rng: random.Random) -> list[dict[str, Any]]:
    """Return tools of Chat Completions."""
    listed = []
    for name in rng.sample(["read_file", "mcp__server__list_all", "run", "é"], rng.randrange(1, 4)):
        function: dict[str, Any] = {"name": name, "description": rng.choice([None, "", "a\r\nb\n\n", some_text(rng)])}
        kinds = [None, {}, {"type": "object", **properties(rng)}, schema(rng)]
        function["parameters"] = rng.choice([kind for kind in kinds if isinstance(kind, dict | None)])
        listed.append({"type": "function", "function": function})
    return listed


def test_a_prompt_has_the_tokens_that_the_package_gives_it(harmony: Any) -> None:
    for seed in range(scaled(600)):
        rng = random.Random(seed)
        messages = varied(rng, conversation(seed))
        if rng.random() < 0.3:
            messages.append({"role": "assistant", "content": some_text(rng), "reasoning_content": some_text(rng)})
        for tools in (None, functions(rng)):
            constrains = rng.random() < 0.5
            renderer = Harmony(constrains=constrains)
            expected = oracle.prompt(harmony, messages, tools, kind="<|constrain|>json" if constrains else "json")
            total = renderer.count(COUNTER, messages, "openai_chat", tools=tools).total
            rendered = renderer.messages(messages, "openai_chat", tools=tools)
            assert (total, text_of(rendered)) == (len(expected), harmony.decode(expected)), seed


def test_functions_are_written_as_the_package_writes_them(harmony: Any) -> None:
    for seed in range(scaled(4_000)):
        tools = functions(random.Random(seed))
        expected = harmony.decode(oracle.prompt(harmony, [USER], tools))
        assert namespace_of(tool["function"] for tool in tools) == section(expected), seed


def section(prompt: str) -> str:
    """Return the text of the developer message of a prompt that has no instructions."""
    return prompt.partition("<|start|>developer<|message|>")[2].partition("<|end|><|start|>user<|message|>go")[0]


def in_chat(messages: list[Any], provider: str) -> list[dict[str, Any]]:
    """Return messages as the package's user would translate them."""
    chat = [{**message, "reasoning_content": reasoning_of(message)} for _, message in as_messages(messages, provider)]
    for message in chat:
        for call in message.get("tool_calls") or []:
            arguments = call["function"].get("arguments")
            if isinstance(arguments, dict):
                call["function"]["arguments"] = json.dumps(arguments, ensure_ascii=False)
    return chat


@pytest.mark.shared
def test_recorded_sessions_have_the_tokens_that_the_package_gives_them(harmony: Any, shared: Any) -> None:
    """Each session whose messages are in the shapes that are rendered, with tools and without."""
    compared, off = 0, 1.0
    for file in sorted(path for path in (shared / "data" / "transcripts").rglob("*") if path.is_file()):
        try:
            session = trimtab.read(file)
        except trimtab.MessageError:
            continue
        if session.provider not in {"openai_chat", "anthropic"}:
            continue
        chat = in_chat(session.messages, session.provider)
        for tools in (None, TOOLS):
            expected = len(oracle.prompt(harmony, chat, tools))
            assert COUNTER.rendered(session.messages, session.provider, tools=tools).total == expected, file
            compared += 1
        ledger = trimtab.Ledger.of(session.messages, counter=COUNTER, provider=session.provider)
        if expected > 2_000:
            off = max(off, expected / (ledger.total + MODEL.prompt.opening))
    assert compared >= 100
    assert off < 1.15


def test_the_vocabulary_is_that_of_the_package(harmony: Any) -> None:
    tokens, first = Counter.vocabulary("o200k_harmony"), len(Counter.vocabulary("o200k_base"))
    special = {rank: token.decode() for rank, token in enumerate(tokens[first:], first)}
    assert set(special.values()) == harmony.special_tokens_set
    for rank in (199_998, 199_999, *range(200_002, 200_015), 201_088):
        assert harmony.decode([rank]) == special[rank]
    rng, counter = random.Random(3), Counter("o200k_harmony")
    for _ in range(scaled(2_000)):
        text = "".join(rng.choices([*PIECES, *special.values()], k=rng.randrange(20)))
        assert counter.count(text) == len(harmony.encode(text, disallowed_special=())), text
    assert counter.engine == "trimtab o200k_harmony"


def test_neither_the_day_nor_the_effort_changes_a_prompt(harmony: Any) -> None:
    total = trimtab.count([USER], model=MODEL)
    for effort in oracle.ReasoningEffort:
        for date in ("2024-01-01", "2026-11-28", "2031-12-09", "2099-02-30"):
            assert len(oracle.prompt(harmony, [USER], date=date, effort=effort)) == total


def test_fitted_numbers_stand_in_the_table() -> None:
    prompt = PROMPTS["gpt-oss"]
    assert replace(prompt, **fitted(Harmony(), Counter("o200k_harmony"))) == prompt


def test_each_message_has_what_the_prompt_grows_by() -> None:
    for seed in range(scaled(100)):
        messages = conversation(seed)
        for message in messages:
            message.pop("reasoning_content", None)
        for tools in (None, TOOLS):
            totals = [COUNTER.rendered(messages[: n + 1], tools=tools).total for n in range(len(messages))]
            rendered = COUNTER.rendered(messages, tools=tools)
            assert list(rendered.messages[1:]) == [after - before for before, after in itertools.pairwise(totals)]
            assert rendered.total == totals[-1] == rendered.head + sum(rendered.messages) + rendered.tail
        assert COUNTER.per_message(messages).tolist() == list(COUNTER.rendered(messages).messages)


def test_analysis_stays_until_an_answer_was_given() -> None:
    call = {"id": "a", "function": {"name": "ls", "arguments": "{}"}}
    thought = {"role": "assistant", "reasoning_content": "hm", "content": "I look", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "x"}]}
    turn = [USER, thought, result]
    answer = {"role": "assistant", "reasoning": "so", "content": "done"}
    shown = text_of(Harmony().messages([*turn, answer, *turn], "openai_chat"))
    beginning = (
        "<|start|>assistant<|channel|>commentary<|message|>I look<|end|>"
        "<|start|>assistant to=functions.ls<|channel|>commentary json<|message|>{}<|call|>"
        "<|start|>functions.ls to=assistant<|channel|>commentary<|message|>x<|end|>"
    )
    assert shown.partition("<|start|>user<|message|>")[2] == (
        f"go<|end|>{beginning}<|start|>assistant<|channel|>final<|message|>done<|end|>"
        f"<|start|>user<|message|>go<|end|><|start|>assistant<|channel|>analysis<|message|>hm<|end|>{beginning}"
        "<|start|>assistant"
    )


def test_instructions_and_tools_are_one_message_whose_tokens_are_told_apart() -> None:
    system = {"role": "system", "content": "Be short."}
    rendered = COUNTER.rendered([system, USER], tools=TOOLS)
    alone = COUNTER.rendered([USER], tools=TOOLS)
    assert rendered.head == alone.head > COUNTER.rendered([USER]).head
    assert rendered.messages[1:] == alone.messages
    beside = COUNTER.rendered([USER], system="Be short.", tools=TOOLS)
    assert beside.head == rendered.head + rendered.messages[0]
    assert beside.total == rendered.total == trimtab.count([USER], model=MODEL, system="Be short.", tools=TOOLS)
    assert COUNTER.rendered([{"role": "system", "content": ""}, USER]).total == COUNTER.rendered([USER]).total


def test_messages_of_other_shapes_are_the_same_prompt() -> None:
    """The Responses API's items, Anthropic's blocks and Bedrock's, each with tools in its own way."""
    chat = [
        USER,
        {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}
        ]},
        {"role": "tool", "tool_call_id": "a", "content": '{"n": 1}'},
    ]  # fmt: skip
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "a", "name": "ls", "arguments": '{"path": "."}'},
        {"type": "function_call_output", "call_id": "a", "output": '{"n": 1}'},
    ]
    blocks = [
        USER,
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "tool_use", "id": "a", "name": "ls", "input": {"path": "."}},
        ]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": '{"n": 1}'}]},
    ]  # fmt: skip
    converse = [
        {"role": "user", "content": [{"text": "go"}]},
        {"role": "assistant", "content": [
            {"reasoningContent": {"reasoningText": {"text": "hm"}}},
            {"toolUse": {"toolUseId": "a", "name": "ls", "input": {"path": "."}}},
            {"cachePoint": {"type": "default"}},
        ]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"json": {"n": 1}}]}}]},
    ]  # fmt: skip
    function = {**TOOLS[0]["function"]}
    schema = function.pop("parameters")
    tools = {
        "openai_responses": {"type": "function", **function, "parameters": schema},
        "anthropic": {**function, "input_schema": schema},
        "bedrock": {"toolSpec": {**function, "inputSchema": {"json": schema}}},
    }
    expected = COUNTER.rendered(chat, tools=TOOLS)
    for provider, messages in (("openai_responses", items), ("anthropic", blocks), ("bedrock", converse)):
        rendered = COUNTER.rendered(messages, provider, tools=[tools[provider]])
        assert (rendered.total, rendered.head) == (expected.total, expected.head), provider
        assert sum(rendered.messages) == sum(expected.messages)


def test_what_looks_like_a_special_token_is_text() -> None:
    inside = trimtab.count([{"role": "user", "content": "a<|end|>b"}], model=MODEL)
    empty = trimtab.count([{"role": "user", "content": ""}], model=MODEL)
    assert inside - empty == COUNTER.count("a<|end|>b") > 3
    lone = trimtab.count([{"role": "user", "content": "a\ud800"}], model=MODEL)
    assert lone - empty == COUNTER.count("a\ufffd")


DEEP: dict[str, Any] = {"type": "string"}
for _ in range(20_000):
    DEEP = {"type": "array", "items": DEEP}


@pytest.mark.parametrize(
    ("messages", "tools", "words"),
    [
        ([], None, "there are no messages"),
        ([{"role": "function", "name": "f", "content": "x"}], None, "no role 'function'"),
        ([{"role": "model", "parts": [{"text": "x"}]}], None, "have the shape of gemini"),
        ([{"type": "web_search_call", "id": "w"}], None, "no item of the type 'web_search_call'"),
        ([{"role": "assistant", "tool_calls": "ls"}], None, "calls are a list"),
        ([{"role": "assistant", "tool_calls": [{"id": "a"}]}], None, "a function with a name"),
        ([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {1}}}]}], None, "cannot hold"),
        ([USER], [{"type": "web_search"}], "tools with a name"),
        ([USER], [{"type": "function", "function": {"name": "f", "parameters": [1]}}], "a schema of its parameters"),
        ([USER], [{"type": "function", "function": {"name": None}}], "a name and a schema"),
    ],
    ids=str,
)
def test_what_harmony_has_not_is_refused_by_name(messages: Any, tools: Any, words: str) -> None:
    provider = {"model": "gemini"}.get(messages[0].get("role", "")) if messages else None
    provider = provider or ("openai_responses" if messages and "type" in messages[0] else "openai_chat")
    with pytest.raises(CountError, match=words):
        MODEL.template.count(COUNTER, messages, provider, tools=tools)


def test_a_schema_that_is_nested_too_deeply_is_refused() -> None:
    for schema in (DEEP, {"type": "object", "properties": {"n": {"type": "number", "default": 10**400}}}):
        with pytest.raises(CountError, match="the schema of f cannot be written"):
            namespace_of([{"name": "f", "parameters": schema}])


def test_a_model_and_its_counter_go_to_another_process() -> None:
    for value in (MODEL, COUNTER):
        assert pickle.loads(pickle.dumps(value)).template == Harmony(GPT_OSS)
    again = pickle.loads(pickle.dumps(COUNTER))
    assert again.rendered([USER], tools=TOOLS) == COUNTER.rendered([USER], tools=TOOLS)


@pytest.mark.parametrize(
    "name",
    ["gpt-oss-120b", "openai/gpt-oss-20b", "ollama/gpt-oss:20b", "groq/openai/gpt-oss-120b", "openai.gpt-oss-20b-1:0"],
)
def test_every_way_to_write_the_id_has_the_format(name: str) -> None:
    model = Model.named(name)
    assert (model.prompt, model.cache_seconds, type(model.template)) == (PROMPTS["gpt-oss"], None, Harmony)
    assert trimtab.count([USER], model=model) == trimtab.count([USER], model=MODEL)
    assert "Harmony format, exact" in Counter.for_model(name).explain()


def test_sessions_plan_compact_and_fit_by_whole_prompts() -> None:
    model = MODEL.limited(6_000, 500)
    cm, history, compactions = Compactor(model, archive="memory"), [], 0
    for seed in range(60):
        history += conversation(seed, 1, system=False)[:-1]
        history.append({"role": "user", "content": "and now the next file"})
        answer = cm.fit(history, system="Be careful.", tools=TOOLS)
        total = trimtab.count(answer.messages, model=model, system="Be careful.", tools=TOOLS)
        assert total <= model.window - model.max_output, answer.reason
        compactions += answer.compaction is not None
        history = [*answer.messages]
    assert compactions
    long = [message for seed in range(60) for message in conversation(seed, 1, system=False)]
    plan = cm.plan(long)
    assert plan.tokens_before == int(COUNTER.per_message(long).sum())
    done = cm.compact(long, plan=plan)
    assert done.tokens_after == int(COUNTER.per_message(done.messages).sum())
    cm = Compactor(model, archive="memory")
    assert cm.count(long, tools=TOOLS) == trimtab.count(long, model=model, tools=TOOLS)
