"""The judge is judged: a valid list gives no finding, and one planted defect gives the finding that names it."""

import json
import sys
from pathlib import Path

import pytest

from support.checker import check

MARK = {"cache_control": {"type": "ephemeral"}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aWs="}}


def text(words, **more):
    return {"type": "text", "text": words, **more}


def use(ref, kind="tool_use", **more):
    return {"type": kind, "id": ref, "name": "web_search", "input": {}, **more}


def result(ref, kind="tool_result", content="ok", **more):
    return {"type": kind, "tool_use_id": ref, "content": content, **more}


def user(*content):
    return {"role": "user", "content": list(content) if content and isinstance(content[0], dict) else "".join(content)}


def assistant(*content):
    return {**user(*content), "role": "assistant"}


def call(ref, **more):
    return {"id": ref, "type": "function", "function": {"name": "f", "arguments": "{}"}, **more}


def tool(ref, **more):
    return {"role": "tool", "tool_call_id": ref, "content": "ok", **more}


def item(kind, ref=None, **more):
    required = {
        "function_call": {"name": "f", "arguments": "{}"},
        "custom_tool_call": {"name": "f", "input": "x"},
        "tool_search_call": {"execution": "client", "arguments": {}},
        "tool_search_output": {"execution": "client", "tools": []},
        "local_shell_call": {"action": {"type": "exec", "command": ["ls"]}},
        "computer_call_output": {"output": {"type": "computer_screenshot", "image_url": "data:"}},
        "reasoning": {"id": "rs_1", "summary": []},
    }
    return {"type": kind} | ({"call_id": ref} if ref else {}) | required.get(kind, {"output": "ok"}) | more


def said(role, words="x"):
    return {"type": "message", "role": role, "content": words}


CLEAN = {
    "anthropic": [
        user("find it"),
        assistant(THOUGHT, text("I look."), use("t1"), use("t2")),
        user(result("t2", content=[text("ok"), PICTURE]), result("t1"), text("and?"), PICTURE),
        assistant(use("s1", "server_tool_use"), result("s1", "web_search_tool_result", []), text("found")),
        user("more"),
        user(text("please", **MARK)),
        assistant(use("m1", "mcp_tool_use", server_name="s"), result("m1", "mcp_tool_result", []), text("done")),
        user("go on"),
        assistant(THOUGHT, use("t3")),
        user(result("t3")),
    ],
    "openai_chat": [
        {"role": "system", "content": "be short"},
        {"role": "user", "content": [text("see"), {"type": "image_url", "image_url": {"url": "data:"}}]},
        {"role": "assistant", "content": None, "tool_calls": [call("c1"), call("c2")]},
        tool("c2"),
        tool("c1", content=[text("ok")]),
        {"role": "assistant", "content": "done"},
        {"role": "developer", "content": "[summary]"},
        {"role": "user", "content": "more"},
        {"role": "assistant", "content": "I look.", "tool_calls": [call("c3")]},
        tool("c3"),
    ],
    "openai_responses": [
        {"role": "user", "content": [{"type": "input_text", "text": "find it"}]},
        item("reasoning"),
        item("reasoning", id="rs_2"),
        item("function_call", "c1"),
        item("custom_tool_call", "c2"),
        item("custom_tool_call_output", "c2"),
        item("function_call_output", "c1"),
        item("reasoning", id="rs_3"),
        said("assistant", [{"type": "output_text", "text": "done"}]),
        said("user", "more"),
        item("tool_search_call", "c3"),
        item("tool_search_output", "c3"),
        item("local_shell_call", "c4"),
        item("local_shell_call_output", "c4"),
        item("computer_call", "c5"),
        item("computer_call_output", "c5"),
    ],
}


def put(at, *new):
    """Plants messages before a position."""
    return lambda messages: messages.__setitem__(slice(at, at), new)


def swap(at, *new):
    """Plants messages in the place of one; of none, it is gone."""
    return lambda messages: messages.__setitem__(slice(at, at + 1), new)


def edit(at, **fields):
    return lambda messages: messages[at].update(fields)


def blocks(at, *new, where=0):
    """Plants blocks inside a message."""
    return lambda messages: messages[at]["content"].__setitem__(slice(where, where), new)


def field(at, block, **fields):
    return lambda messages: messages[at]["content"][block].update(fields)


DEFECTS = {
    "anthropic": [
        ("no messages", "empty_messages", lambda messages: messages.clear()),
        ("a string for a message", "wrong_type", put(4, "hello")),
        ("content that is a number", "wrong_type", edit(4, content=3)),
        ("content that is null", "null_content", edit(4, content=None)),
        ("a string for a block", "wrong_type", blocks(5, "hello")),
        ("a block without a type", "wrong_type", blocks(5, {"text": "hello"})),
        ("a block of no known type", "unknown_block", blocks(5, {"type": "input_text", "text": "hello"})),
        ("text without text", "missing_field", field(5, 0, text=None)),
        ("a call without an id", "missing_field", field(1, 2, id=None)),
        ("a call without a name", "missing_field", field(1, 2, name=None)),
        ("input as a string", "missing_field", field(1, 2, input="{}")),
        ("a result without an id", "missing_field", field(9, 0, tool_use_id=None)),
        ("an image without a source", "missing_field", field(2, 3, source=None)),
        (
            "an image without its bytes",
            "missing_field",
            field(2, 3, source={"type": "base64", "media_type": "image/png"}),
        ),
        ("a result that holds a call", "unknown_block", field(9, 0, content=[use("t9")])),
        ("thinking without a signature", "thinking_signature_missing", field(1, 0, signature=None)),
        ("a system role inside", "system_role", put(4, {"role": "system", "content": "x"})),
        ("a tool role inside", "unknown_role", put(4, {"role": "tool", "content": "x"})),
        ("an assistant first", "first_message_role", put(0, assistant("hi"))),
        ("an empty user message", "empty_content", edit(4, content="")),
        ("an empty content list", "empty_content", edit(4, content=[])),
        ("an empty assistant message inside", "empty_content", put(1, assistant(""))),
        ("an empty text block", "empty_text_block", field(5, 0, text="")),
        ("blank text", "empty_text_block", edit(4, content=" \n")),
        ("an orphan result", "unexpected_tool_use_id", edit(4, content=[result("t9")])),
        ("a result of an older call", "unexpected_tool_use_id", edit(4, content=[result("t1")])),
        ("a missing result", "tool_use_without_result", lambda messages: messages[2]["content"].pop(1)),
        ("an open call at the end", "tool_use_without_result", swap(9)),
        ("a second result in the message", "duplicate_tool_result", blocks(2, result("t1"))),
        ("a second result in the next message", "duplicate_tool_result", put(3, user(result("t1")))),
        ("a call id twice in a turn", "duplicate_tool_use_id", blocks(1, use("t1"), where=3)),
        ("a call id twice in the list", "duplicate_tool_use_id", blocks(3, use("t1", "server_tool_use"))),
        ("text before the results", "tool_result_not_first", blocks(2, text("note"))),
        ("text between the results", "tool_result_not_first", blocks(2, text("note"), where=1)),
        ("a user message between call and result", "tool_result_not_first", put(2, user("wait"))),
        ("a turn between call and result", "tool_use_without_result", put(2, user("wait"), assistant("yes"))),
        ("a call in a user message", "block_role", blocks(5, use("t9"))),
        ("a result in an assistant message", "block_role", blocks(8, result("t1"), where=1)),
        ("a server call without result", "server_tool_without_result", lambda messages: messages[3]["content"].pop(1)),
        ("a server result without call", "server_result_without_use", lambda messages: messages[3]["content"].pop(0)),
        (
            "a server result before its call",
            "server_result_without_use",
            lambda m: m[3]["content"].insert(0, m[3]["content"].pop(1)),
        ),
        ("an mcp call without result", "server_tool_without_result", lambda messages: messages[6]["content"].pop(1)),
        ("a server result from the user", "block_role", blocks(5, result("s1", "web_search_tool_result", []))),
        (
            "a user who speaks while the server waits",
            "only_tool_results_allowed",
            blocks(1, use("s9", "server_tool_use"), where=2),
        ),
        ("thinking behind text", "thinking_not_first", blocks(3, THOUGHT, where=2)),
        ("thinking last", "thinking_last", blocks(8, THOUGHT, where=2)),
        ("thinking as the last message", "thinking_last", put(10, assistant(THOUGHT))),
        ("five cache markers", "too_many_cache_control", blocks(5, *[text("x", **MARK)] * 4)),
        ("a fifth marker inside a result", "too_many_cache_control", field(9, 0, content=[text("x", **MARK)] * 4)),
        ("a marker on thinking", "cache_control_on_thinking", field(1, 0, **MARK)),
        ("a final space", "final_assistant_whitespace", put(10, assistant("Answer: "))),
        ("a final newline in a block", "final_assistant_whitespace", put(10, assistant(text("Answer:\n")))),
    ],
    "openai_chat": [
        ("no messages", "empty_messages", lambda messages: messages.clear()),
        ("null for a message", "wrong_type", put(5, None)),
        ("an unknown role", "unknown_role", put(5, {"role": "model", "content": "x"})),
        ("content that is a dict", "wrong_type", edit(5, content=text("x"))),
        ("a user without content", "null_content", edit(7, content=None)),
        ("an assistant without content and calls", "null_content", edit(5, content=None)),
        ("a tool message without content", "null_content", edit(3, content=None)),
        ("an empty content list", "empty_content", edit(7, content=[])),
        ("a part without a type", "wrong_type", edit(7, content=[{"text": "x"}])),
        ("a part of another provider", "unknown_block", edit(4, content=[result("c1")])),
        ("an image from the assistant", "unknown_block", edit(5, content=[{"type": "image_url", "image_url": {}}])),
        ("text without text", "missing_field", edit(7, content=[{"type": "text"}])),
        ("an empty list of calls", "empty_tool_calls", edit(5, tool_calls=[])),
        ("a call without an id", "missing_field", edit(8, tool_calls=[call(None)])),
        (
            "arguments that are a dict",
            "missing_field",
            edit(8, tool_calls=[call("c3", function={"name": "f", "arguments": {}})]),
        ),
        ("a call without a type", "wrong_type", edit(8, tool_calls=[call("c3", type=None)])),
        ("calls of a user", "wrong_type", edit(7, tool_calls=[call("c9")])),
        ("a tool message without an id", "missing_field", edit(3, tool_call_id=None)),
        ("an orphan result", "orphan_tool", put(6, tool("c9"))),
        ("a result of an older call", "orphan_tool", put(6, tool("c1"))),
        ("a result before its call", "orphan_tool", put(8, tool("c3"))),
        ("a missing result", "tool_call_without_result", swap(3)),
        ("an open call at the end", "tool_call_without_result", swap(9)),
        ("a user between call and result", "tool_call_without_result", put(4, {"role": "user", "content": "wait"})),
        (
            "a system message between call and result",
            "tool_call_without_result",
            put(3, {"role": "system", "content": "x"}),
        ),
        ("a second result", "duplicate_tool_call_id", put(5, tool("c2"))),
        ("a call id twice", "duplicate_tool_call_id", edit(8, tool_calls=[call("c3"), call("c3")])),
    ],
    "openai_responses": [
        ("no items", "empty_messages", lambda messages: messages.clear()),
        ("a string for an item", "wrong_type", put(9, "hello")),
        ("an item without type and role", "unknown_item", put(9, {"content": "x"})),
        ("an unknown item", "unknown_item", put(9, item("tool_use", "c9"))),
        ("a tool role", "unknown_role", put(9, said("tool"))),
        ("a message without content", "null_content", edit(9, content=None)),
        ("a part without a type", "wrong_type", edit(9, content=[{"text": "x"}])),
        ("input text from the assistant", "unknown_block", edit(8, content=[{"type": "input_text", "text": "x"}])),
        ("text without text", "missing_field", edit(9, content=[{"type": "input_text"}])),
        ("a call without a call id", "missing_field", edit(3, call_id=None)),
        ("a call without a name", "missing_field", edit(3, name=None)),
        ("arguments that are a dict", "missing_field", edit(3, arguments={})),
        ("an output without output", "missing_field", edit(6, output=None)),
        ("reasoning without a summary", "missing_field", edit(1, summary=None)),
        ("an orphan output", "output_without_call", put(9, item("function_call_output", "c9"))),
        ("an output of another kind", "output_without_call", edit(6, type="custom_tool_call_output")),
        ("an output before its call", "output_without_call", put(3, item("function_call_output", "c1"))),
        ("an open function call", "call_without_output", swap(6)),
        ("an open custom call", "call_without_output", swap(5)),
        ("an open tool search", "call_without_output", swap(11)),
        ("an open shell call", "call_without_output", swap(13)),
        ("an open computer call at the end", "call_without_output", swap(15)),
        ("a second output", "duplicate_output", put(9, item("function_call_output", "c1"))),
        ("a call id twice", "duplicate_call_id", put(4, item("function_call", "c1"))),
        ("a call id twice in two kinds", "duplicate_call_id", edit(4, call_id="c1")),
        ("reasoning before an output", "reasoning_without_follower", put(6, item("reasoning"))),
        ("reasoning before a user", "reasoning_without_follower", put(9, item("reasoning"))),
        (
            "two reasoning items before a user",
            "reasoning_without_follower",
            put(9, item("reasoning"), item("reasoning")),
        ),
        ("reasoning at the end", "reasoning_without_follower", put(16, item("reasoning"))),
        ("reasoning whose call is gone", "reasoning_without_follower", swap(8)),
    ],
}


def planted(provider, plant):
    """The clean list with the defect, sharing nothing with the clean one (nor one block with another)."""
    messages = json.loads(json.dumps(CLEAN[provider]))
    plant(messages)
    return messages


def codes(findings):
    return [finding.split(": ")[1] for finding in findings]


@pytest.mark.parametrize("provider", CLEAN)
def test_the_clean_list_gives_no_finding(provider):
    assert check(CLEAN[provider], provider) == []
    assert check(CLEAN[provider], provider, in_flight=True, prefill=False) == []


@pytest.mark.parametrize(
    ("provider", "code", "plant"),
    [
        pytest.param(provider, code, plant, id=f"{provider}: {name}")
        for provider, defects in DEFECTS.items()
        for name, code, plant in defects
    ],
)
def test_a_planted_defect_is_caught_by_its_code(provider, code, plant):
    messages = planted(provider, plant)
    assert code in codes(check(messages, provider))


@pytest.mark.parametrize(
    ("provider", "code", "plant", "at"),
    [
        ("anthropic", "unexpected_tool_use_id", put(4, user(result("t9"))), 4),
        ("openai_chat", "orphan_tool", put(6, tool("c9")), 6),
        ("openai_responses", "output_without_call", put(9, item("function_call_output", "c9")), 9),
    ],
)
def test_an_orphan_result_is_the_one_finding_and_names_its_place(provider, code, plant, at):
    messages = planted(provider, plant)
    (finding,) = check(messages, provider)
    assert finding.startswith(f"messages[{at}]: {code}: ")


@pytest.mark.parametrize(
    ("provider", "messages", "code"),
    [
        ("anthropic", [user("q"), assistant(use("t1"), use("t2"))], "tool_use_without_result"),
        ("anthropic", [user("q"), assistant(use("t1"), use("t2")), user(result("t2"))], "tool_use_without_result"),
        ("anthropic", [user("q"), assistant(use("s1", "server_tool_use"), text("a"))], "server_tool_without_result"),
        ("openai_chat", [user("q"), {"role": "assistant", "tool_calls": [call("c1")]}], "tool_call_without_result"),
        (
            "openai_chat",
            [user("q"), {"role": "assistant", "tool_calls": [call("c1"), call("c2")]}, tool("c2")],
            "tool_call_without_result",
        ),
        ("openai_responses", [said("user"), item("function_call", "c1")], "call_without_output"),
        (
            "openai_responses",
            [
                said("user"),
                item("function_call", "c1"),
                item("computer_call", "c2"),
                item("function_call_output", "c1"),
            ],
            "call_without_output",
        ),
    ],
)
def test_an_open_call_at_the_end_is_a_finding_unless_it_is_in_flight(provider, messages, code):
    assert set(codes(check(messages, provider))) == {code}
    assert check(messages, provider, in_flight=True, prefill=False) == []


@pytest.mark.parametrize(
    ("provider", "messages", "code"),
    [
        ("anthropic", [user("q"), assistant(use("t1")), user("wait")], "tool_use_without_result"),
        (
            "anthropic",
            [user("q"), assistant(use("t1"), use("t2")), user(result("t1"), text("wait"))],
            "tool_use_without_result",
        ),
        (
            "openai_chat",
            [user("q"), {"role": "assistant", "tool_calls": [call("c1")]}, user("wait")],
            "tool_call_without_result",
        ),
        ("openai_responses", [said("user"), item("function_call", "c1"), said("user")], "call_without_output"),
        (
            "openai_responses",
            [
                said("user"),
                item("function_call", "c1"),
                item("function_call", "c2"),
                item("function_call_output", "c2"),
                said("assistant"),
            ],
            "call_without_output",
        ),
    ],
)
def test_a_call_with_more_than_results_behind_it_is_not_in_flight(provider, messages, code):
    assert codes(check(messages, provider, in_flight=True)) == [code]


@pytest.mark.parametrize(
    "messages",
    [
        [user("a"), user("b"), assistant("c"), assistant("d"), user("e")],
        [user("q"), assistant(text("I look.")), assistant(use("t1")), user(result("t1")), user("and?")],
        [user("q"), assistant(use("t1")), assistant(use("t2")), user(result("t2")), user(result("t1"))],
        [user("q"), assistant(THOUGHT), assistant("a"), user("b")],
    ],
)
def test_neighbours_of_one_role_are_judged_as_one_anthropic_turn(messages):
    assert check(messages, "anthropic") == []


def test_a_compaction_block_may_lead_an_anthropic_list():
    assert check([assistant({"type": "compaction", "content": "S"}), user("q")], "anthropic") == []


def test_a_server_may_answer_after_the_results_of_the_client():
    waits = [user("q"), assistant(use("s1", "server_tool_use"), use("t1")), user(result("t1"))]
    assert check(waits, "anthropic") == []
    assert check([*waits, assistant(result("s1", "code_execution_tool_result", {}), text("a"))], "anthropic") == []
    assert codes(check([*waits, assistant("a")], "anthropic")) == ["server_tool_without_result"]


def test_a_paused_answer_goes_back_as_it_is():
    paused = assistant(text("a"), use("s1", "server_tool_use"), result("s1", "web_search_tool_result", []))
    paused["content"].append(use("s2", "server_tool_use"))
    assert check([user("q"), paused], "anthropic", prefill=False) == []


def test_a_final_assistant_message_may_be_empty_where_prefill_is_allowed():
    assert check([user("q"), assistant("")], "anthropic") == []


def test_a_model_without_prefill_refuses_a_final_assistant_message():
    assert codes(check([user("q"), assistant("a")], "anthropic", prefill=False)) == ["prefill_not_supported"]


def test_an_open_tool_loop_starts_with_thinking_where_thinking_is_on():
    bare = [user("q"), assistant(use("t1")), user(result("t1"))]
    assert codes(check(bare, "anthropic", thinking=True)) == ["thinking_expected"]
    assert check(bare, "anthropic") == check(bare, "anthropic", thinking=False) == []
    assert check([*bare, assistant("a"), user("b")], "anthropic", thinking=True) == []
    later = [user("q"), assistant(THOUGHT, use("t1")), user(result("t1")), assistant(use("t2")), user(result("t2"))]
    assert check(later, "anthropic", thinking=True) == []


def test_a_final_message_holds_no_thinking_where_thinking_is_off():
    messages = [user("q"), assistant(THOUGHT, text("a"))]
    assert codes(check(messages, "anthropic", thinking=False)) == ["thinking_disabled_final"]
    assert check(messages, "anthropic") == check([*messages, user("b")], "anthropic", thinking=False) == []


def test_a_search_of_tools_by_the_server_needs_no_call_id():
    search = [
        item("tool_search_call", execution="server"),
        item("tool_search_output", execution="server"),
    ]
    assert check([said("user"), item("reasoning"), *search, said("user")], "openai_responses") == []


def test_a_shell_call_of_codex_is_answered_by_a_function_output():
    items = [said("user"), item("local_shell_call", "c1"), item("function_call_output", "c1")]
    assert check(items, "openai_responses") == []


def test_an_unknown_provider_is_an_error():
    with pytest.raises(KeyError):
        check([user("q")], "cohere")


@pytest.mark.parametrize("provider", CLEAN)
def test_a_long_list_costs_its_length(provider):
    def steps(length):
        rounds = [json.loads(spelled.replace('id": "', f'id": "round{n}-')) for n in range(length // len(rest))]
        long = [first, *(message for messages in rounds for message in messages)]
        calls = []
        sys.setprofile(lambda frame, event, arg: calls.append(event))
        try:
            assert check(long, provider) == []
        finally:
            sys.setprofile(None)
        return len(calls)

    first, *rest = CLEAN[provider]
    spelled = json.dumps([*rest, user("next")]).replace("cache_control", "note")
    assert steps(5_000) < 2.2 * steps(2_500)


CASES = Path(__file__).parents[3] / "shared" / "cases" / "must" / "invariants"
NOT_JUDGED = {
    "thinking-modified-latest": "a mark of the case's own says that the block was changed",
    "image-8001px": "sizes of pictures are not judged, and this one is a size without bytes",
    "images-21-over-2000px": "sizes of pictures are not judged, and these are sizes without bytes",
    "images-20-at-2001px": "sizes of pictures are not judged, and these are sizes without bytes",
    "call-without-reasoning": "a mark of the case's own names the reasoning that the server has stored",
}


@pytest.mark.shared
@pytest.mark.parametrize("provider", CLEAN)
def test_the_shared_cases_are_judged_as_they_expect(provider):
    if not CASES.is_dir():
        pytest.skip("the shared cases (../shared/cases) are not here")
    wrong = {}
    judged = 0
    for case in json.loads((CASES / f"{provider}.json").read_text())["cases"]:
        name, given, expect = case["name"].split("/")[-1], case["input"], case["expect"]
        options = given.get("options") or {}
        if case["op"] != f"validate_{provider}" or options.keys() - {"thinking"} or name in NOT_JUDGED:
            continue
        judged += 1
        found = codes(check(given["messages" if "messages" in given else "input"], provider, **options))
        if expect["valid"] != (not found) or (found and expect["code"] not in found):
            wrong[name] = (expect, found)
    assert wrong == {}
    assert judged
