"""The library's validation against the independent judge, and against the published rulings."""

import copy
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings

from support.checker import check
from support.damage import OPTIONS, damaged
from support.models import CLAUDE_BOUND
from support.scale import scaled
from support.transcripts import HEIGHT, PROVIDERS, deep_hash, is_open, png, specs, transcript
from trimtab import Counter, MessageError, validate
from trimtab.counting.counter import scan
from trimtab.validity.validate import Rules

CASES = Path(__file__).parents[4] / "shared" / "cases" / "must" / "invariants"
generated = pytest.mark.parametrize("provider", PROVIDERS)


def codes(messages, provider, **options):
    """Codes of what the library finds."""
    return {problem.code for problem in validate(messages, provider=provider, **options)}


def judged(messages, provider, **options):
    """Codes of what the judge finds."""
    return {finding.split(": ")[1] for finding in check(messages, provider, **options)}


# Valid transcripts


@generated
def test_a_valid_transcript_has_no_problem(provider):
    @settings(max_examples=scaled(200))
    @given(specs(provider))
    def holds(spec):
        valid = transcript(spec, provider)
        before = deep_hash(valid)
        assert validate(valid, provider=provider, in_flight=is_open(spec)) == []
        assert check(valid, provider, in_flight=is_open(spec)) == []
        assert deep_hash(valid) == before

    holds()


@generated
def test_an_open_call_is_a_problem_unless_it_is_in_flight(provider):
    @settings(max_examples=scaled(100))
    @given(specs(provider).filter(is_open))
    def holds(spec):
        code = {"openai_chat": "tool_call_without_result", "gemini": "function_response_count"}
        code |= dict.fromkeys(("anthropic", "bedrock"), "tool_use_without_result")
        expected = {code.get(provider, "call_without_output")}
        assert (codes(transcript(spec, provider), provider), judged(transcript(spec, provider), provider)) == (
            expected,
            expected,
        )

    holds()


@generated
def test_an_unknown_block_is_no_problem(provider):
    """Where the judge goes by a list of the types that there are, the library lets pass what it does not know."""

    @settings(max_examples=scaled(100))
    @given(specs(provider, unknown=True))
    def holds(spec):
        valid = transcript(spec, provider)
        assert validate(valid, provider=provider, in_flight=is_open(spec)) == []
        assert judged(valid, provider, in_flight=is_open(spec)) <= {"unknown_block", "unknown_item"}

    holds()


# Damaged transcripts

# Findings that only one of the two makes, on purpose.
DELIBERATE = {
    "anthropic": {
        "thinking_signature_missing",  # an empty signature: the judge does not say which signatures are genuine
    },
    "openai_chat": {"unknown_block"},  # the library does not know which parts each role may have
    "openai_responses": {
        "unknown_block",
        "empty_content",  # nobody says whether an empty list of parts is refused; the library is on the safe side
        "reasoning_without_follower",  # in flight, the library lets reasoning end the list: the answer is still coming
    },
    "bedrock": {"unknown_block"},
    "gemini": {"unknown_block"},
}


@generated
def test_library_and_judge_agree_on_damaged_transcripts(provider):
    """But for what differs on purpose."""
    known = DELIBERATE[provider]

    @settings(max_examples=scaled(1_000))
    @given(damaged(provider), OPTIONS)
    def holds(broken, options):
        ours, theirs = codes(broken, provider, **options), judged(broken, provider, **options)
        assert bool(ours) == bool(theirs) or bool(ours - known) == bool(theirs - known), (ours, theirs)

    holds()


@generated
def test_validating_messages_equals_validating_their_ledger(provider):
    """Messages alone are read without keeping a text; a ledger has all that there is to know."""

    @settings(max_examples=scaled(300))
    @given(damaged(provider), OPTIONS)
    def holds(broken, options):
        rules = Rules(**options)
        ours = told(lambda: rules.problems_in(broken, provider))
        assert ours == told(lambda: rules.problems(scan(broken, Counter.chars(), provider)))

    holds()


def told(judge):
    """Return the findings, or path and text of the error."""
    try:
        return judge()
    except MessageError as error:
        return error.path, str(error)


@pytest.mark.parametrize(
    "said", ["", " \n", "é ", "中文", "😀", "\ud800", "\u3000", "x" * 10_000 + "é", "<trimtab-summary x"]
)
def test_non_ascii_texts_have_the_same_problems(said):
    """They are transcoded where they are looked at; what is ASCII is not."""

    class Word(str):
        __slots__ = ()

        def isascii(self):
            raise AssertionError

    for text in (said, Word(said)):
        messages = [
            {"role": Word("user"), "content": text},
            {"role": "assistant", "content": [{"type": "text", "text": text}]},
        ]
        found = Rules().problems_in(messages, "anthropic")
        assert found == Rules().problems(scan(messages, Counter.chars(), "anthropic"))
        assert bool(found) == (not said.strip() or said[-1].isspace())


@generated
def test_every_problem_has_a_path_a_message_and_a_fix(provider):
    @settings(max_examples=scaled(200))
    @given(damaged(provider), OPTIONS)
    def holds(broken, options):
        before, found = deep_hash(broken), validate(broken, provider=provider, **options)
        assert [problem.index for problem in found] == sorted(problem.index for problem in found)
        for problem in found:
            assert 0 <= problem.index < max(1, len(broken))
            assert problem.block is None or problem.block >= 0
            assert re.fullmatch("[a-z_]+", problem.code)
            assert problem.message
            assert problem.fix
            assert str(problem).startswith(f"messages[{problem.index}]")
            assert str(problem).endswith(f" {problem.code}: {problem.message}\n  fix: {problem.fix}")
        assert deep_hash(broken) == before

    holds()


# Rulings, one by one


def text(words="x", **more):
    return {"type": "text", "text": words, **more}


def use(ref, kind="tool_use", **more):
    return {"type": kind, "id": ref, "name": "f", "input": {}, **more}


def result(ref, kind="tool_result", content="ok"):
    return {"type": kind, "tool_use_id": ref, "content": content}


def found(ref):
    return result(ref, "web_search_tool_result", [])


def search(ref):
    return use(ref, "server_tool_use")


def programmed(ref):
    """A call of the client's tool, made by the code execution ``s``."""
    return use(ref, caller={"type": "code_execution_20250825", "tool_id": "s"})


def ran(ref):
    return result(ref, "code_execution_tool_result", {"type": "code_execution_result", "stdout": "", "content": []})


def user(*blocks):
    return {"role": "user", "content": list(blocks) or "x"}


def says(*blocks):
    return {"role": "assistant", "content": list(blocks) or "x"}


def asks(*calls):
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def call(ref, arguments="{}"):
    return {"id": ref, "type": "function", "function": {"name": "f", "arguments": arguments}}


def tool(ref, content="ok"):
    return {"role": "tool", "tool_call_id": ref, "content": content}


def item(kind, ref=None, **more):
    return {"type": kind} | ({"call_id": ref} if ref else {}) | more


def function_call(ref, **more):
    return item("function_call", ref, name="f", arguments="{}") | more


def output(ref, kind="function_call_output"):
    return item(kind, ref, output="ok")


MARK = {"cache_control": {"type": "ephemeral"}}
CONTAINER = "container_required"
CACHED = "cache_control_on_empty_text"
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}
FILE = {"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}
ANTHROPIC, CHAT, RESPONSES, *_ = PROVIDERS

VALID = {
    "results may come in two user messages": (
        ANTHROPIC,
        [user(), says(use("a"), use("b")), user(result("b")), user(result("a"))],
        {},
    ),
    "an answer may come in two assistant messages": (
        ANTHROPIC,
        [user(), says(THOUGHT, text()), says(use("a")), user(result("a"))],
        {"thinking": True},
    ),
    "a result may be empty": (ANTHROPIC, [user(), says(use("a")), user(result("a", content=[]))], {}),
    "some results may be there while the rest is in flight": (
        ANTHROPIC,
        [user(), says(use("a"), use("b")), user(result("b"))],
        {"in_flight": True},
    ),
    "a code execution goes on over several rounds of calls": (
        ANTHROPIC,
        [
            user(),
            says(search("s"), programmed("a")),
            user(result("a")),
            says(programmed("b")),
            user(result("b")),
            says(ran("s"), text()),
        ],
        {},
    ),
    "a code execution goes on in the container that the request names": (
        ANTHROPIC,
        [user(), says(search("s"), programmed("a")), user(result("a"))],
        {"container": "container_1"},
    ),
    "an empty text of a result may be unmarked": (
        ANTHROPIC,
        [user(), says(use("a")), user(result("a", content=[text("")]))],
        {},
    ),
    "system text may stand anywhere": (CHAT, [user(), {"role": "system", "content": "x"}, user()], {}),
    "a legacy call has its function message": (
        CHAT,
        [
            user(),
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "ok"},
        ],
        {},
    ),
    "outputs may come in any order": (
        RESPONSES,
        [user(), function_call("a"), function_call("b"), output("b"), output("a")],
        {},
    ),
    "other tools have outputs of their own": (
        RESPONSES,
        [user(), item("shell_call", "a", action={}), output("a", "shell_call_output")],
        {},
    ),
    "what the server did by itself needs no output": (RESPONSES, [user(), item("web_search_call", id="w")], {}),
}


@pytest.mark.parametrize(("provider", "valid", "options"), VALID.values(), ids=VALID.keys())
def test_an_accepted_list_has_no_problem(provider, valid, options):
    assert validate(valid, provider=provider, **options) == []
    assert check(valid, provider, **options) == []


RULINGS = {
    # The library refuses what is accepted.
    "A12: a tool loop thinks once, in its first answer": (
        ANTHROPIC,
        [user(), says(THOUGHT, use("a")), user(result("a")), says(use("b")), user(result("b"))],
        {"thinking": True},
        set(),
    ),
    "A12: text behind the results ends the loop": (
        ANTHROPIC,
        [user(), says(use("a")), user(result("a"), text())],
        {"thinking": True},
        set(),
    ),
    "A17: a server's result may come once the client's results are there": (
        ANTHROPIC,
        [user(), says(search("s"), use("a")), user(result("a")), says(found("s"), text()), user()],
        {},
        set(),
    ),
    "A17: a paused answer goes back as it is, where the model takes no prefill too": (
        ANTHROPIC,
        [user(), says(search("s"), found("s"))],
        {"prefill": False},
        set(),
    ),
    "A17: a paused answer may end with a call whose result is still to come": (
        ANTHROPIC,
        [user(), says(text(), search("r"), found("r"), search("s"), search("t"))],
        {"prefill": False},
        set(),
    ),
    "A23: a compaction may be the first block of the user's first message": (
        ANTHROPIC,
        [user({"type": "compaction", "content": "so far", "signature": "s"}, text()), says(text()), user()],
        {},
        set(),
    ),
    "C4: what a function gave may be null": (
        CHAT,
        [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": None},
        ],
        {},
        set(),
    ),
    "P1: what the model says behind its call does not end its turn": (
        RESPONSES,
        [user(), function_call("a"), says()],
        {"in_flight": True},
        set(),
    ),
    "P2: Codex answers a local shell call by the call's id": (
        RESPONSES,
        [user(), item("local_shell_call", id="a", action={}), output("a")],
        {},
        set(),
    ),
    # The library accepts what is refused.
    "A19: a code execution that waits for its calls needs its container": (
        ANTHROPIC,
        [user(), says(search("s"), programmed("a")), user(result("a"))],
        {},
        {CONTAINER},
    ),
    "A19: in the second round too": (
        ANTHROPIC,
        [user(), says(search("s"), programmed("a")), user(result("a")), says(programmed("b")), user(result("b"))],
        {},
        {CONTAINER},
    ),
    "A20: an empty text has no cache marker": (
        ANTHROPIC,
        [user(text(), text("", **MARK))],
        {},
        {CACHED, "empty_text_block"},
    ),
    "A20: an empty text of a result neither": (
        ANTHROPIC,
        [user(), says(use("a")), user(result("a", content=[text("", **MARK)]))],
        {},
        {CACHED},
    ),
    "A4: the ids of server tools are unique too": (
        ANTHROPIC,
        [user(), says(search("a"), found("a"), search("a"), found("a"), text()), user()],
        {},
        {"duplicate_tool_use_id"},
    ),
    "A5: calls stand in assistant messages": (ANTHROPIC, [user(text(), use("a"))], {}, {"block_role"}),
    "A5: server pairs stand in assistant messages": (
        ANTHROPIC,
        [user(search("a"), found("a"))],
        {},
        {"block_role"},
    ),
    "A5: a server's result alone stands in no user message": (ANTHROPIC, [user(found("a"))], {}, {"block_role"}),
    "A5: thinking stands in assistant messages": (ANTHROPIC, [user(THOUGHT, text())], {}, {"block_role"}),
    "A9: content may be empty at the end, not null": (
        ANTHROPIC,
        [user(), {"role": "assistant", "content": None}],
        {},
        {"null_content"},
    ),
    "A9: a call has an input": (
        ANTHROPIC,
        [user(), says({"type": "tool_use", "id": "a", "name": "f"}), user(result("a"))],
        {},
        {"missing_field"},
    ),
    "A9: an image has a source": (ANTHROPIC, [user({"type": "image"})], {}, {"missing_field"}),
    "A10: a server pair in front of it does not make text no prefill": (
        ANTHROPIC,
        [user(), says(search("a"), found("a"), text())],
        {"prefill": False},
        {"prefill_not_supported"},
    ),
    "A10: nor does it let the text end in white space": (
        ANTHROPIC,
        [user(), says(search("a"), found("a"), text("x "))],
        {},
        {"final_assistant_whitespace"},
    ),
    "A11: thinking is signed, whether it is known to be on or not": (
        ANTHROPIC,
        [user(), says({"type": "thinking", "thinking": "hm"}, text()), user()],
        {},
        {"thinking_signature_missing"},
    ),
    "A12: a loop whose calls are in flight starts with thinking": (
        ANTHROPIC,
        [user(), says(use("a"))],
        {"thinking": True, "in_flight": True},
        {"thinking_expected"},
    ),
    "A12: thinking late in a loop does not make up for none at its start": (
        ANTHROPIC,
        [user(), says(use("a")), user(result("a")), says(THOUGHT, use("b")), user(result("b"))],
        {"thinking": True},
        {"thinking_expected"},
    ),
    "A13: thinking comes first, whether it is known to be on or not": (
        ANTHROPIC,
        [user(), says(text(), THOUGHT, text()), user()],
        {},
        {"thinking_not_first"},
    ),
    "A13: thinking comes first in the turn, not in each message of it": (
        ANTHROPIC,
        [user(), says(text()), says(THOUGHT, text()), user()],
        {"thinking": True},
        {"thinking_not_first"},
    ),
    "A16: a server's call whose result never comes is open": (
        ANTHROPIC,
        [user(), says(search("s"), use("a")), user(result("a")), says(text()), user()],
        {},
        {"server_tool_without_result"},
    ),
    "A16: what the server runs in front of text is not paused": (
        ANTHROPIC,
        [user(), says(search("s"), text())],
        {},
        {"server_tool_without_result"},
    ),
    "A16: nor is what it ran in front of a later answer": (
        ANTHROPIC,
        [user(), says(use("a"), search("s")), user(result("a")), says(search("t"))],
        {},
        {"server_tool_without_result"},
    ),
    "A23: a compaction that is not first is the assistant's": (
        ANTHROPIC,
        [user(text(), {"type": "compaction", "content": "so far"}), says(text()), user()],
        {},
        {"block_role"},
    ),
    "A20: markers inside results count": (
        ANTHROPIC,
        [user(), says(use("a")), user(result("a", content=[text(cache_control={"type": "ephemeral"})] * 5))],
        {},
        {"too_many_cache_control"},
    ),
    "A20: thinking cannot be marked": (
        ANTHROPIC,
        [user(), says(THOUGHT | {"cache_control": {"type": "ephemeral"}}, text()), user()],
        {},
        {"cache_control_on_thinking"},
    ),
    "C1: calls of one message have ids of their own": (
        CHAT,
        [user(), asks(call("a"), call("a")), tool("a")],
        {},
        {"duplicate_tool_call_id"},
    ),
    "C1: a call has its arguments, as a string": (
        CHAT,
        [user(), asks(call("a", arguments={})), tool("a")],
        {},
        {"missing_field"},
    ),
    "C2: calls of a user are no calls": (
        CHAT,
        [user() | {"tool_calls": [call("a")]}, tool("a")],
        {},
        {"wrong_type"},
    ),
    "C5: a tool message has a string or at least one part": (
        CHAT,
        [user(), asks(call("a")), tool("a", content=[])],
        {},
        {"empty_content"},
    ),
    "P1: what a user sends ends the turn, a file too": (
        RESPONSES,
        [user(), function_call("a"), FILE],
        {"in_flight": True},
        {"call_without_output"},
    ),
    "P1: a call has its arguments, as a string": (
        RESPONSES,
        [user(), function_call("a", arguments=None), output("a")],
        {},
        {"missing_field"},
    ),
    "P2: an output has something put out": (
        RESPONSES,
        [user(), function_call("a"), item("function_call_output", "a")],
        {},
        {"missing_field"},
    ),
}


@pytest.mark.parametrize(("provider", "messages", "options", "expected"), RULINGS.values(), ids=RULINGS.keys())
def test_validate_finds_the_expected_codes(provider, messages, options, expected):
    assert bool(codes(messages, provider, **options)) == bool(expected)


@pytest.mark.parametrize(("provider", "messages", "options", "expected"), RULINGS.values(), ids=RULINGS.keys())
def test_the_checker_finds_the_expected_codes(provider, messages, options, expected):
    assert judged(messages, provider, **options) == expected


WORDS = {
    CONTAINER: "container_id is required when there are pending tool uses generated by code execution with tools.",
    CACHED: "cache_control cannot be set for empty text blocks",
}


@pytest.mark.parametrize("code", WORDS)
def test_a_problem_has_the_words_of_the_provider(code):
    for provider, messages, options, expected in RULINGS.values():
        if code in expected:
            found = [problem for problem in validate(messages, provider=provider, **options) if problem.code == code]
            assert [problem.message for problem in found] == [WORDS[code]]
            assert (found[0].block is None) == (provider in {CHAT, RESPONSES}), "calls stand beside their content"


@pytest.mark.parametrize("container", [None, "", {"skills": []}])
def test_a_container_has_an_id(container):
    messages = [user(), says(search("s"), programmed("a")), user(result("a"))]
    assert codes(messages, "anthropic", container=container) == {CONTAINER}
    assert codes(messages, "anthropic", container={"id": "container_1", "skills": []}) == set()


COMPACTED = {"type": "compaction", "content": "so far", "encrypted_content": "sig"}


@pytest.mark.parametrize("change", [{"content": "so fat"}, {"encrypted_content": "gis"}, {"signature": "s"}])
def test_a_compaction_block_stays_as_the_provider_wrote_it(change):
    original = [says(COMPACTED), user()]
    assert codes(original, "anthropic", original=original) == set()
    assert codes([says({**COMPACTED, **change}), user()], "anthropic", original=original) == {"compaction_modified"}
    assert codes(original, "anthropic", original=[user()]) == set()  # the provider has written it since


def test_a_compaction_item_stays_as_the_provider_wrote_it():
    original, changed = ([item("compaction", encrypted_content=said), user(text(type="input_text"))] for said in "ab")
    assert codes(original, "openai_responses", original=original) == set()
    assert codes(changed, "openai_responses", original=original) == {"compaction_modified"}


# Input that cannot be read


def test_an_unreadable_message_is_a_problem_with_its_path():
    cases = [
        ([user(), 7], 1, "messages[1]: is a number, expected a mapping"),
        ([user(), {"content": "x"}], 1, "messages[1].role: is missing or no string"),
        ([user(), user(text(), {"text": "x"})], 1, "messages[1].content[1].type: is missing or no string"),
    ]
    for messages, index, words in cases:
        (problem,) = validate(messages, provider="anthropic")
        assert (problem.index, problem.block, problem.code, problem.message) == (index, None, "malformed", words)
        assert problem.fix


def test_validate_rejects_wrong_argument_types_and_providers():
    for wrong in (None, "hi", user(), 7, (m for m in [user()])):
        with pytest.raises(TypeError, match="messages must be a list"):
            validate(wrong, provider="anthropic")
    with pytest.raises(ValueError, match="known are anthropic, openai_chat, openai_responses, bedrock, gemini"):
        validate([user()], provider="cohere")


def test_each_provider_refuses_an_empty_list():
    for provider in PROVIDERS:
        (problem,) = validate([], provider=provider)
        assert (problem.index, problem.block, problem.code) == (0, None, "empty_messages")


def test_problems_are_in_message_order_and_name_their_blocks():
    broken = [says(text("")), user(text(), result("a")), says(use("b"), text("y "))]
    found = [(p.index, p.block, p.code) for p in validate(broken, provider="anthropic")]
    assert found == [
        (0, None, "first_message_role"),
        (0, 0, "empty_text_block"),
        (1, 1, "unexpected_tool_use_id"),
        (2, 0, "tool_use_without_result"),
    ]


# The published cases

SETS = ("anthropic", "openai_chat", "openai_responses", "others")


def published():
    for name in SETS:
        path = CASES / f"{name}.json"
        for case in json.loads(path.read_text("utf-8"))["cases"] if path.exists() else ():
            yield pytest.param(case, id=case["name"])


def drawn(value):
    """The case with real pictures, where it says only how large they are."""
    if isinstance(value, list):
        return [drawn(inner) for inner in value]
    if isinstance(value, dict):
        if "_width" in value:
            return value | {"data": png(value["_width"], value.get("_height", HEIGHT))}
        return {key: drawn(inner) for key, inner in value.items()}
    return value


def annotated(messages):
    """The transcript that a case's notes speak of: before a block was modified, or what a block was created behind."""
    original = copy.deepcopy(messages)
    for at, message in enumerate(original):
        if message.get("_requires"):
            return [*original[:at], {"type": "reasoning", "id": message["_requires"], "summary": []}, *original[at:]]
        for block in message.get("content") or () if isinstance(message.get("content"), list) else ():
            if block.pop("_modified", False):
                block["thinking"] += " as it was"
            if prefix := block.pop("_created_prefix", None):
                return [{"role": "user", "content": prefix}, message]
    return original


def asked(given):
    """Return a case's options as keyword arguments of ``validate``."""
    options = given.get("options", {})
    marked = {"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}
    tools = [marked] * options.get("cache_control_in_tools", 0)
    return {
        "thinking": options.get("thinking"),
        "alternation": options.get("strict_alternation", False),
        "model": CLAUDE_BOUND if options.get("preserved_thinking") else None,
        "system": [marked] * options.get("cache_control_in_system", 0),
        "tools": tools or (None if given.get("tool_config", ...) is ... else given["tool_config"] or []),
    }


@pytest.mark.shared
@pytest.mark.parametrize("case", [*published()])
def test_validate_agrees_with_published_cases(case):
    given, expect = case["input"], case["expect"]
    messages = drawn(given[{"openai_responses": "input", "gemini": "contents"}.get(case["op"][9:], "messages")])
    found = validate(messages, provider=case["op"][9:], original=annotated(messages), **asked(given))
    assert (not found) == expect["valid"], found
    if found:
        named = [problem for problem in found if problem.code == expect["code"]]
        assert [p for p in named if expect.get("error", "") in p.message], found


def test_generated_messages_match_their_spec():
    assert transcript("u c1 r1:1 r1:0", "openai_chat")[3] == {"role": "tool", "tool_call_id": "call_1", "content": ""}


@generated
def test_a_share_of_generated_transcripts_has_open_calls(provider):
    seen = []

    @settings(max_examples=scaled(200))
    @given(specs(provider))
    def look(spec):
        seen.append(is_open(spec))

    look()
    assert 0.05 < sum(seen) / len(seen) < 0.5


def test_validate_reports_empty_messages_at_the_end_of_a_tool_loop():
    """Found by ``fuzz/fuzz_targets/shapes.rs``: a turn without blocks has no first one to be thinking."""
    messages = [{"role": "assistant", "content": []}, {"role": "user", "content": []}]
    assert codes(messages, "anthropic", thinking=True) == {"empty_content", "first_message_role"}
