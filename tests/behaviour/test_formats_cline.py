"""Session files of Cline: Anthropic's messages with fields of Cline's own."""

import json

import trimtab

MODEL = {"modelInfo": {"modelId": "anthropic/claude-sonnet-4.5", "providerId": "cline", "mode": "act"}}


def charged(prompt, cached=0):
    return MODEL | {"metrics": {"tokens": {"prompt": prompt, "completion": 20, "cached": cached}, "cost": 0.01}}


def said(role, *blocks, **more):
    return {"role": role, "content": list(blocks), "ts": 1, **more}


def text(words, **more):
    return {"type": "text", "text": words, **more}


CALL = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.html"}, "call_id": "c1"}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "<html>"}]}
TURN = [
    said("user", text("<task>make a page</task>")),
    said(
        "assistant", text("I read it.", reasoning_details=[{"type": "reasoning.text"}]), CALL, **charged(12_000, 11_000)
    ),
    said("user", RESULT),
    said("assistant", text("Done."), **charged(12_300, 12_000)),
]


def log(*messages, **options):
    return trimtab.read(json.dumps(messages).encode(), **options)


def test_a_session_is_read_without_clines_own_fields():
    found = log(*TURN)
    assert (found.format, found.provider, found.model) == ("cline", "anthropic", "anthropic/claude-sonnet-4.5")
    assert all(message.keys() == {"role", "content"} for message in found.messages)
    assert found.messages[1]["content"] == [text("I read it."), {k: v for k, v in CALL.items() if k != "call_id"}]
    assert [(one.before, one.prompt, one.output) for one in found.usage] == [(1, 12_000, 20), (3, 12_300, 20)]
    assert found.repaired == []


def test_usage_behind_a_truncation_is_not_of_this_list():
    more = [said("user", text("and a button")), said("assistant", text("Yes."), **charged(4_000))]
    assert [one.prompt for one in log(*TURN, *more).usage] == [12_000, 12_300]


def test_a_file_without_any_answer_is_a_list_of_messages():
    assert log(TURN[0]).format == "openai_chat"
    assert log(TURN[0], format="cline").provider == "anthropic"


def test_wrong_types_are_left_out_and_nothing_is_lost():
    odd = said("assistant", text("x"), modelInfo="m", metrics={"tokens": {"prompt": "many", "cached": -1}})
    found = log(TURN[0], odd, {"role": "system", "content": 3})
    assert [m["content"][0]["text"] for m in found.messages] == ["<task>make a page</task>", "x"]
    assert found.usage == []
    assert len(found.skipped) == 1
