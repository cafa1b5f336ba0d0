"""Lists in the forms that the providers' SDKs and servers write: valid as they are, and kept by a repair."""

import random

import pytest
from google.genai import types as genai

import oracle
from oracles.offline.parts import parts
from support.models import CLAUDE, GPT
from support.models import GEMINI as GEMINI_SIGNED
from support.models import GEMINI_UNSIGNED as GEMINI
from support.offline_cases import ask
from support.transcripts import transcript
from trimtab import Compactor, count, repair, validate
from trimtab.counting.counter import Counter, scan
from trimtab.ledger.columns import Kind
from trimtab.messages.shapes import ShapeAdapter
from trimtab.summarize.offline import offline
from trimtab.validity import INTERRUPTED
from trimtab.validity.repair.entries import ORPHAN

ASK = {"role": "user", "content": "go"}


def accepted(messages, provider, model):
    """A list is valid, left as it is by a repair, and taken by a session, which finds the provider by itself."""
    assert validate(messages, provider=provider) == []
    assert repair(messages, provider=provider).messages is messages
    assert Compactor(model).fit(messages).messages is messages


# Gemini


def content(role, *parts):
    return {"role": role, "parts": [*parts]}


def call(name, ref=None):
    return {"functionCall": {"name": name, "args": {}} | ({"id": ref} if ref else {})}


def response(name, said, ref=None):
    return {"functionResponse": {"name": name, "response": {"result": said}} | ({"id": ref} if ref else {})}


GO = content("user", {"text": "go"})


@pytest.mark.parametrize("spec", ["u c1 r1 a:30 u:60+i:200 a", "u c1+c2 r1+r2 a", "u a:30 u:20"])
def test_a_dump_of_googles_sdk_with_its_nulls_is_read_as_its_objects(spec):
    contents = [genai.Content.model_validate(message) for message in transcript(spec, "gemini")]
    dump = [content.model_dump(mode="json") for content in contents]
    assert any(value is None for content in dump for part in content["parts"] for value in part.values())
    assert count(dump, model=GEMINI) == count(contents, model=GEMINI)
    accepted(dump, "gemini", GEMINI)
    adapter = ShapeAdapter("gemini")
    read = adapter.read(dump)
    assert [adapter.write(message) for message in read] == dump
    assert {block["type"] for message in read for block in message["content"]} - {"part"} != {
        "text"
    } or "c1" not in spec


def test_a_dump_with_its_nulls_is_repaired_as_its_objects():
    asked = genai.ModelContent(genai.Part(function_call=genai.FunctionCall(name="f", args={})))
    contents = [genai.UserContent("go"), asked]
    dump = [content.model_dump() for content in contents]
    options = {"provider": "gemini", "model": GEMINI_SIGNED}
    done = repair(dump, **options)
    assert {change.code for change in done.changes} == {"interrupted_result", "skipped_signature"}
    assert done.changes == repair(contents, **options).changes
    assert done.messages[0] is dump[0]
    assert validate(done.messages, **options) == []


def test_a_part_of_nulls_alone_is_refused_and_leaves():
    for provider, empty in (("gemini", content("user", {"text": None}, {"text": "x"})),):
        assert [problem.code for problem in validate([empty], provider=provider)] == ["field_required"]
        done = repair([empty], provider=provider)
        assert done.messages == [content("user", {"text": "x"})]
    empty = {"role": "user", "content": [{"text": "x"}, {"toolUse": None, "text": None}]}
    assert [problem.code for problem in validate([empty], provider="bedrock")] == ["field_required"]
    assert repair([empty], provider="bedrock").messages == [{"role": "user", "content": [{"text": "x"}]}]


def test_the_summary_reads_a_dump_with_its_nulls_as_without():
    contents = [
        genai.UserContent("Fix retry_loop in src/net/client.py today."),
        genai.ModelContent(genai.Part(function_call=genai.FunctionCall(name="read", args={"path": "src/net/a.py"}))),
        genai.UserContent(
            genai.Part.from_function_response(name="read", response={"result": "ConnectionError 10.0.0.7"})
        ),
        genai.ModelContent("It is done."),
    ]
    dump = [content.model_dump() for content in contents]
    plain = [content.model_dump(exclude_none=True) for content in contents]
    aliased = [content.model_dump(exclude_none=True, by_alias=True) for content in contents]
    assert [*parts(dump)] == [*parts(plain)] == [*parts(aliased)]
    assert {part.kind for part in parts(dump)} >= {"call", "result"}
    assert offline(ask(dump)) == offline(ask(plain)) == offline(ask(aliased))


def test_a_response_without_an_id_answers_the_next_open_call_of_its_name():
    for calls, given, pairs in (
        ([call("f", "1")], [response("f", "REAL")], [(1, 2)]),
        ([call("f", "1"), call("f", "2")], [response("f", "a"), response("f", "b")], [(1, 3), (2, 4)]),
        ([call("f", "1"), call("f", "2")], [response("f", "b"), response("f", "a", "1")], [(1, 4), (2, 3)]),
        ([call("g", "1"), call("f", "2")], [response("f", "b"), response("g", "a")], [(1, 4), (2, 3)]),
    ):
        messages = [GO, content("model", *calls), content("user", *given)]
        accepted(messages, "gemini", GEMINI)
        ledger = scan(messages, Counter.chars(), "gemini")
        found = [(a, int(b)) for a, b in enumerate(ledger.pair) if b > a]
        assert found == pairs
        read = ShapeAdapter("gemini").read(messages)
        refs = [[block.get("id") or block.get("tool_use_id") for block in message["content"]] for message in read[1:]]
        assert {(1 + refs[0].index(ref), 1 + len(refs[0]) + n) for n, ref in enumerate(refs[1])} == {*pairs}


def test_a_response_without_an_id_stays_where_something_else_is_repaired():
    answered = [GO, content("model", call("f", "1"), call("g", "2")), content("user", response("f", "REAL"))]
    done = repair(answered, provider="gemini")
    assert [change.code for change in done.changes] == ["interrupted_result"]
    real, made = done.messages[2]["parts"]
    assert real is answered[2]["parts"][0]
    assert (made["functionResponse"]["name"], made["functionResponse"]["id"]) == ("g", "2")
    assert validate(done.messages, provider="gemini") == []


def test_a_response_whose_id_no_call_has_is_refused():
    messages = [GO, content("model", call("f", "1")), content("user", response("f", "x", "2"))]
    assert [problem.code for problem in validate(messages, provider="gemini")] == ["function_response_name"]
    messages[2] = content("user", response("g", "x"))
    assert [problem.code for problem in validate(messages, provider="gemini")] == ["function_response_name"]


def test_a_response_without_an_id_takes_no_call_of_an_earlier_turn():
    messages = [
        GO,
        content("model", call("f", "1")),
        GO,
        content("model", call("f", "2")),
        content("user", response("f", "x")),
    ]
    ledger = scan(messages, Counter.chars(), "gemini")
    assert ledger.pair.tolist() == [-1, -1, -1, 4, 3]


def test_pairs_are_those_of_the_oracle_however_the_list_is_read():
    for seed in range(400):
        dice = random.Random(seed)
        messages = [GO]
        for _ in range(dice.randrange(1, 6)):
            named = [(dice.choice("fg"), dice.choice(["1", "2", "f", None])) for _ in range(dice.randrange(1, 4))]
            if dice.random() < 0.5:
                messages.append(content("model", *(call(name, ref) for name, ref in named)))
            else:
                messages.append(content("user", *(response(name, "x", ref) for name, ref in named)))
        pairs = oracle.pairs(oracle.rows(messages, "gemini"))
        assert scan(messages, Counter.chars(), "gemini").pair.tolist() == pairs, messages
        cut = dice.randrange(1, len(messages))
        grown = scan(messages[:cut], Counter.chars(), "gemini").extend(messages[cut:])
        assert grown.pair.tolist() == pairs, (cut, messages)


# OpenAI


def test_a_refusal_of_the_responses_api_does_not_make_a_list_one_of_chat_completions():
    refusal = [{"type": "refusal", "refusal": "no"}]
    item = {"type": "message", "id": "m", "status": "completed", "role": "assistant", "content": refusal}
    accepted([ASK, item, ASK], "openai_responses", GPT)
    accepted([ASK, {"role": "assistant", "content": refusal}, ASK], "openai_chat", GPT)


@pytest.mark.parametrize("said", [{"audio": {"id": "audio_1"}}, {"refusal": "no"}])
def test_an_assistant_that_speaks_or_refuses_has_no_content(said):
    for absent in ({}, {"content": None}):
        messages = [ASK, {"role": "assistant", **absent, **said}, ASK]
        accepted(messages, "openai_chat", "gpt-4o-audio-preview")
        done = repair([*messages, {"role": "tool", "tool_call_id": "z", "content": ""}], provider="openai_chat")
        assert done.messages[1] is messages[1]
    messages[1] = {"role": "assistant", "content": None, "audio": None, "refusal": None}
    assert [problem.code for problem in validate(messages, provider="openai_chat")] == ["null_content"]


def item(kind, **fields):
    return {"type": kind, "call_id": "a", **fields}


CUSTOM, FUNCTION = item("custom_tool_call", name="f", input=""), item("function_call", name="f", arguments="{}")


@pytest.mark.parametrize(
    ("asked", "wrong", "right"),
    [
        (CUSTOM, "function_call_output", "custom_tool_call_output"),
        (FUNCTION, "custom_tool_call_output", "function_call_output"),
    ],
)
def test_an_output_of_the_other_type_is_refused_and_gets_the_right_one(asked, wrong, right):
    messages = [ASK, asked, item(wrong, output="REAL")]
    assert {problem.code for problem in validate(messages, provider="openai_responses")} == {
        "call_without_output",
        "output_without_call",
    }
    done = repair(messages, provider="openai_responses")
    assert done.messages == [ASK, asked, item(right, output="REAL")]
    assert [(change.index, change.code, change.id) for change in done.changes] == [(2, "output_type", "a")]
    accepted(done.messages, "openai_responses", GPT)


def test_an_output_of_the_right_type_is_kept_before_one_of_the_other():
    messages = [ASK, CUSTOM, item("function_call_output", output="x"), item("custom_tool_call_output", output="y")]
    done = repair(messages, provider="openai_responses")
    assert [change.code for change in done.changes] == ["duplicate_result"]
    assert messages[3] in done.messages


@pytest.mark.parametrize("name", ["shell_call", "custom_tool_call", "lookup_call", "function_call_output"])
def test_a_tool_may_have_the_name_of_a_type(name):
    for asked, kind in ((CUSTOM, "custom_tool_call_output"), (FUNCTION, "function_call_output")):
        accepted([ASK, {**asked, "name": name}, item(kind, output="x")], "openai_responses", GPT)


def legacy(arguments="{}", name="f"):
    return {"role": "assistant", "content": None, "function_call": {"name": name, "arguments": arguments}}


RETURNED = {"role": "function", "name": "f", "content": "ok"}
TOLD = {"role": "assistant", "content": '[call: {"name": null, "arguments": "{}"}]'}
ORPHANED = {"role": "user", "content": [{"type": "text", "text": ORPHAN}, {"type": "text", "text": "ok"}]}


@pytest.mark.parametrize(
    ("given", "sent", "code"),
    [
        ([legacy()], [legacy(), RETURNED | {"content": INTERRUPTED}], "interrupted_result"),
        ([RETURNED], [ORPHANED], "orphan_result"),
        ([legacy(), RETURNED, RETURNED | {"content": "ok"}], [legacy(), RETURNED], "duplicate_result"),
        ([legacy({"n": 1}), RETURNED], [legacy('{"n": 1}'), RETURNED], "incomplete"),
        ([legacy(name=None)], [TOLD], "incomplete"),
    ],
)
def test_calls_in_the_form_before_tool_calls_are_repaired_as_others(given, sent, code):
    given, sent = [ASK, *given, ASK], [ASK, *sent, ASK]
    assert validate(given, provider="openai_chat")
    done = repair(given, provider="openai_chat")
    assert done.messages == sent
    assert [change.code for change in done.changes] == [code]
    accepted(done.messages, "openai_chat", GPT)


# Anthropic and Bedrock

UNSEEN = [
    {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
    {"type": "mcp_tool_listing", "mcp_server_name": "m", "tools": []},
]


@pytest.mark.parametrize("unseen", UNSEEN, ids=lambda block: block["type"])
def test_what_the_model_does_not_see_may_stand_in_front_of_thinking(unseen):
    thinking = {"type": "thinking", "thinking": "t", "signature": "s"}
    messages = [ASK, {"role": "assistant", "content": [unseen, thinking, {"type": "text", "text": "x"}]}, ASK]
    accepted(messages, "anthropic", CLAUDE)
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    loop = [ASK, {"role": "assistant", "content": [unseen, thinking, use]}]
    done = repair(loop, provider="anthropic", thinking=True)
    assert [change.code for change in done.changes] == ["interrupted_result"]
    assert done.messages[1] is loop[1]
    assert validate(done.messages, provider="anthropic", thinking=True) == []


def test_a_tool_of_bedrocks_own_has_its_result_in_the_same_message():
    asked = {"toolUseId": "a", "name": "nova_grounding", "type": "server_tool_use", "input": {}}
    given = {"toolUseId": "a", "type": "nova_grounding_result", "content": [{"text": "FOUND"}]}
    messages = [
        {"role": "user", "content": [{"text": "x"}]},
        {"role": "assistant", "content": [{"toolUse": asked}, {"toolResult": given}, {"text": "y"}]},
        {"role": "user", "content": [{"text": "z"}]},
    ]
    accepted(messages, "bedrock", "amazon.nova-2-lite-v1:0")
    ledger = scan(messages, Counter.chars(), "bedrock")
    assert ledger.kind.tolist()[1:3] == [Kind.SERVER_CALL, Kind.SERVER_RESULT]
    assert ledger.pair.tolist() == [-1, 2, 1, -1, -1]
    broken = [*messages, {"role": "assistant", "content": [{"toolUse": {"toolUseId": "b", "name": "f", "input": {}}}]}]
    done = repair(broken, provider="bedrock")
    assert [change.code for change in done.changes] == ["interrupted_result"]
    assert done.messages[1] is messages[1]
