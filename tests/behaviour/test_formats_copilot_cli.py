"""Copilot CLI sessions, event by event."""

import json

from support.checker import check
from trimtab import read
from trimtab.validity import INTERRUPTED


def event(kind, /, agent=None, **data):
    return {"type": kind, "data": data, "id": "i", "parentId": None, **({"agentId": agent} if agent else {})}


def asks(words):
    return event("user.message", content=words, transformedContent=f"<date/> {words}", attachments=[])


def says(words, *refs, **more):
    requests = [
        {"toolCallId": ref, "name": "bash", "arguments": {"command": ref}, "type": "function", "intentionSummary": "x"}
        for ref in refs
    ]
    return event("assistant.message", content=words, toolRequests=requests, model="m-2", outputTokens=5, **more)


def done(ref, words="ok", **more):
    result = {"content": words, "detailedContent": "for the screen", **more}
    return event("tool.execution_complete", toolCallId=ref, success=True, result=result)


def session(*events, whole=False):
    found = read("\n".join(map(json.dumps, events)).encode(), whole=whole)
    assert check(found.messages, "openai_chat") == []
    return found


START = event("session.start", sessionId="s", version=1, selectedModel="m-1")
SYSTEM = event("system.message", role="system", content="be good")


def test_the_prompt_is_what_was_sent_and_the_screen_is_left_out():
    found = session(
        START,
        event("hook.start", hookType="userPromptSubmitted", input={"prompt": "go"}),
        SYSTEM,
        asks("go"),
        event("assistant.turn_start", turnId="0"),
        says("I look", "a", "b", reasoningText="hm", reasoningOpaque="..."),
        event("tool.execution_start", toolCallId="a", toolName="bash", arguments={}),
        done("b", "B"),
        event("tool.execution_complete", toolCallId="a", success=False, error={"message": "no such", "code": "f"}),
        event("system.notification", content="<note/>", kind={"type": "shell_completed"}),
        says(""),
        SYSTEM,
        asks("on"),
    )
    calls = [
        {"id": ref, "type": "function", "function": {"name": "bash", "arguments": json.dumps({"command": ref})}}
        for ref in "ab"
    ]
    assert found.messages == [
        {"role": "user", "content": "<date/> go"},
        {"role": "assistant", "content": "I look", "reasoning_content": "hm", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "b", "content": "B"},
        {"role": "tool", "tool_call_id": "a", "content": "no such"},
        {"role": "user", "content": "<note/>"},
        {"role": "user", "content": "<date/> on"},
    ]
    assert (found.format, found.model, found.system) == ("copilot_cli", "m-2", "be good")
    assert (found.usage, found.skipped, found.repaired, found.lines) == ([], [], [], 13)


def test_what_subagents_did_is_not_part_of_the_prompt():
    inner = [says("inner", "x", parentToolCallId="a"), event("assistant.message", "agent-1", content="inner")]
    found = session(START, asks("go"), says("", "a"), *inner, done("a"))
    assert [m["role"] for m in found.messages] == ["user", "assistant", "tool"]


def test_the_model_is_the_last_that_was_chosen_or_spoke():
    assert session(START, asks("go")).model == "m-1"
    assert session(START, event("session.model_change", newModel="m-3"), asks("go")).model == "m-3"


def test_pictures_of_a_result_follow_behind_the_last_result():
    shot = [{"type": "image", "data": "aaaa", "mimeType": "image/png"}, {"type": "resource", "mimeType": "text/html"}]
    found = session(START, asks("go"), says("", "a", "b"), done("a", "A", binaryResultsForLlm=shot), done("b"))
    assert [m["role"] for m in found.messages] == ["user", "assistant", "tool", "tool", "user"]
    assert found.messages[4]["content"] == [
        {"type": "text", "text": "[pictures of the results above]"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aaaa"}},
    ]


def test_a_call_that_was_aborted_gets_a_result():
    found = session(START, asks("go"), says("", "a"), event("abort", reason="user_initiated"), asks("so"))
    assert found.messages[2]["content"] == INTERRUPTED
    assert [repaired.code for repaired in found.repaired] == ["interrupted_result"]


COMPACTED = [
    START,
    asks("go"),
    says("one"),
    event("session.compaction_start", conversationTokens=9),
    asks("meanwhile"),
    event("session.compaction_complete", success=True, summaryContent="short"),
    says("two"),
]


def test_a_compaction_replaces_what_was_there_when_it_began():
    found = session(*COMPACTED)
    assert [m["content"] for m in found.messages[1:]] == ["<date/> meanwhile", "two"]
    assert "short" in found.messages[0]["content"]


def test_the_whole_session_has_the_summary_where_it_was_made():
    found = session(*COMPACTED, whole=True)
    assert [m["content"] for m in found.messages[:3]] == ["<date/> go", "one", "<date/> meanwhile"]
    assert "short" in found.messages[3]["content"]
    assert found.compactions == [3]


def test_a_compaction_that_failed_replaces_nothing():
    failed = event("session.compaction_complete", success=False, error="x")
    assert len(session(START, asks("go"), says("one"), failed).messages) == 2


def test_a_line_that_is_no_event_is_named():
    assert [skip.line for skip in session(START, {"type": "session.info"}, asks("go")).skipped] == [2]
