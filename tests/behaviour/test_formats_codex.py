"""Codex rollouts, line by line."""

import json

import pytest

from support.checker import check
from support.models import GPT
from trimtab import read
from trimtab.messages import Charged, Repaired
from trimtab.validity import INTERRUPTED


def line(kind, **payload):
    return {"timestamp": "t", "type": kind, "payload": payload}


def item(kind, **fields):
    return line("response_item", type=kind, **fields)


def said(role, words):
    part = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": part, "text": words}])


def call(ref, kind="function_call", **more):
    given = {"input": "x"} if kind == "custom_tool_call" else {"arguments": "{}"}
    return item(kind, name="run", call_id=ref, **given, **more)


def output(ref, kind="function_call_output"):
    return item(kind, call_id=ref, output="ok")


def thought(ref):
    return item("reasoning", id=ref, summary=[], encrypted_content="e")


def tokens(prompt, out, total, cached=0):
    last = {"input_tokens": prompt, "cached_input_tokens": cached, "output_tokens": out}
    return line("event_msg", type="token_count", info={"last_token_usage": last, "total_token_usage": {"total": total}})


def session(*lines, whole=False):
    found = read("\n".join(map(json.dumps, lines)).encode(), whole=whole)
    assert check(found.messages, "openai_responses") == []
    return found


def items(*lines):
    return [line["payload"] for line in lines]


META = line("session_meta", id="s", base_instructions={"text": "You are Codex."})
TURN = line("turn_context", model=GPT, cwd="/")
SHOWN = line("event_msg", type="agent_message", message="shown")


def test_items_are_kept_as_they_are_with_model_and_instructions_beside():
    lines = [said("developer", "d"), said("user", "go"), thought("r"), call("a", id="fc"), output("a")]
    lines += [call("b", "custom_tool_call"), output("b", "custom_tool_call_output"), said("assistant", "done")]
    found = session(META, TURN, SHOWN, *lines, SHOWN, line("turn_context", model="gpt-5.6"))
    assert found.messages == items(*lines)
    assert (found.format, found.provider, found.model) == ("codex", "openai_responses", "gpt-5.6")
    assert (found.system, found.tools, found.repaired, found.skipped) == ("You are Codex.", None, [], [])
    assert found.lines == 13


def test_older_instructions_and_those_of_a_fork_are_found():
    go = said("user", "go")
    assert session(line("session_meta", instructions="old"), go).system == "old"
    assert session(META, line("session_meta", base_instructions={"text": "parent's"}), go).system == "You are Codex."
    assert session(line("session_meta", base_instructions=None), go).system is None


def test_items_without_an_effect_on_the_prompt_are_left_out():
    ghost = item("ghost_snapshot", ghost_commit={})
    found = session(
        said("user", "go"), ghost, item("reasoning", summary=[]), item("message", role="assistant", content=[])
    )
    assert found.messages == items(said("user", "go"))
    assert found.repaired == []


def test_a_line_without_a_payload_is_named():
    found = session(META, said("user", "go"), {"type": "response_item"}, {"record_type": "state"})
    assert [skip.line for skip in found.skipped] == [3, 4]


FRESH = [said("user", "go"), item("compaction", encrypted_content="e")]
BEFORE = [said("user", "go"), said("assistant", "first"), tokens(10, 2, 12)]
COMPACTED = line("compacted", message="", replacement_history=items(*FRESH))
AFTER = [tokens(0, 0, 12), said("user", "on"), said("assistant", "second"), tokens(20, 3, 35)]


def test_a_compaction_replaces_what_was_before():
    found = session(META, *BEFORE, COMPACTED, *AFTER)
    assert found.messages == items(*FRESH, *AFTER[1:3])
    assert found.usage == [Charged(3, 20, 3)]


def test_the_whole_session_keeps_everything_and_adds_only_what_the_compaction_wrote():
    found = session(META, *BEFORE, COMPACTED, *AFTER, whole=True)
    assert found.messages == items(*BEFORE[:2], FRESH[1], *AFTER[1:3])
    assert found.usage == [Charged(1, 10, 2)]


def test_an_older_compaction_keeps_what_the_user_said_and_its_summary():
    found = session(*BEFORE, line("compacted", message="in short"), *AFTER)
    assert found.messages == items(said("user", "go"), said("user", "in short"), *AFTER[1:3])
    whole = session(*BEFORE, line("compacted", message="in short"), *AFTER, whole=True)
    assert whole.messages == items(*BEFORE[:2], said("user", "in short"), *AFTER[1:3])


def test_usage_belongs_to_the_items_before_the_response_that_it_closes():
    found = session(
        said("user", "go"),
        thought("r1"),
        said("assistant", "both"),
        call("a"),
        call("b"),
        output("a"),
        output("b"),
        tokens(100, 10, 110, cached=60),
        tokens(100, 10, 110, cached=60),  # shown again
        line("event_msg", type="token_count", info=None),
        call("c"),
        tokens(130, 5, 245),
        output("c"),
        said("assistant", "done"),
        tokens(150, 5, 400),
    )
    assert found.usage == [Charged(1, 100, 10), Charged(7, 130, 5), Charged(9, 150, 5)]


def test_an_aborted_response_before_it_is_not_part_of_a_charged_one():
    aborted = [said("user", "go"), thought("r1"), said("user", "no"), line("event_msg", type="turn_aborted")]
    found = session(*aborted, said("user", "so"), said("assistant", "ok"), tokens(50, 1, 51))
    assert found.messages == items(said("user", "go"), said("user", "no"), said("user", "so"), said("assistant", "ok"))
    assert found.repaired == [Repaired(1, "bare_reasoning", "")]
    assert found.usage == [Charged(3, 50, 1)]


def test_a_rolled_back_turn_is_not_sent():
    back = line("event_msg", type="thread_rolled_back", num_turns=1)
    setting = said("user", " <Environment_context>\n<cwd>/w</cwd>\n</environment_context>")
    found = session(*BEFORE, said("user", "no"), setting, said("assistant", "hm"), tokens(30, 2, 44), back)
    assert found.messages == items(*BEFORE[:2])
    assert found.usage == [Charged(1, 10, 2)]


@pytest.mark.parametrize("text", ["<div>mend this</div>", "<image name=[Image #1]>", "<skill> is what?", "<skill>"])
def test_a_turn_that_begins_with_a_tag_is_one_that_a_rollback_removes(text):
    turn = [said("user", text), said("assistant", "hm")]
    back = line("event_msg", type="thread_rolled_back", num_turns=1)
    assert session(*BEFORE, said("user", "on"), *turn, back).messages == items(*BEFORE[:2], said("user", "on"))


def test_calls_that_the_file_leaves_open_get_an_output_of_their_kind_behind_their_siblings():
    search = item("tool_search_call", call_id="c", arguments={}, execution="client", status="completed")
    shell = item("local_shell_call", call_id="d", action={"type": "exec"}, status="completed")
    found = session(said("user", "go"), call("a"), call("b", "custom_tool_call"), search, shell, said("user", "well?"))
    assert [(x["type"], x["call_id"]) for x in found.messages[5:9]] == [
        ("function_call_output", "a"),
        ("custom_tool_call_output", "b"),
        ("tool_search_output", "c"),
        ("function_call_output", "d"),
    ]
    assert found.messages[5]["output"] == INTERRUPTED
    assert [repaired.index for repaired in found.repaired] == [5, 6, 7, 8]
    assert {repaired.code for repaired in found.repaired} == {"interrupted_result"}


def test_outputs_without_their_call_become_text_and_reasoning_that_leads_nowhere_goes():
    search = item("tool_search_output", call_id="t", tools=[], execution="client", status="completed")
    found = session(said("user", "go"), output("gone"), search, said("assistant", "x"), thought("r"), output("y"))
    assert [message["role"] for message in found.messages] == ["user", "user", "assistant", "user"]
    assert found.messages[1]["content"][-1] == {"type": "input_text", "text": "ok"}
    assert [(repaired.code, repaired.id) for repaired in found.repaired] == [
        ("orphan_result", "gone"),
        ("orphan_result", "t"),
        ("bare_reasoning", ""),
        ("orphan_result", "y"),
    ]


def test_second_calls_and_outputs_with_one_id_become_text_and_copies_go():
    other = item("function_call", name="rm", call_id="a", arguments="{1}")
    late = item("function_call_output", call_id="a", output="late")
    found = session(said("user", "go"), call("a"), output("a"), call("a"), output("a"), other, late)
    assert found.messages[:3] == items(said("user", "go"), call("a"), output("a"))
    assert found.messages[3]["content"][0]["text"] == "[call of rm: {1}]"
    assert found.messages[4]["content"][-1]["text"] == "late"
    assert sorted(repaired.code for repaired in found.repaired) == ["duplicate_call"] * 2 + ["duplicate_result"] * 2
