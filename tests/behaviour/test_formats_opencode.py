"""opencode exports."""

import json

import pytest

from support.checker import check
from trimtab import MessageError, read
from trimtab.messages import Charged


def user(key, *parts, **info):
    return {"info": {"id": key, "role": "user", "time": {"created": int(key[1:])}, **info}, "parts": list(parts)}


def answer(key, *parts, **info):
    head = {"id": key, "role": "assistant", "modelID": "m-1", "time": {"created": int(key[1:])}, "finish": "stop"}
    return {"info": {**head, **info}, "parts": list(parts)}


def text(words, **more):
    return {"type": "text", "text": words, **more}


def tool(ref, output=None, status="completed", **state):
    given = {"output": output} if status == "completed" else {}
    return {"type": "tool", "callID": ref, "tool": "bash", "state": {"status": status, "input": {}, **given, **state}}


def finish(prompt, output):
    tokens = {"input": prompt - 4, "output": output, "reasoning": 1, "cache": {"read": 3, "write": 1}}
    return {"type": "step-finish", "reason": "stop", "tokens": tokens}


START = {"type": "step-start", "snapshot": "x"}


def session(*messages, whole=False, **info):
    raw = json.dumps({"info": {"id": "ses_1", "version": "1.2", **info}, "messages": messages}, indent=2)
    found = read(raw.encode(), whole=whole)
    assert check(found.messages, "openai_chat") == []
    assert found.format == "opencode"
    return found


def words(found):
    return [m["content"] for m in found.messages]


def test_a_step_is_a_message_with_the_results_of_its_calls_behind_it():
    found = session(
        user("m1", text("go"), text("hidden", ignored=True), {"type": "agent", "name": "build"}),
        answer(
            "m2",
            START,
            {"type": "reasoning", "text": "hm"},
            text("I look"),
            tool("a", "A"),
            tool("b", status="error", error="broken"),
            finish(100, 6),
            {"type": "patch", "hash": "h", "files": []},
            START,
            text("done"),
            finish(130, 2),
        ),
    )
    calls = [{"id": ref, "type": "function", "function": {"name": "bash", "arguments": "{}"}} for ref in "ab"]
    assert found.messages == [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "I look", "reasoning_content": "hm", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "A"},
        {"role": "tool", "tool_call_id": "b", "content": "broken"},
        {"role": "assistant", "content": "done"},
    ]
    assert found.usage == [Charged(1, 100, 7), Charged(4, 130, 3)]
    assert (found.model, found.skipped, found.repaired, found.lines) == ("m-1", [], [], 1)


def test_a_call_that_still_runs_is_closed():
    found = session(user("m1", text("go")), answer("m2", START, tool("a", status="running")))
    assert [repaired.code for repaired in found.repaired] == ["interrupted_result"]


def test_pictures_are_sent_and_other_files_are_told():
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,aaaa", "filename": "a.png"}
    paper = {"type": "file", "mime": "application/pdf", "url": "file:///a.pdf", "filename": "a.pdf"}
    plain = {"type": "file", "mime": "text/plain", "url": "file:///a.txt"}
    found = session(user("m1", text("see"), picture, paper, plain), answer("m2", tool("a", "A", attachments=[picture])))
    assert [part["type"] for part in found.messages[0]["content"]] == ["text", "image_url", "text"]
    assert found.messages[0]["content"][2]["text"] == "[attached application/pdf: a.pdf]"
    assert [m["role"] for m in found.messages] == ["user", "assistant", "tool", "user"]


COMPACTED = [
    user("m1", text("go")),
    answer("m2", text("one"), finish(100, 1)),
    user("m3", text("on")),
    answer("m4", text("two"), finish(120, 1)),
    user("m5", {"type": "compaction", "auto": True, "tail_start_id": "m3"}),
    answer("m6", text("short"), finish(130, 9), summary=True, parentID="m5"),
    user("m7", text("further")),
    answer("m8", text("three"), finish(60, 1)),
]


def test_a_compaction_leaves_its_summary_and_the_tail_that_it_kept():
    found = session(*COMPACTED)
    assert words(found)[1:] == ["short", "on", "two", "further", "three"]
    assert found.usage == [Charged(5, 60, 2)]


def test_the_whole_session_is_in_the_order_of_the_file():
    found = session(*COMPACTED, whole=True)
    assert [w for w in words(found) if len(w) < 9] == ["go", "one", "on", "two", "short", "further", "three"]
    assert found.usage == [Charged(1, 100, 2), Charged(3, 120, 2)]
    assert [words(found)[at] for at in found.compactions] == ["short"]


def test_a_compaction_without_its_summary_replaces_nothing():
    assert words(session(*COMPACTED[:5]))[:4] == ["go", "one", "on", "two"]
    broken = {**COMPACTED[5], "info": {**COMPACTED[5]["info"], "error": {"name": "APIError"}}}
    assert words(session(*COMPACTED[:5], broken))[:4] == ["go", "one", "on", "two"]


def test_pruned_results_say_so_and_are_there_in_the_whole_session():
    pruned = tool("a", "A" * 99, time={"start": 1, "end": 2, "compacted": 3})
    messages = [
        user("m1", text("go")),
        answer("m2", pruned, finish(100, 1)),
        answer("m4", text("done"), finish(50, 1)),
    ]
    assert "cleared" in words(session(*messages))[2]
    assert session(*messages).usage == [Charged(3, 50, 2)]
    assert words(session(*messages, whole=True))[2] == "A" * 99
    assert session(*messages, whole=True).usage == [Charged(1, 100, 2)]


def test_answers_that_failed_are_left_out_and_aborted_ones_stay():
    failed = answer("m2", text("half"), error={"name": "APIError"})
    aborted = answer("m3", text("half"), error={"name": "MessageAbortedError"})
    empty = answer("m4", START, error={"name": "MessageAbortedError"})
    assert words(session(user("m1", text("go")), failed, aborted, empty)) == ["go", "half"]


def test_what_the_user_reverted_is_gone():
    messages = [user("m1", text("go", id="p1")), answer("m2", text("one", id="p2"), text("two", id="p3"))]
    assert words(session(*messages, revert={"messageID": "m2"})) == ["go"]
    assert words(session(*messages, revert={"messageID": "m2", "partID": "p3"})) == ["go", "one"]


def test_a_list_of_messages_is_read_as_well_and_what_is_none_is_named():
    found = read(json.dumps([*COMPACTED[:2], 5]).encode())
    assert (words(found), [skip.reason for skip in found.skipped]) == (["go", "one"], ["messages[2]: no message"])
    assert len(session(COMPACTED[0], {"info": {}}).skipped) == 1
    two = json.dumps({"info": {}, "messages": COMPACTED}).encode()
    with pytest.raises(MessageError, match="2 sessions"):
        read(two + b"\n" + two)
