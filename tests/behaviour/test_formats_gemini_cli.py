"""Gemini CLI sessions, in both versions of the file."""

import json

from support.checker import check
from trimtab import read
from trimtab.messages import Charged

HEAD = {"sessionId": "s", "projectHash": "p", "startTime": "t", "lastUpdated": "t"}


def user(key, content):
    return {"id": key, "timestamp": "t", "type": "user", "content": content}


def model(key, content, *calls, prompt=0, **more):
    tokens = {"input": prompt, "output": 5, "cached": 1, "thoughts": 2, "tool": 0, "total": prompt + 7}
    made = {"toolCalls": list(calls)} if calls else {}
    return {"id": key, "type": "gemini", "content": content, "model": "g-1", "tokens": tokens, **made, **more}


def called(ref, output=None, **more):
    response = {"functionResponse": {"id": ref, "name": "ls", "response": {"output": output}}}
    result = {} if output is None else {"result": [response, *more.pop("beside", [])]}
    return {"id": ref, "name": "ls", "args": {"path": ref}, "status": "success", **result, **more}


def load(raw, whole):
    found = read(raw, whole=whole)
    assert check(found.messages, "openai_chat") == []
    assert found.format == "gemini_cli"
    return found


def document(*messages, whole=False):
    return load(json.dumps({**HEAD, "messages": messages}, indent=2).encode(), whole)


def log(*lines, whole=False):
    return load("\n".join(json.dumps(line) for line in (HEAD, *lines)).encode(), whole)


def words(found):
    return [m["content"] for m in found.messages]


TURN = [user("1", "go"), model("2", "I look", called("a", "A"), called("b", "B"), prompt=100)]


def test_messages_carry_their_calls_with_the_results():
    found = document(
        *TURN,
        {"id": "3", "type": "info", "content": "update available"},
        model("4", "done", prompt=130, thoughts=[{"subject": "x", "description": "y"}]),
    )
    calls = [
        {"id": ref, "type": "function", "function": {"name": "ls", "arguments": json.dumps({"path": ref})}}
        for ref in "ab"
    ]
    assert found.messages == [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "I look", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "A"},
        {"role": "tool", "tool_call_id": "b", "content": "B"},
        {"role": "assistant", "content": "done"},
    ]
    assert found.usage == [Charged(1, 100, 7), Charged(4, 130, 7)]
    assert (found.model, found.provider, found.skipped, found.repaired) == ("g-1", "openai_chat", [], [])


def test_a_call_without_a_result_is_closed():
    assert [r.code for r in document(user("1", "go"), model("2", "", called("a"))).repaired] == ["interrupted_result"]


def test_parts_are_texts_and_pictures_and_a_word_for_other_files():
    blob = {"inlineData": {"mimeType": "image/png", "data": "aaaa"}}
    parts = [{"text": "see"}, blob, {"fileData": {"mimeType": "application/pdf", "fileUri": "a.pdf"}}, "and"]
    found = document(user("1", parts), model("2", "", called("a", "A", beside=[blob])), model("3", "ok"))
    assert [part["type"] for part in found.messages[0]["content"]] == ["text", "image_url", "text", "text"]
    assert [m["role"] for m in found.messages] == ["user", "assistant", "tool", "user", "assistant"]


def test_a_response_that_is_no_text_is_told_as_json():
    response = {"functionResponse": {"name": "ls", "response": {"files": ["x"], "n": 1}}}
    found = document(user("1", "go"), model("2", "", {"id": "a", "name": "ls", "result": [response]}))
    assert json.loads(found.messages[2]["content"]) == {"files": ["x"], "n": 1}


def test_lines_add_messages_and_change_them():
    found = log(TURN[0], model("2", "I"), {"$set": {"lastUpdated": "u"}}, TURN[1], model("3", "done", prompt=9))
    assert words(found) == ["go", "I look", "A", "B", "done"]
    assert found.usage == [Charged(1, 100, 7), Charged(4, 9, 7)]
    assert found.lines == 6


def test_a_rewind_takes_messages_back():
    assert words(log(*TURN, user("3", "no"), model("4", "hm"), {"$rewindTo": "3"}, user("5", "so"))) == [
        "go",
        "I look",
        "A",
        "B",
        "so",
    ]
    assert words(log(*TURN, {"$rewindTo": "gone"}, user("5", "so"))) == ["so"]


COMPRESSED = [
    *TURN,
    user("3", "on"),
    {"$set": {"messages": [user("s", "short"), user("3", "on")]}},
    model("4", "two", prompt=50),
]


def test_a_compression_replaces_the_messages():
    found = log(*COMPRESSED)
    assert words(found) == ["short", "on", "two"]
    assert found.usage == [Charged(2, 50, 7)]


def test_the_whole_session_keeps_what_a_compression_replaced():
    found = log(*COMPRESSED, whole=True)
    assert words(found) == ["go", "I look", "A", "B", "on", "short", "two"]
    assert found.compactions == [5]
    assert found.usage == [Charged(1, 100, 7)]


def test_results_that_were_masked_are_there_in_the_whole_session():
    masked = [TURN[0], {**TURN[1], "content": "I", "toolCalls": [called("a", "-"), called("b", "-")]}]
    lines = [*TURN, {"$set": {"messages": masked}}, model("3", "done", prompt=60)]
    assert words(log(*lines)) == ["go", "I", "-", "-", "done"]
    assert log(*lines).usage == [Charged(4, 60, 7)]
    assert words(log(*lines, whole=True)) == ["go", "I look", "A", "B", "done"]
    assert log(*lines, whole=True).usage == [Charged(1, 100, 7)]
    assert log(*lines, whole=True).compactions == []


def test_results_of_a_turn_of_their_own_are_matched_by_id_or_by_name():
    def response(**ref):
        return {"functionResponse": {"name": "ls", "response": {"output": "A"}, **ref}}

    call = {"functionCall": {"name": "ls", "args": {}}}
    found = log(user("1", "go"), model("2", [{"text": "I"}, call]), user("3", [response(), {"text": "and"}]))
    assert [m["role"] for m in found.messages] == ["user", "assistant", "tool", "user"]
    again = log(*TURN, user("3", [response(id="a"), response(id="b")]), model("4", "done"))
    assert words(again) == ["go", "I look", "A", "B", "done"]


def test_a_line_that_is_no_message_is_named():
    assert [skip.line for skip in log({"note": 1}, *TURN).skipped] == [2]
