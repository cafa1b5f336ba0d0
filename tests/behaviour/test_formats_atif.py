"""ATIF trajectories, step by step."""

import json

import pytest

from support.checker import check
from trimtab import MessageError, read
from trimtab.messages import Charged


def step(source, message="", **more):
    return {"step_id": 1, "source": source, "message": message, **more}


def made(*refs):
    return [{"tool_call_id": ref, "function_name": "bash", "arguments": {"command": ref}} for ref in refs]


def gave(*results):
    return {"results": [{"source_call_id": ref, "content": words} for ref, words in results]}


def trajectory(*steps, version="ATIF-v1.8", **more):
    agent = {"name": "a", "version": "1", "model_name": "m-1", **more.pop("agent", {})}
    return {"schema_version": version, "session_id": "s", "agent": agent, "steps": list(steps), **more}


def session(*steps, whole=False, **more):
    found = read(json.dumps(trajectory(*steps, **more), indent=1).encode(), whole=whole)
    assert check(found.messages, "openai_chat") == []
    return found


def told(found):
    """The messages in short: role, then the calls, the call that is answered, or the words."""
    return [
        (m["role"], [c["id"] for c in m.get("tool_calls", ())] or m.get("tool_call_id") or m["content"])
        for m in found.messages
    ]


@pytest.mark.parametrize("version", ["ATIF-v1.2", "ATIF-v1.5", "ATIF-v1.8", "ATIF-v2.0"])
def test_a_step_is_a_message_and_its_results_stand_behind_it(version):
    definitions = [{"type": "function", "function": {"name": "bash"}}]
    found = session(
        step("system", "be good"),
        step("user", "go"),
        step(
            "agent",
            "I look",
            model_name="m-2",
            reasoning_content="hm",
            tool_calls=made("a", "b"),
            observation=gave(("b", "B"), ("a", "A")),
            metrics={"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 90},
            a_new_field=1,
        ),
        step("agent", "done", metrics={"prompt_tokens": 120}),
        version=version,
        agent={"tool_definitions": definitions},
    )
    assert told(found) == [
        ("system", "be good"),
        ("user", "go"),
        ("assistant", ["a", "b"]),
        ("tool", "b"),
        ("tool", "a"),
        ("assistant", "done"),
    ]
    answer = found.messages[2]
    assert (answer["content"], answer["reasoning_content"]) == ("I look", "hm")
    assert answer["tool_calls"][0] == {
        "id": "a",
        "type": "function",
        "function": {"name": "bash", "arguments": '{"command": "a"}'},
    }
    assert found.usage == [Charged(2, 100, 7), Charged(5, 120, 0)]
    assert (found.format, found.provider, found.model) == ("atif", "openai_chat", "m-2")
    assert (found.tools, found.skipped, found.repaired, found.lines) == (definitions, [], [], 1)


def test_results_without_an_id_belong_to_the_steps_calls_in_order():
    pair = {"results": [{"content": "A"}, {"content": "B"}]}
    found = session(step("user", "go"), step("agent", "", tool_calls=made("a", "b"), observation=pair))
    assert [m["content"] for m in found.messages[2:]] == ["A", "B"]


def test_one_result_of_several_calls_stands_with_the_last_and_the_others_say_so():
    one = {"results": [{"content": "screen"}]}
    found = session(step("user", "go"), step("agent", "", tool_calls=made("a", "b"), observation=one))
    assert found.messages[3]["content"] == "screen"
    assert "last one" in found.messages[2]["content"]
    assert found.repaired == []


def test_results_without_calls_are_told_by_the_user_and_open_calls_are_closed():
    free = {"results": [{"content": "screen"}, {"content": None}]}
    found = session(
        step("user", "go"), step("agent", "ls", observation=free), step("agent", "bye", tool_calls=made("a"))
    )
    assert told(found)[1:4] == [("assistant", "ls"), ("user", "screen"), ("assistant", ["a"])]
    assert [repaired.code for repaired in found.repaired] == ["interrupted_result"]


def test_media_are_told_by_their_place_and_pictures_that_can_be_sent_are_sent():
    parts = [
        {"type": "text", "text": "see"},
        {"type": "image", "source": {"media_type": "image/png", "path": "https://example.org/a.png"}},
        {"type": "audio", "source": {"media_type": "audio/wav", "path": "b.wav"}},
    ]
    result = {"results": [{"source_call_id": "a", "content": parts}]}
    found = session(
        step("user", parts), step("agent", "", tool_calls=made("a"), observation=result), step("agent", "k")
    )
    assert [part["type"] for part in found.messages[0]["content"]] == ["text", "image_url", "text"]
    assert found.messages[0]["content"][2]["text"] == "[audio: b.wav]"
    assert found.messages[2]["content"] == "see\n[audio: b.wav]"
    assert [part["type"] for part in found.messages[3]["content"]] == ["text", "image_url"]


COMPACTED = [
    step("system", "be good"),
    step("user", "go"),
    step("agent", "one", metrics={"prompt_tokens": 10, "completion_tokens": 1}),
    step("system", "in short", is_copied_context=True, extra={"compaction": {"removed": 2}}),
    step("user", "on"),
    step("agent", "two", metrics={"prompt_tokens": 8, "completion_tokens": 1}),
]


def test_a_compaction_leaves_the_system_prompt_and_its_summary():
    found = session(*COMPACTED)
    assert [m["role"] for m in found.messages] == ["system", "user", "user", "assistant"]
    assert "in short" in found.messages[1]["content"]
    assert found.usage == [Charged(3, 8, 1)]


def test_the_whole_trajectory_has_the_summary_between_what_it_replaced_and_what_followed():
    found = session(*COMPACTED, whole=True)
    assert [m["content"] for m in found.messages[:3]] == ["be good", "go", "one"]
    assert "in short" in found.messages[3]["content"]
    assert len(found.messages) == 6
    assert found.usage == [Charged(2, 10, 1)]


HANDOVER = step(
    "system",
    "Performed context summarization",
    observation={"results": [{"subagent_trajectory_ref": [{"trajectory_path": "t.summarization-1-summary.json"}]}]},
)


def test_a_handover_leaves_the_task_and_what_is_handed_over():
    steps = [step("user", "task"), step("agent", "one"), HANDOVER, step("user", "answers")]
    steps.append(step("agent", "two", metrics={"prompt_tokens": 8}))
    assert told(session(*steps)) == [("user", "task"), ("user", "answers"), ("assistant", "two")]
    assert session(*steps).usage == []
    whole = session(*steps, step("user", "more"), whole=True)
    assert [m["content"] for m in whole.messages] == ["task", "one", "answers", "two", "more"]
    assert (whole.compactions, whole.contexts) == ([2], [[0, 2]])


def test_a_handover_to_another_file_leaves_this_one_as_it_is():
    assert len(session(step("user", "task"), step("agent", "one"), HANDOVER).messages) == 2


def test_the_place_of_a_subagents_trajectory_stands_for_its_result():
    ref = {"results": [{"source_call_id": "a", "subagent_trajectory_ref": [{"trajectory_path": "sub.json"}]}]}
    found = session(step("user", "go"), step("agent", "", tool_calls=made("a"), observation=ref))
    assert "sub.json" in found.messages[2]["content"]


def test_several_calls_charged_together_are_no_usage():
    found = session(step("user", "go"), step("agent", "x", llm_call_count=3, metrics={"prompt_tokens": 900}))
    assert found.usage == []


def test_what_is_no_step_is_named_and_several_trajectories_are_refused():
    found = session(step("user", "go"), 7, step("robot", "x"))
    assert [skip.reason[:8] for skip in found.skipped] == ["steps[1]", "steps[2]"]
    two = json.dumps(trajectory(step("user", "go"))).encode()
    with pytest.raises(MessageError, match="2 sessions"):
        read(two + b"\n" + two)
    with pytest.raises(MessageError, match="no messages"):
        read(json.dumps(trajectory()).encode())
