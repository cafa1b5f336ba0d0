"""System messages between Anthropic's others: by model, by header, by place; and the signatures of Gemini's calls."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab
from support.scale import scaled
from trimtab import Counter, MessageError, repair, validate
from trimtab.cli import main
from trimtab.counting.counter import scan
from trimtab.ledger import MessageFlag
from trimtab.validity.validate import notes, rules_of

TAKES = (
    "claude-opus-4-8",
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "claude-fable-5-1",
)
REFUSES = (
    "claude-3-5-sonnet-20241022",
    "claude-haiku-4-5",
    "claude-sonnet-4-6",
    "claude-opus-4-7",
    "claude-mythos-preview",
)
RULE = {"role": "system", "content": "Answer in French from now on."}
EFFORT = {"role": "system", "content": [], "output_config": {"effort": "low"}}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}
SEARCH = {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}]}
FOUND = {"role": "assistant", "content": [{"type": "web_search_tool_result", "tool_use_id": "s", "content": []}]}


def user(text):
    return {"role": "user", "content": text}


def answer(text):
    return {"role": "assistant", "content": text}


def codes(messages, **options):
    return [problem.code for problem in validate(messages, provider="anthropic", **options)]


def mended(messages, **options):
    done = repair(messages, provider="anthropic", **options)
    assert codes(done.messages, **options) == []
    assert not repair(done.messages, provider="anthropic", **options).changes
    return list(done.messages), [change.code for change in done.changes]


VALID = {
    "behind the user": [user("a"), RULE, answer("b"), user("c")],
    "at the end": [user("a"), answer("b"), user("c"), RULE],
    "behind a tool's result": [user("a"), USE, RESULT, RULE, answer("b"), user("c")],
    "inside a server tool": [user("a"), SEARCH, RULE, FOUND, user("c")],
    "with tools": [
        user("a"),
        {"role": "system", "content": [{"type": "tool_addition", "tool": {"type": "tool_reference", "name": "f"}}]},
        answer("b"),
        user("c"),
    ],
    "settings alone, at the start": [EFFORT, user("a"), answer("b"), user("c")],
    "settings alone, behind the assistant": [user("a"), answer("b"), EFFORT, user("c")],
}


@pytest.mark.parametrize("model", TAKES)
@pytest.mark.parametrize("messages", VALID.values(), ids=VALID)
def test_a_system_message_in_its_place_is_valid_for_a_model_that_takes_it(messages, model):
    assert codes(messages, model=model) == []
    assert notes(messages, provider="anthropic", model=model) == []
    assert repair(messages, provider="anthropic", model=model).messages is messages


@pytest.mark.parametrize("model", REFUSES)
@pytest.mark.parametrize("messages", VALID.values(), ids=VALID)
def test_a_system_message_is_named_for_a_model_that_refuses_it(messages, model):
    assert codes(messages, model=model) == ["system_role"]


@pytest.mark.parametrize("model", [None, "claude-something-9", "kimi-k3"])
@pytest.mark.parametrize("messages", VALID.values(), ids=VALID)
def test_a_system_message_is_let_through_with_a_note_where_nobody_knows(messages, model):
    assert codes(messages, model=model) == []
    assert [note.code for note in notes(messages, provider="anthropic", model=model)] == ["system_role_unknown"]


def test_the_command_prints_the_note(tmp_path, capsys):
    file = tmp_path / "list.json"
    blocks = [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]
    file.write_text(json.dumps([user("a"), {"role": "assistant", "content": blocks}, RESULT, RULE]))
    assert main(["validate", str(file)]) == 0
    assert "note: messages[3] system_role_unknown" in capsys.readouterr().out


@pytest.mark.parametrize("model", [None, "claude-opus-5"])
@pytest.mark.parametrize(
    ("messages", "code", "roles"),
    [
        ([RULE, user("a"), answer("b"), user("c")], "system_role", "usau"),
        ([user("a"), answer("b"), RULE, user("c")], "system_position", "uaus"),
        ([user("a"), RULE, user("b")], "system_position", "uus"),
        ([user("a"), RULE, RULE, answer("b"), user("c")], "system_position", "usau"),
        ([user("a"), USE, RULE, RESULT, answer("b"), user("c")], "system_position", "uausau"),
        ([user("a"), answer("b"), RULE, answer("c"), user("d"), answer("e"), user("f")], "system_position", "uaausau"),
    ],
)
def test_a_system_message_in_another_place_is_named_and_moved_and_stays_the_system_s(messages, code, roles, model):
    assert code in codes(messages, model=model)
    made, _ = mended(messages, model=model)
    assert "".join(message["role"][0] for message in made if message["content"]) == roles
    said = [message["content"] for message in made if message["role"] == "system"]
    assert str(said).count("French") == str(messages).count("French")


def test_a_model_that_takes_none_gets_it_as_the_user_s_behind_a_notice():
    made, changes = mended(VALID["behind the user"], model="claude-haiku-4-5")
    assert changes == ["system_role"]
    assert made[1]["role"] == "user"
    assert [block["text"] for block in made[1]["content"]] == [
        "[instruction of the application, not of the user]",
        RULE["content"],
    ]


@pytest.mark.parametrize(
    ("fields", "flag"),
    [
        ({"content": "x", "clear_at": "next_user_message"}, "mid-conversation-system-clear-at-2026-08-21"),
        ({"content": "x", "output_config": {"effort": "low"}}, "mid-conversation-output-config-2026-07-01"),
        (
            {"content": [{"type": "tool_removal", "tool": {"type": "tool_reference", "name": "f"}}]},
            "mid-conversation-tool-changes-2026-07-01",
        ),
    ],
)
def test_a_field_that_needs_a_header_is_named_without_it(fields, flag):
    messages = [user("a"), {"role": "system", **fields}, answer("b"), user("c")]
    model = "claude-opus-5"
    assert codes(messages, model=model) == []
    assert codes(messages, model=model, betas=[flag]) == []
    assert codes(messages, model=model, betas=["context-1m-2025-08-07"]) == ["beta_required"]


def test_a_picture_in_a_system_message_is_named_and_leaves():
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    messages = [
        user("a"),
        {"role": "system", "content": [{"type": "text", "text": "x"}, picture]},
        answer("b"),
        user("c"),
    ]
    assert codes(messages) == ["block_role"]
    made, changes = mended(messages)
    assert changes == ["misplaced"]
    assert made[1]["content"] == [{"type": "text", "text": "x"}]


MESSAGES = st.sampled_from([user("a"), answer("b"), RULE, EFFORT, USE, RESULT, SEARCH, FOUND])


@settings(max_examples=scaled(500), deadline=None)
@given(st.lists(MESSAGES, min_size=1, max_size=9), st.sampled_from([None, "claude-opus-5", "claude-haiku-4-5"]))
def test_repair_mends_every_list_with_system_messages(messages, model):
    made, _ = mended([dict(message) for message in messages], model=model, container="c")
    if model == "claude-opus-5" and any(message["role"] == "user" for message in messages):
        assert str(made).count("French") == str(messages).count("French")


def test_flags_of_a_request_decide_what_its_system_messages_may_have():
    rules = rules_of({"betas": ["inline-tools-2026-09-15"]})
    assert (rules.clear_at, rules.output_config, rules.tool_changes) == (False, False, True)
    rules = rules_of({})
    assert rules.clear_at
    assert rules.tool_changes


def test_the_ledger_marks_system_messages_with_settings_and_those_for_one_turn():
    cleared = {**RULE, "clear_at": "next_user_message"}
    ledger = scan([EFFORT, cleared, RULE, {**RULE, "clear_at": None}], Counter.chars(), "anthropic")
    settings = MessageFlag.SETTINGS | MessageFlag.EMPTY
    plain = MessageFlag.PLAIN
    assert [*map(MessageFlag, ledger.marks.tolist())] == [settings, plain | MessageFlag.TRANSIENT, plain, plain]


# Sessions


def talk(turns, words=300):
    messages = []
    for n in range(turns):
        rule = {"role": "system", "content": f"rule {n}"}
        messages += [user(f"question {n} " + "word " * words), rule, answer(f"answer {n} " + "text " * words)]
    return [*messages, user("last")]


def test_fit_hands_back_a_list_that_validate_accepts():
    cm = trimtab.Compactor("claude-opus-5", window=20_000, max_output=2_000)
    for turns in (2, 40):
        fitted = cm.fit(talk(turns))
        assert (fitted.compaction is not None) == (turns == 40)
        assert codes(fitted.messages, model="claude-opus-5") == []
        assert "rule 39" in str(fitted.messages) or turns == 2


@pytest.mark.parametrize("policy", sorted(trimtab.policies.POLICIES))
def test_no_policy_hands_back_a_list_that_validate_refuses(policy):
    cm = trimtab.Compactor("claude-opus-5", window=20_000, max_output=2_000, policy=policy)
    try:
        made = cm.compact(talk(40)).messages
    except trimtab.NothingToCompactError:
        return
    assert codes(made, model="claude-opus-5", in_flight=True) == []


@pytest.mark.parametrize("turns", [2, 40])
def test_fit_refuses_what_the_model_refuses(turns):
    cm = trimtab.Compactor("claude-haiku-4-5", window=20_000, max_output=2_000)
    with pytest.raises(MessageError, match="system_role"):
        cm.fit(talk(turns))


def test_system_text_at_the_start_is_still_openai_s():
    cm = trimtab.Compactor("claude-haiku-4-5", window=20_000, max_output=2_000)
    messages = [RULE, user("a"), answer("b"), user("c")]
    assert cm.fit(messages).messages is messages


# Gemini's signatures

CALL = {"functionCall": {"name": "f", "args": {}}}
SIGNED = {**CALL, "thoughtSignature": "abcd"}
RESPONSE = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"result": "1"}}}]}
ASK = {"role": "user", "parts": [{"text": "go"}]}
SAID = {"role": "model", "parts": [{"text": "done"}]}


def model_says(*parts):
    return {"role": "model", "parts": list(parts)}


def gemini(messages, model="gemini-3-pro-preview"):
    return [(p.index, p.block, p.code) for p in validate(messages, provider="gemini", model=model)]


def test_a_call_of_the_current_turn_without_its_signature_is_named_for_gemini_3():
    messages = [ASK, model_says(CALL), RESPONSE]
    for model in ("gemini-3-pro-preview", "google/gemini-3.1-pro", "models/gemini-3-flash", "gemini-4-argon"):
        assert gemini(messages, model) == [(1, 0, "thought_signature_missing")]
    for model in ("gemini-2.5-pro", None):
        assert gemini(messages, model) == []


def test_each_step_of_the_current_turn_needs_the_signature_of_its_first_call_alone():
    two = {"role": "user", "parts": [*RESPONSE["parts"] * 2]}
    assert gemini([ASK, model_says(SIGNED, CALL), two, model_says(SIGNED), RESPONSE]) == []
    assert gemini([ASK, model_says(SIGNED), RESPONSE, model_says(CALL), RESPONSE]) == [
        (3, 0, "thought_signature_missing")
    ]
    assert gemini([ASK, model_says(CALL, SIGNED), two]) == [(1, 0, "thought_signature_missing")]


def test_earlier_turns_need_no_signature():
    assert gemini([ASK, model_says(CALL), RESPONSE, SAID, ASK]) == []


def test_an_empty_signature_is_none():
    for empty in (None, ""):
        assert gemini([ASK, model_says({**CALL, "thought_signature": empty}), RESPONSE])


@pytest.mark.parametrize(
    ("call", "key"), [(CALL, "thoughtSignature"), ({"function_call": CALL["functionCall"]}, "thought_signature")]
)
def test_repair_gives_a_missing_signature_the_documented_stand_in(call, key):
    messages = [ASK, model_says(call), RESPONSE]
    done = repair(messages, provider="gemini", model="gemini-3-pro-preview")
    assert [change.code for change in done.changes] == ["skipped_signature"]
    assert done.messages[1]["parts"] == [{**call, key: "skip_thought_signature_validator"}]
    assert done.messages[2] is RESPONSE
    assert gemini(done.messages) == []


def test_fit_looks_at_the_whole_current_turn():
    """What was found valid before is not looked at again, so the rule must not depend on it."""
    cm = trimtab.Compactor("gemini-3-pro-preview", window=20_000, max_output=2_000)
    steps = list(itertools.chain.from_iterable([model_says(SIGNED), RESPONSE] for _ in range(3)))
    messages = [ASK, *steps]
    assert cm.fit(messages).messages is messages
    with pytest.raises(MessageError, match="thought_signature"):
        cm.fit([*messages, model_says(CALL), RESPONSE])
