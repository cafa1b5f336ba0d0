"""What makes a list sendable, and that nothing else is touched."""

import json
import random

import pytest

from checker import check
from format_cases import assistant, calls, result, text, tool, use, user
from trimtab._messages import Repaired
from trimtab.formats._close import close
from trimtab.formats._entries import BEGINNING, INTERRUPTED, ORPHAN

ASK, SAY = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "sig"}


def interrupted(ref):
    return result(ref, INTERRUPTED) | {"is_error": True}


SENDABLE = [
    ("anthropic", [ASK, assistant(THINKING, text("a"), use("a"), use("b")), user(result("b"), result("a"), text("t"))]),
    ("anthropic", [ASK, assistant(use("a")), assistant(use("b")), user(result("a")), user(result("b")), SAY]),
    ("anthropic", [ASK, assistant(use("s", "server_tool_use"), result("s", [], "web_search_tool_result"), text("a"))]),
    ("anthropic", [assistant({"type": "compaction", "content": "c"}), ASK]),
    ("anthropic", [ASK, {"role": "assistant", "content": ""}]),
    (
        "openai_chat",
        [{"role": "system", "content": "s"}, ASK, calls("a", "b"), tool("b"), tool("a"), calls("a"), tool("a")],
    ),
    ("openai_chat", [SAY]),
    ("openai_responses", [ASK, {"type": "web_search_call", "id": "w", "status": "completed"}, SAY]),
]


@pytest.mark.parametrize(("provider", "messages"), SENDABLE)
def test_a_list_that_needs_nothing_stays_the_very_same(provider, messages):
    assert check(messages, provider) == []
    closed = close(messages, provider)
    assert closed.messages is messages
    assert closed.repaired == []
    assert list(closed.where) == list(range(len(messages) + 1))


TEXT_OF_GONE = [text(ORPHAN), text("ok")]
REPAIRS = [
    (
        "anthropic",
        [ASK, assistant(use("a"))],
        [ASK, assistant(use("a")), user(interrupted("a"))],
        [(2, "interrupted_result", "a")],
    ),
    (
        "anthropic",
        [ASK, assistant(use("a")), ASK],
        [ASK, assistant(use("a")), user(interrupted("a"), text("hi"))],
        [(2, "interrupted_result", "a")],
    ),
    (
        "anthropic",
        [ASK, assistant(use("a"), use("b")), user(result("a"), text("t"))],
        [ASK, assistant(use("a"), use("b")), user(result("a"), interrupted("b"), text("t"))],
        [(2, "interrupted_result", "b")],
    ),
    (
        "anthropic",
        [user(result("z"), text("t")), SAY],
        [user(*TEXT_OF_GONE, text("t")), SAY],
        [(0, "orphan_result", "z")],
    ),
    ("anthropic", [ASK, SAY, user(result("z", "")), SAY], [ASK, SAY, SAY], [(2, "orphan_result", "z")]),
    (
        "anthropic",
        [ASK, assistant(use("a"), use("a")), user(result("a"), result("a"), result("a", "else"))],
        [ASK, assistant(use("a")), user(result("a"), text(ORPHAN), text("else"))],
        [(1, "duplicate_call", "a"), (2, "duplicate_result", "a"), (2, "duplicate_result", "a")],
    ),
    (
        "anthropic",
        [ASK, assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))],
        [ASK, assistant(use("a")), user(result("a")), assistant(text("[call of f: {}]")), user(*TEXT_OF_GONE)],
        [(3, "duplicate_call", "a"), (4, "orphan_result", "a")],
    ),
    (
        "anthropic",
        [ASK, assistant(use("a")), user(text("t")), user(result("a"))],
        [ASK, assistant(use("a")), user(result("a"), text("t"))],
        [(2, "result_order", "")],
    ),
    ("anthropic", [SAY, ASK], [{"role": "user", "content": BEGINNING}, SAY, ASK], [(0, "first_role", "")]),
    ("anthropic", [ASK, assistant(THINKING)], [ASK], [(0, "bare_thinking", "")]),
    ("anthropic", [ASK, assistant(text("a "))], [ASK, assistant(text("a"))], [(1, "trailing_space", "")]),
    (
        "anthropic",
        [ASK, assistant(text("a"), use("s", "server_tool_use"))],
        [ASK, assistant(text("a"))],
        [(1, "server_half", "s")],
    ),
    (
        "openai_chat",
        [ASK, calls("a", "b"), tool("b")],
        [ASK, calls("a", "b"), tool("b"), tool("a", INTERRUPTED)],
        [(3, "interrupted_result", "a")],
    ),
    (
        "openai_chat",
        [ASK, calls("a"), ASK],
        [ASK, calls("a"), tool("a", INTERRUPTED), ASK],
        [(2, "interrupted_result", "a")],
    ),
    (
        "openai_chat",
        [tool("z"), calls("a", "b"), tool("a"), tool("y"), tool("b"), tool("b"), SAY],
        [user(*TEXT_OF_GONE), calls("a", "b"), tool("a"), tool("b"), user(*TEXT_OF_GONE), SAY],
        [(0, "orphan_result", "z"), (4, "orphan_result", "y"), (5, "duplicate_result", "b")],
    ),
    ("openai_chat", [ASK, SAY | {"tool_calls": []}], [ASK, SAY], [(1, "empty_field", "")]),
    ("openai_chat", [ASK, SAY | {"content": None}], [ASK, SAY | {"content": ""}], [(1, "empty_field", "")]),
    ("openai_chat", [ASK, calls("a", "a"), tool("a")], [ASK, calls("a"), tool("a")], [(1, "duplicate_call", "a")]),
]


@pytest.mark.parametrize(("provider", "given", "sent", "codes"), REPAIRS)
def test_what_a_provider_would_refuse_is_repaired_and_listed(provider, given, sent, codes):
    before = json.dumps(given)
    closed = close(given, provider)
    assert closed.messages == sent
    assert closed.repaired == [Repaired(*code) for code in codes]
    assert check(given, provider)
    assert check(sent, provider) == []
    assert json.dumps(given) == before
    assert close(sent, provider).messages is sent


def test_untouched_messages_are_the_same_objects_and_positions_can_be_followed():
    given = [SAY, ASK, assistant(use("a")), ASK, SAY]
    closed = close(given, "anthropic")
    assert closed.messages[1] is given[0]
    assert closed.messages[3] is given[2]
    assert closed.where == [1, 2, 3, 4, 5, 6]


def test_a_call_to_the_screen_without_its_picture_goes():
    call = {"type": "computer_call", "call_id": "c", "id": "cu", "action": {"type": "screenshot"}}
    closed = close([ASK, {"type": "reasoning", "id": "r", "summary": []}, call], "openai_responses")
    assert closed.messages == [ASK]
    assert [repaired.code for repaired in closed.repaired] == ["bare_reasoning", "interrupted_result"]
    assert [repaired.index for repaired in closed.repaired] == [0, 0]


THINGS = {
    "anthropic": [
        *(user(block) for block in (text("t"), text(" "), result("a"), result("b", "x"), result("b", ""))),
        *(assistant(block) for block in (text("t "), use("a"), use("b"), THINKING, use("s", "server_tool_use"))),
        assistant(result("s", [], "web_search_tool_result")),
        user(text("t"), result("a"), result("b")),
        assistant(THINKING, use("a"), use("b")),
        {"role": "assistant", "content": ""},
    ],
    "openai_chat": [ASK, SAY, calls("a"), calls("a", "b"), calls("b", "b"), tool("a"), tool("b"), tool("b", "x")],
    "openai_responses": [
        ASK,
        SAY,
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "web_search_call"},
        {"type": "tool_search_call", "execution": "server"},
        {"type": "tool_search_output", "execution": "server", "tools": []},
        *({"type": "function_call", "call_id": ref, "name": "f", "arguments": ""} for ref in "ab"),
        *({"type": "function_call_output", "call_id": ref, "output": "x"} for ref in "ab"),
        {"type": "custom_tool_call", "call_id": "b", "name": "f", "input": ""},
        {"type": "custom_tool_call_output", "call_id": "b", "output": "x"},
        {"type": "local_shell_call", "call_id": "c", "action": {}},
        {"type": "tool_search_call", "call_id": "d"},
        {"type": "computer_call", "call_id": "e"},
    ],
}


@pytest.mark.parametrize("provider", THINGS)
def test_whatever_a_list_holds_it_can_be_sent_and_a_valid_one_is_not_touched(provider):
    for seed in range(3_000):
        dice = random.Random(seed)
        given = dice.choices(THINGS[provider], k=dice.randrange(1, 9))
        before = json.dumps(given)
        closed = close(given, provider)
        assert json.dumps(given) == before
        if not check(given, provider):
            assert closed.messages is given
        if closed.messages:
            assert check(closed.messages, provider) == [], given
            assert close(closed.messages, provider).messages is closed.messages, given
        where = list(closed.where)
        assert where == sorted(where)
        assert where[-1] <= len(closed.messages)
        assert all(0 <= repaired.index < max(1, len(closed.messages)) for repaired in closed.repaired)
