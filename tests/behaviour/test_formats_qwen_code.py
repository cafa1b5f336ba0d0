"""Session files of Qwen Code: a tree of records with contents in Gemini's shape."""

import json

import trimtab


def record(key, kind, *parts, after, role="user", **more):
    links = {"uuid": key, "parentUuid": after, "sessionId": "s", "timestamp": "2026-11-01T10:00:00Z", "cwd": "/w"}
    return {**links, "type": kind, "version": "0.21.0", "message": {"role": role, "parts": list(parts)}, **more}


def system(key, subtype, payload, *, after):
    return {
        "uuid": key,
        "parentUuid": after,
        "sessionId": "s",
        "type": "system",
        "subtype": subtype,
        "systemPayload": payload,
    }


def called(ref, path):
    return {"functionCall": {"id": ref, "name": "read_file", "args": {"path": path}}}


def answered(ref, output):
    return {"functionResponse": {"id": ref, "name": "read_file", "response": {"output": output}}}


USAGE = {
    "promptTokenCount": 9_000,
    "candidatesTokenCount": 40,
    "thoughtsTokenCount": 10,
    "cachedContentTokenCount": 8_000,
}
MODEL = {"model": "qwen3-coder-plus", "usageMetadata": USAGE, "contextWindowSize": 262_144}
TURN = [
    record("a", "user", {"text": "what does it do?"}, after=None),
    record("b", "assistant", {"text": "hm", "thought": True}, called("t1", "a.py"), role="model", after="a", **MODEL),
    record(
        "c",
        "tool_result",
        answered("t1", "def f(): ..."),
        after="b",
        toolCallResult={"callId": "t1", "status": "success"},
    ),
    record("d", "assistant", {"text": "It defines f."}, role="model", after="c", **MODEL),
]


def log(*records, **options):
    return trimtab.read("\n".join(map(json.dumps, records)).encode(), **options)


def test_a_session_is_read_with_its_calls_usage_model_and_window():
    found = log(system("0", "custom_title", {"customTitle": "t"}, after=None), *TURN[:1], *TURN[1:])
    assert (found.format, found.provider, found.model) == ("qwen_code", "openai_chat", "qwen3-coder-plus")
    assert found.window == 262_144
    assert [message["role"] for message in found.messages] == ["user", "assistant", "tool", "assistant"]
    [call] = found.messages[1]["tool_calls"]
    assert (call["id"], call["function"]) == ("t1", {"name": "read_file", "arguments": '{"path": "a.py"}'})
    assert found.messages[2] == {"role": "tool", "tool_call_id": "t1", "content": "def f(): ..."}
    assert [(one.before, one.prompt, one.output) for one in found.usage] == [(1, 9_000, 50), (3, 9_000, 50)]
    assert found.left_out == {"system/custom_title/rewound": 1, "model/thought": 1}


def test_a_rewound_branch_is_not_sent():
    more = record("e", "user", {"text": "and now?"}, after="d")
    other = record("f", "user", {"text": "something else"}, after="a")
    assert [m["content"] for m in log(*TURN, more, other).messages] == ["what does it do?", "something else"]


def test_after_a_compression_the_prompt_is_what_that_left():
    left = [
        {"role": "user", "parts": [{"text": "<state_snapshot>f is defined</state_snapshot>"}]},
        {"role": "model", "parts": [{"text": "Got it."}]},
    ]
    payload = {"info": {"originalTokenCount": 9_000, "newTokenCount": 200}, "compressedHistory": left}
    more = record("f", "user", {"text": "go on"}, after="e")
    both = [*TURN, system("e", "chat_compression", payload, after="d"), more]
    found = log(*both)
    assert [m["content"] for m in found.messages] == [left[0]["parts"][0]["text"], "Got it.", "go on"]
    assert found.left_out["compacted messages"] == 4
    whole = log(*both, whole=True)
    assert whole.compactions == [4]
    assert len(whole.messages) == 7


def test_what_a_subagent_wrote_is_left_out_and_records_in_pieces_are_one():
    side = record("x", "assistant", {"text": "I look"}, role="model", after="a", isSidechain=True, agentId="explore-1")
    pieces = [
        record("b", "assistant", {"text": "first "}, role="model", after="a"),
        record("b", "assistant", {"text": "second"}, role="model", after="a"),
    ]
    found = log(TURN[0], side, *pieces)
    assert [m["content"] for m in found.messages] == ["what does it do?", "first \nsecond"]
    assert found.left_out == {"subagent": 1}


def test_a_result_without_an_id_answers_the_oldest_open_call_of_its_function():
    call = {"functionCall": {"name": "read_file", "args": {}}}
    result = {"functionResponse": {"name": "read_file", "response": {"output": "x"}}}
    made = record("b", "assistant", call, role="model", after="a")
    found = log(TURN[0], made, record("c", "tool_result", result, after="b"))
    assert found.messages[2]["tool_call_id"] == found.messages[1]["tool_calls"][0]["id"]
    assert found.repaired == []


def test_circular_links_end():
    assert (
        len(
            log(
                record("a", "user", {"text": "one"}, after="b"), record("b", "user", {"text": "two"}, after="a")
            ).messages
        )
        == 2
    )
