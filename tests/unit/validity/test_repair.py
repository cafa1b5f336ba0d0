"""Repair makes a list sendable, and changes nothing else."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings

from support.checker import check
from support.damage import OPTIONS, damaged
from support.format_cases import assistant, calls, result, text, tool, use, user
from support.models import CLAUDE, CLAUDE_BOUND
from support.scale import scaled
from support.transcripts import PROVIDERS, deep_hash, png, specs, transcript
from trimtab import MessageError, repair, validate
from trimtab.messages import Repaired
from trimtab.messages.shapes import ShapeAdapter
from trimtab.validity import BEGINNING, INTERRUPTED
from trimtab.validity.repair import run_steps
from trimtab.validity.repair.entries import ORPHAN

ASK, SAY = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "sig"}
MARK = {"cache_control": {"type": "ephemeral"}}
CALLER = {"caller": {"type": "code_execution_20250825", "tool_id": "s"}}


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
def test_a_valid_list_is_returned_itself(provider, messages):
    assert check(messages, provider) == []
    made = run_steps(messages, provider)
    assert made.messages is messages
    assert made.changes == []
    assert list(made.positions) == list(range(len(messages) + 1))


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
        [ASK, assistant(use("s", "server_tool_use"), text("a"))],
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
    (
        "openai_chat",
        [ASK, SAY | {"tool_calls": [{"id": "a", "custom": {"name": "f", "input": "x"}}]}, tool("a")],
        [ASK, SAY | {"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f", "input": "x"}}]}, tool("a")],
        [(1, "incomplete", "")],
    ),
]


@pytest.mark.parametrize(("provider", "given", "sent", "codes"), REPAIRS)
def test_repair_fixes_and_lists_each_problem(provider, given, sent, codes):
    before = json.dumps(given)
    made = run_steps(given, provider)
    assert made.messages == sent
    assert made.changes == [Repaired(*code) for code in codes]
    assert check(given, provider)
    assert check(sent, provider) == []
    assert json.dumps(given) == before
    assert run_steps(sent, provider).messages is sent


def test_untouched_messages_are_the_same_objects_and_positions_can_be_followed():
    given = [SAY, ASK, assistant(use("a")), ASK, SAY]
    made = run_steps(given, "anthropic")
    assert made.messages[1] is given[0]
    assert made.messages[3] is given[2]
    assert made.positions == [1, 2, 3, 4, 5, 6]


def test_a_computer_call_without_its_screenshot_is_dropped():
    call = {"type": "computer_call", "call_id": "c", "id": "cu", "action": {"type": "screenshot"}}
    made = run_steps([ASK, {"type": "reasoning", "id": "r", "summary": []}, call], "openai_responses")
    assert made.messages == [ASK]
    assert [repaired.code for repaired in made.changes] == ["bare_reasoning", "interrupted_result"]
    assert [repaired.index for repaired in made.changes] == [0, 0]


THINGS = {
    "anthropic": [
        *(user(block) for block in (text("t"), text(" "), result("a"), result("b", "x"), result("b", ""))),
        assistant(use("s", "server_tool_use"), use("a") | CALLER),
        assistant(use("b") | CALLER),
        assistant(result("s", {"type": "code_execution_result"}, "code_execution_tool_result")),
        user(result("a", [text("") | MARK, text("x")])),
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
def test_repair_steps_make_any_list_valid_and_keep_a_valid_one(provider):
    for seed in range(3_000):
        dice = random.Random(seed)
        given = dice.choices(THINGS[provider], k=dice.randrange(1, 9))
        before = json.dumps(given)
        made = run_steps(given, provider)
        assert json.dumps(given) == before
        if not check(given, provider, container=True):
            assert made.messages is given
        if made.messages:
            assert check(made.messages, provider, container=True) == [], given
            assert run_steps(made.messages, provider).messages is made.messages, given
        where = list(made.positions)
        assert where == sorted(where)
        assert where[-1] <= len(made.messages)
        assert all(0 <= repaired.index < max(1, len(made.messages)) for repaired in made.changes)


def test_repair_ends_code_executions_whose_container_is_gone():
    for seed in range(2_000):
        dice = random.Random(seed)
        given = dice.choices(THINGS["anthropic"], k=dice.randrange(1, 9))
        done = repair(given, provider="anthropic")
        assert check(list(done.messages), "anthropic") == []
        assert repair(done.messages, provider="anthropic").messages is done.messages


# The public function

CASES = Path(__file__).parents[4] / "shared" / "cases" / "must" / "invariants" / "repair.json"
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png(9, 9)}}
HUGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png(8001, 1)}}


def blocks(message):
    content = message.get("content")
    return content if isinstance(content, list) else [text(content)]


def published():
    return json.loads(CASES.read_text("utf-8"))["cases"] if CASES.exists() else []


@pytest.mark.shared
@pytest.mark.parametrize("case", published(), ids=lambda case: case["name"])
def test_repair_agrees_with_published_cases(case):
    given = case["input"]
    done = repair(given["messages"], provider=given["provider"])
    found = [block for message in done.messages for block in blocks(message)]
    results = {
        "valid": check(list(done.messages), given["provider"]) == [],
        "text_kept": [block["text"] for block in found if block["type"] == "text"],
        "result_ids": [block["tool_use_id"] for block in found if block["type"] == "tool_result"],
        "cache_control_count": sum("cache_control" in block for block in found),
        "messages": done.messages,
        "messages.0.role": done.messages[0]["role"],
        "messages.2.content.0.type": blocks(done.messages[-1])[0]["type"],
    }
    holds = {
        "eq": lambda have, want: have == want,
        "contains": lambda have, want: want in have,
        "len_le": lambda have, want: len(have) <= want,
        "le": lambda have, want: have <= want,
    }
    for path, operator, want in case["expect"]["assert"]:
        assert holds[operator](results[path], want), path


MENDED = {
    "a role that there is not is the user's": ([{"role": "narrator", "content": "x"}], {}, ["unknown_role"]),
    "system text at the start moves behind the user": (
        [{"role": "system", "content": "x"}, ASK],
        {},
        ["system_position"],
    ),
    "system text of a model that takes none is the user's": (
        [ASK, {"role": "system", "content": "x"}],
        {"model": "claude-haiku-4-5"},
        ["system_role"],
    ),
    "a call in the user's mouth is told": ([user(use("a")), SAY], {}, ["misplaced"]),
    "a result in the model's is told": ([ASK, assistant(result("a", "said")), ASK], {}, ["misplaced"]),
    "of its parts the text is told, of anything else the JSON": (
        [ASK, assistant(result("a", ["x", {"type": "text"}, 7]), result("b", 7)), ASK],
        {},
        ["misplaced"],
    ),
    "a system message loses a blank text": (
        [ASK, {"role": "system", "content": [text(" "), text("x")]}, SAY, ASK],
        {},
        ["blank_text"],
    ),
    "a blank system message goes": ([ASK, {"role": "system", "content": " "}, SAY, ASK], {}, ["blank_text"]),
    "thinking whose ciphertext is empty goes": (
        [ASK, assistant({"type": "redacted_thinking", "data": ""}, text("a")), ASK],
        {},
        ["unsigned_thinking"],
    ),
    "the oldest markers go from documents and results of servers": (
        [
            user({"type": "document", "source": {"type": "content", "content": [text("a") | MARK, text("b") | MARK]}}),
            assistant(
                use("m", "mcp_tool_use") | {"server_name": "s"},
                result("m", [text(w) | MARK for w in "abcd"], "mcp_tool_result"),
                text("t"),
            ),
            ASK,
        ],
        {},
        ["cache_marker"],
    ),
    "a call without input has none": (
        [ASK, assistant({"type": "tool_use", "id": "a", "name": "f"}), user(result("a"))],
        {},
        ["incomplete"],
    ),
    "thinking that nobody signed goes": (
        [ASK, assistant({"type": "thinking", "thinking": "hm"}, text("a")), ASK],
        {},
        ["unsigned_thinking"],
    ),
    "thinking goes where it is off": ([ASK, assistant(THINKING, text("a"))], {"thinking": False}, ["bare_thinking"]),
    "a model without prefill is asked to go on": ([ASK, SAY], {"prefill": False}, ["prefill"]),
    "a loop without thinking is ended by a word": (
        [ASK, assistant(use("a")), user(result("a"))],
        {"thinking": True},
        ["loop_ended"],
    ),
    "neighbours are merged where roles alternate": ([ASK, ASK], {"alternation": True}, ["merged"]),
    "the oldest markers go": ([user(*(text(w) | MARK for w in "abcdef"))], {}, ["cache_marker"]),
    "an empty text goes with its marker": ([user(text("a"), text("") | MARK), SAY], {}, ["blank_text"]),
    "an empty text of a result loses its marker": (
        [ASK, assistant(use("a")), user(result("a", [text("") | MARK, text("x")]))],
        {},
        ["cache_marker"],
    ),
    "a code execution without its container ends, its calls stay": (
        [ASK, assistant(use("s", "server_tool_use"), use("a") | CALLER), user(result("a"))],
        {},
        ["ended_code", "ended_code"],
    ),
    "markers beside the messages count": (
        [user(text("a") | MARK, text("b") | MARK)],
        {"system": [text("s") | MARK] * 3},
        ["cache_marker"],
    ),
    "the oldest pictures go": (
        [user(*[PICTURE] * 102), SAY],
        {"model": CLAUDE},
        ["picture"],
    ),
    "a picture that is too large goes, from a result too": (
        [ASK, assistant(use("a")), user(result("a", [HUGE]))],
        {},
        ["picture"],
    ),
    "nothing is left but to begin": ([], {}, ["first_role"]),
}


@pytest.mark.parametrize(("given", "options", "codes"), MENDED.values(), ids=MENDED)
def test_repair_makes_the_smallest_change(given, options, codes):
    before = json.dumps(given)
    assert validate(given, provider="anthropic", **options)
    done = repair(given, provider="anthropic", **options)
    assert [change.code for change in done.changes] == codes
    assert validate(done.messages, provider="anthropic", **options) == []
    assert repair(done.messages, provider="anthropic", **options).messages is done.messages
    assert json.dumps(given) == before


def test_repair_drops_thinking_behind_an_edit_if_the_model_binds_it():
    original = [ASK, assistant(THINKING, text("a")), ASK, assistant({**THINKING, "signature": "2"}, text("b")), ASK]
    edited = [{"role": "user", "content": "[summary]"}, *original[1:]]
    options = {"provider": "anthropic", "model": CLAUDE_BOUND, "original": original}
    assert [problem.code for problem in validate(edited, **options)] == ["thinking_prefix_mismatch"] * 2
    done = repair(edited, **options)
    assert [change.code for change in done.changes] == ["bound_thinking"] * 2
    assert [blocks(message) for message in done.messages[1::2]] == [[text("a")], [text("b")]]
    assert validate([ASK, assistant(text("a")), *original[2:]], **options) == [], "from the start it may go"
    unbound = options | {"model": CLAUDE}
    assert validate(edited, **unbound) == []


def test_a_stored_call_without_its_reasoning_loses_its_id():
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "x"}
    original = [ASK, {"type": "reasoning", "id": "rs", "summary": []}, call, output]
    done = repair([ASK, call, output], provider="openai_responses", original=original)
    assert [change.code for change in done.changes] == ["stored_id"]
    assert "id" not in done.messages[1]


def test_repair_keeps_calls_open_only_in_flight():
    for provider in PROVIDERS:
        running = transcript("u c1+c2 r2", provider)
        assert repair(running, provider=provider, in_flight=True).messages is running
        done = repair(running, provider=provider)
        assert [change.code for change in done.changes] == ["interrupted_result"]
        assert check(list(done.messages), provider) == []


def test_repair_raises_where_no_change_of_messages_helps():
    with pytest.raises(MessageError, match="tool_config_required"):
        repair(transcript("u c1 r1", "bedrock"), provider="bedrock", tools=[])
    edited, written = ([assistant({"type": "compaction", "content": said}), ASK] for said in "ab")
    with pytest.raises(MessageError, match="compaction_modified"):
        repair(edited, provider="anthropic", original=written)
    with pytest.raises(MessageError, match=r"messages\[0\]"):
        repair([7], provider="anthropic")


@pytest.mark.parametrize("provider", ["bedrock", "gemini"])
def test_the_shape_adapter_writes_back_what_it_read(provider):
    @settings(max_examples=scaled(200))
    @given(specs(provider, unknown=True))
    def holds(spec):
        messages = transcript(spec, provider)
        adapter = ShapeAdapter(provider)
        assert [adapter.write(message) for message in adapter.read(messages)] == messages

    holds()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_repair_fixes_every_damaged_list(provider):
    @settings(max_examples=scaled(400))
    @given(damaged(provider), OPTIONS)
    def holds(broken, options):
        before = deep_hash(broken)
        try:
            done = repair(broken, provider=provider, **options)
        except MessageError as error:
            loops = str(error.args[0]).startswith("thinking_expected") and options["in_flight"]
            assert loops or "malformed" in {p.code for p in validate(broken, provider=provider)}, error  # noqa: PT017
            return
        finally:
            assert deep_hash(broken) == before
        assert validate(done.messages, provider=provider, **options) == []
        assert repair(done.messages, provider=provider, **options).messages is done.messages
        assert bool(done.changes) == (done.messages is not broken)
        assert bool(done.changes) == bool(validate(broken, provider=provider, **options))

    holds()
