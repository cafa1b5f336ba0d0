"""Claude Code sessions, line by line."""

import json

import pytest

from support.checker import check
from trimtab import read
from trimtab.messages import Charged, Repaired
from trimtab.validity import BEGINNING, INTERRUPTED


def text(words):
    return {"type": "text", "text": words}


def use(ref, **more):
    return {"type": "tool_use", "id": ref, "name": "Read", "input": {"file": ref}, **more}


def result(ref, words="ok"):
    return {"type": "tool_result", "tool_use_id": ref, "content": words}


def user(key, parent, content, **more):
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": key, "parentUuid": parent, "message": message, "isSidechain": False, **more}


def says(key, parent, response, *blocks, usage=None, model="claude-x", **more):
    message = {"id": response, "role": "assistant", "model": model, "content": list(blocks), "usage": usage or {}}
    return {"type": "assistant", "uuid": key, "parentUuid": parent, "message": message, "isSidechain": False, **more}


def boundary(key, logical, **more):
    line = {"type": "system", "subtype": "compact_boundary", "uuid": key, "parentUuid": None}
    return line | {"logicalParentUuid": logical, **more}


def summary(key, parent):
    return user(key, parent, "what went before", isCompactSummary=True, isVisibleInTranscriptOnly=True)


def session(*lines, whole=False):
    found = read("\n".join(map(json.dumps, lines)).encode(), whole=whole)
    assert check(found.messages, "anthropic") == []
    return found


def told(found):
    """The messages in short: a letter for the role, then the text or the ids of the blocks."""
    short = []
    for message in found.messages:
        content = message["content"]
        blocks = [text(content)] if isinstance(content, str) else content
        words = [block.get("text") or block.get("id") or block.get("tool_use_id") or block["type"] for block in blocks]
        short.append(f"{message['role'][0]}:{' '.join(words)}")
    return short


def test_lines_of_one_response_are_one_message_and_blocks_stay_as_they_are():
    thinking = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    call = use("a", caller={"type": "direct"}, cache_control={"type": "ephemeral"})
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aWs="}}
    answer = result("a", [picture, text("t")])
    begin = [user("1", None, "go"), says("2", "1", "m", thinking)]
    found = session(*begin, says("3", "2", "m", call), user("4", "3", [answer]))
    assert found.messages == [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [thinking, call]},
        {"role": "user", "content": [answer]},
    ]
    assert (found.provider, found.format, found.model, found.repaired) == ("anthropic", "claude_code", "claude-x", [])


def test_parallel_calls_are_one_message_though_results_stand_between_and_hang_beside():
    lines = [user("1", None, "go"), says("2", "1", "m", use("a")), user("3", "2", [result("a")])]
    lines += [says("4", "2", "m", use("b")), user("5", "4", [result("b")])]
    found = session(*lines, says("6", "5", "n", text("done")))
    assert told(found) == ["u:go", "a:a b", "u:a b", "a:done"]


def test_a_call_and_a_result_off_the_chain_are_not_lost():
    lines = [user("1", None, "go"), says("2", "1", "m", use("a")), says("3", "1", "m", use("b"))]
    lines += [user("4", "3", [result("b")]), user("5", "2", [result("a")])]
    found = session(*lines, says("6", "5", "n", text("x")))
    assert told(found) == ["u:go", "a:a b", "u:b a", "a:x"]


def test_a_rewound_branch_is_not_sent():
    lines = [user("1", None, "go"), says("2", "1", "m", text("no"))]
    found = session(*lines, user("3", "2", "old"), user("4", "2", "new"))
    assert told(found) == ["u:go", "a:no", "u:new"]


def test_lines_that_are_never_sent_are_left_out_and_meta_lines_stay():
    found = session(
        {"type": "summary", "summary": "s", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "1", "snapshot": {}},
        user("1", None, "caveat", isMeta=True),
        user("2", "1", "go"),
        {"type": "progress", "uuid": "3", "parentUuid": "2", "data": {"type": "hook_progress"}},
        {"type": "system", "uuid": "4", "parentUuid": "3", "subtype": "api_error"},
        says("5", "4", "e", text("API Error"), isApiErrorMessage=True),
        says("6", "5", "s", text("No response requested."), model="<synthetic>"),
        user("7", "6", "only shown", isVisibleInTranscriptOnly=True),
        {"type": "queue-operation", "operation": "enqueue", "content": "later"},
        says("8", "7", "m", text("ok")),
    )
    assert told(found) == ["u:caveat", "u:go", "a:ok"]
    assert found.model == "claude-x"
    assert found.skipped == []


def test_sidechain_lines_are_another_prompt_unless_there_is_no_other():
    side = [user("s", None, "sub", isSidechain=True), says("t", "s", "z", text("subbed"), isSidechain=True)]
    main = [user("1", None, "go"), says("2", "1", "m", text("ok"))]
    assert told(session(*main, *side)) == ["u:go", "a:ok"]
    assert told(session(*side)) == ["u:sub", "a:subbed"]


COMPACTED = [
    user("1", None, "go"),
    says("2", "1", "m", text("first"), usage={"input_tokens": 5}),
    boundary("3", "2"),
    summary("4", "3"),
    says("5", "4", "n", text("second"), usage={"input_tokens": 7}),
]


def test_the_last_compaction_is_where_the_prompt_begins():
    found = session(*COMPACTED)
    assert told(found) == ["u:what went before", "a:second"]
    assert found.usage == [Charged(1, 7, 0)]


def test_the_whole_session_has_everything_and_charges_only_for_prompts_that_it_begins_with():
    found = session(*COMPACTED, whole=True)
    assert told(found) == ["u:go", "a:first", "u:what went before", "a:second"]
    assert found.usage == [Charged(1, 5, 0)]


@pytest.mark.parametrize("parent", ["gone", None])
def test_the_whole_session_finds_earlier_lines_where_the_logical_parent_is_missing(parent):
    lines = [*COMPACTED[:2], boundary("3", parent), *COMPACTED[3:]]
    if parent is None:  # older versions wrote no boundary
        lines = [*COMPACTED[:2], summary("4", None), *COMPACTED[4:]]
    assert told(session(*lines, whole=True)) == ["u:go", "a:first", "u:what went before", "a:second"]


def test_a_boundary_without_its_summary_compacts_nothing():
    assert told(session(*COMPACTED[:3], user("4", "3", "on"))) == ["u:go", "a:first", "u:on"]
    assert told(session(*COMPACTED[:3])) == ["u:go", "a:first"]


def test_turns_that_a_compaction_kept_stand_once_behind_its_summary():
    kept = [user("7", "4", "keep", timestamp="t7"), says("8", "7", "k", text("kept"), usage={"input_tokens": 6})]
    before = [kept[0] | {"parentUuid": "2"}, kept[1]]
    new = says("9", "8", "n", text("second"), usage={"input_tokens": 7})
    copies = [kept[0] | {"uuid": "70"}, kept[1] | {"uuid": "80", "parentUuid": "70"}]
    segment = {"preservedSegment": {"headUuid": "7", "anchorUuid": "4", "tailUuid": "8"}}
    again = [*COMPACTED[:2], *before, boundary("3", "8"), summary("4", "3")]
    linked = [*COMPACTED[:2], *before, boundary("3", "8", compactMetadata=segment), summary("4", "3")]
    for lines in (
        [*again, *kept, new],
        [*again, *copies, new | {"parentUuid": "80"}],
        [*linked, new | {"parentUuid": "4"}],
    ):
        found = session(*lines)
        assert told(found) == ["u:what went before", "u:keep", "a:kept", "a:second"]
        assert found.usage == [Charged(3, 7, 0)]
        assert sorted(told(session(*lines, whole=True))) == sorted(["u:go", "a:first", *told(found)])
    assert told(session(*linked)) == ["u:what went before", "u:keep", "a:kept"]  # before anything follows


LONG = [
    user("1", None, "go"),
    says("2", "1", "m", text("first"), usage={"input_tokens": 5}),
    user("7", "2", "keep"),
    says("8", "7", "k", text("kept"), usage={"input_tokens": 6}),
    user("9", "8", "more"),
    says("10", "9", "l", text("last"), usage={"input_tokens": 8}),
]
"""A session before its compaction."""


def kept(anchor, *keys, listed=True):
    """The metadata of a boundary: all lines that stay, as newer versions list them, or the first and the last."""
    if listed:
        return {"compactMetadata": {"preservedMessages": {"anchorUuid": anchor, "uuids": keys}}}
    ends = {"headUuid": keys[0], "anchorUuid": anchor, "tailUuid": keys[-1]}
    return {"compactMetadata": {"preservedSegment": ends}}


def test_lines_that_a_compaction_lists_stand_behind_its_summary():
    found = session(*LONG, boundary("3", "10", **kept("4", "7", "10")), summary("4", "3"), user("5", "4", "on"))
    assert told(found) == ["u:what went before", "u:keep", "a:last", "u:on"]  # the list counts, not what lies between
    assert told(session(*LONG, boundary("3", "10", **kept("4", "7", "10")), summary("4", "3"))) == told(found)[:-1]
    lost = session(*LONG, boundary("3", "10", **kept("4", "7", "gone")), summary("4", "3"), user("5", "4", "on"))
    assert told(lost) == ["u:what went before", "u:on"]
    both = kept("4", "7", "10")
    both["compactMetadata"] |= kept("4", "1", "10", listed=False)["compactMetadata"]
    assert told(session(*LONG, boundary("3", "10", **both), summary("4", "3"), user("5", "4", "on"))) == told(found)


@pytest.mark.parametrize("listed", [True, False])
def test_a_summary_of_the_later_messages_stands_behind_the_earlier_ones_that_stayed(listed):
    lines = [*LONG, boundary("3", "10", **kept("3", "1", "2", listed=listed)), summary("4", "3"), user("5", "4", "on")]
    answered = [*lines, says("6", "5", "n", text("second"), usage={"input_tokens": 7})]
    found = session(*answered)
    assert told(found) == ["u:go", "a:first", "u:what went before", "u:on", "a:second"]
    assert found.usage == [Charged(1, 5, 0), Charged(4, 7, 0)]
    assert found.left_out == {"user/compacted": 2, "assistant/compacted": 2, "system/compact_boundary": 1}
    assert told(session(*lines[:-1])) == ["u:go", "a:first", "u:what went before"]
    whole = session(*answered, whole=True)
    assert told(whole) == ["u:go", "a:first", "u:keep", "a:kept", "u:more", "a:last", *told(found)[2:]]
    assert (whole.compactions, whole.contexts) == ([6], [[0, 1, 6]])


def test_a_later_compaction_begins_the_prompt_whatever_an_earlier_one_kept():
    lines = [*LONG, boundary("3", "10", **kept("3", "1", "2")), summary("4", "3"), user("5", "4", "on")]
    lines += [says("6", "5", "n", text("second")), boundary("13", "6"), summary("14", "13"), user("15", "14", "end")]
    assert told(session(*lines)) == ["u:what went before", "u:end"]
    lines[-3] |= kept("13", "1", "2", "4", "5")
    assert told(session(*lines)) == ["u:go", "a:first", "u:what went before", "u:on", "u:what went before", "u:end"]


def test_an_answer_that_was_refused_and_given_anew_is_not_sent():
    shared, lines = "00000000-0000-4000-8000-", [user("1", None, "go")]
    lines += [
        says(f"{shared}00000000000{n}", f"{shared}000000000001" if n > 1 else "1", "m", text(str(n))) for n in (1, 2)
    ]
    again = {"type": "system", "subtype": "model_refusal_fallback", "uuid": "4", "parentUuid": lines[-1]["uuid"]}
    again |= {"retractedMessageUuids": [f"{shared}000000000001"]}
    found = session(*lines, again, says("5", "4", "n", text("done")))
    assert told(found) == ["u:go", "a:done"]
    assert found.left_out == {"assistant/other branch": 2, "system/model_refusal_fallback": 1}


def queued(key, parent, prompt, **more):
    attachment = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", **more}
    rendered = [{"content": f"The user sent a new message while you were working: {prompt}"}]
    return {"type": "attachment", "uuid": key, "parentUuid": parent, "attachment": attachment, "rendered": rendered}


@pytest.mark.parametrize("prompt", ["leave the tests alone", [text("leave the tests alone")]])
def test_what_was_typed_while_the_agent_worked_is_a_message_of_the_user(prompt):
    lines = [user("1", None, "go"), says("2", "1", "m", use("a")), user("3", "2", [result("a")])]
    lines += [queued("4", "3", prompt), says("5", "4", "n", text("done"), usage={"input_tokens": 9})]
    found = session(*lines)
    assert told(found) == ["u:go", "a:a", "u:a", "u:leave the tests alone", "a:done"]
    assert (found.usage, found.left_out) == ([Charged(4, 9, 0)], {})
    other = {"type": "file", "content": "text of a file"}
    found = session(*lines, {**queued("6", "5", ""), "attachment": other}, queued("7", "6", ""), queued("8", "7", [5]))
    assert len(found.messages) == 5
    assert found.left_out == {"attachment/file": 1, "attachment/queued_command": 2}


@pytest.mark.parametrize("parents", [[None, "1", "gone"], ["3", "1", "2"], ["gone", "gone", "gone"], ["1", "2", "3"]])
def test_a_parent_that_is_missing_and_a_circle_lose_nothing(parents):
    first, second, third = parents
    found = session(user("1", first, "go"), says("2", second, "m", text("a")), user("3", third, "b"))
    assert told(found) == ["u:go", "a:a", "u:b"]


def test_lines_without_uuids_are_read_in_file_order():
    lines = [user("1", None, "go"), says("2", "1", "m", text("a")), user("3", "2", "b")]
    bare = [{name: line[name] for name in ("type", "message")} for line in lines]
    assert told(session(*bare)) == ["u:go", "a:a", "u:b"]


def test_lines_that_a_resumed_session_repeats_count_once():
    lines = [user("1", None, "go"), says("2", "1", "m", text("a"), usage={"input_tokens": 5, "output_tokens": 2})]
    found = session(*lines, *lines, user("3", "2", "b"))
    assert told(found) == ["u:go", "a:a", "u:b"]
    assert found.usage == [Charged(1, 5, 2)]


def test_a_fork_under_new_uuids_takes_calls_beside_the_chain_from_the_originals():
    lines = [user("1", None, "go"), says("2", "1", "m", text("t")), says("3", "2", "m", use("a"))]
    lines += [says("4", "2", "m", use("b")), user("5", "3", [result("a")]), user("6", "4", [result("b")])]
    fork = [user("11", None, "go"), says("12", "11", "m", text("t")), says("14", "12", "m", use("b"))]
    fork += [user("16", "14", [result("b")]), says("17", "16", "n", text("x"))]
    found = session(*lines, *fork)
    assert told(found) == ["u:go", "a:t a b", "u:a b", "a:x"]


def test_usage_is_the_input_of_a_response_and_its_largest_output():
    first = {"input_tokens": 3, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 500, "output_tokens": 1}
    found = session(
        user("1", None, "go"),
        says("2", "1", "m", use("a"), usage=first),
        says("3", "2", "m", use("b"), usage=first | {"output_tokens": 77}),
        user("4", "2", [result("a")]),
        user("5", "3", [result("b")]),
        user("6", "5", "and?"),
        says("7", "6", "n", text("x"), usage={"input_tokens": 9, "output_tokens": None}),
    )
    assert found.usage == [Charged(1, 543, 77), Charged(4, 9, 0)]


def test_usage_counts_messages_that_were_put_in_and_not_those_that_went():
    lines = [says("1", "gone", "m", text("a")), user("2", "1", " "), user("3", "2", "b")]
    found = session(*lines, says("4", "3", "n", text("x"), usage={"input_tokens": 9}))
    assert told(found) == [f"u:{BEGINNING}", "a:a", "u:b", "a:x"]
    assert found.repaired == [Repaired(0, "first_role", ""), Repaired(2, "blank_text", "")]
    assert found.usage == [Charged(3, 9, 0)]


def test_a_call_at_the_end_gets_an_interrupted_result():
    found = session(user("1", None, "go"), says("2", "1", "m", use("a")))
    assert found.messages[2] == {"role": "user", "content": [result("a", INTERRUPTED) | {"is_error": True}]}
    assert found.repaired == [Repaired(2, "interrupted_result", "a")]


def test_text_that_streamed_in_before_a_call_and_thinking_that_led_nowhere_are_dropped():
    thinking = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    lines = [user("1", None, "go"), says("2", "1", "m", text("\n\n")), says("3", "2", "m", text("a"))]
    found = session(*lines, says("4", "3", "n", thinking))
    assert told(found) == ["u:go", "a:a"]
    assert found.repaired == [Repaired(1, "blank_text", ""), Repaired(1, "bare_thinking", "")]


def test_odd_lines_are_named_and_the_rest_is_read():
    odd = [
        user("2", "1", 7),
        {"type": "user", "uuid": ["x"], "parentUuid": {}, "message": "x"},
        user("3", "1", ["x"]),
        {"type": "assistant", "uuid": "4", "parentUuid": "1", "message": {"role": "assistant"}},
    ]
    found = session(user("1", None, "go"), *odd, user("9", "4", "on"))
    assert told(found) == ["u:go", "u:on"]
    assert [skip.line for skip in found.skipped] == [2, 3, 4, 5]
