"""OpenHands trajectories, event by event."""

import json

import pytest

from support.checker import check
from trimtab import MessageError, read
from trimtab.messages import Charged


def act(number, action, source="agent", metadata=None, **args):
    more = {"tool_call_metadata": metadata} if metadata else {}
    return {"id": number, "source": source, "action": action, "args": args, "message": f"message {number}", **more}


def see(number, cause, content, observation="run", **extras):
    source = {"id": number, "source": "agent", "observation": observation, "cause": cause, "content": content}
    return {**source, "extras": extras}


def response(name, *refs, prompt=0, content=None):
    calls = [{"id": ref, "type": "function", "function": {"name": "bash", "arguments": '{"x": 1}'}} for ref in refs]
    message = {"role": "assistant", "content": content, "tool_calls": calls}
    usage = {"prompt_tokens": prompt, "completion_tokens": 9}
    return {"id": name, "model": "m-1", "choices": [{"message": message}], "usage": usage}


def metadata(ref, given):
    return {"function_name": "bash", "tool_call_id": ref, "model_response": given}


def session(*events, whole=False):
    found = read(json.dumps(events).encode(), whole=whole)
    assert check(found.messages, "openai_chat") == []
    return found


def told(found):
    return [
        (m["role"], [c["id"] for c in m.get("tool_calls", ())] or m.get("tool_call_id") or m["content"])
        for m in found.messages
    ]


TOOLS = [{"type": "function", "function": {"name": "bash"}}]
SYSTEM = act(0, "system", content="be good", tools=TOOLS)
GO = act(1, "message", "user", content="go", image_urls=None)


def test_actions_are_calls_and_an_observation_answers_the_action_that_caused_it():
    both = response("r", "a", "b", prompt=50, content="I look")
    found = session(
        SYSTEM,
        GO,
        act(2, "recall", "user", query="go"),
        see(3, 2, "Added workspace context", "recall"),
        act(4, "run", metadata=metadata("a", both), command="ls"),
        act(5, "run", metadata=metadata("b", both), command="pwd"),
        see(7, 5, "/"),
        see(6, 4, "file", metadata={"prefix": "<", "suffix": ">"}),
        see(8, 0, "", "agent_state_changed"),
        act(9, "finish", metadata=metadata("f", response("q", "f", prompt=70)), final_thought="done"),
    )
    assert told(found) == [
        ("system", "be good"),
        ("user", "go"),
        ("assistant", ["a", "b"]),
        ("tool", "b"),
        ("tool", "a"),
        ("assistant", "done"),
    ]
    assert found.messages[2]["content"] == "I look"
    assert found.messages[2]["tool_calls"][0]["function"] == {"name": "bash", "arguments": '{"x": 1}'}
    assert found.messages[4]["content"] == "<file>"
    assert found.usage == [Charged(2, 50, 9), Charged(5, 70, 9)]
    assert (found.format, found.model, found.tools) == ("openhands", "m-1", TOOLS)
    assert (found.skipped, found.repaired, found.lines) == ([], [], 10)


def test_actions_without_a_recorded_response_become_a_call_named_after_them():
    found = session(GO, act(2, "run", command="ls", thought="look", is_input=False), see(3, 2, "file"))
    assert found.messages[1] == {
        "role": "assistant",
        "content": "look",
        "tool_calls": [
            {"id": "event_2", "type": "function", "function": {"name": "run", "arguments": '{"command": "ls"}'}}
        ],
    }
    assert told(found)[2] == ("tool", "event_2")


def test_what_the_user_does_and_sees_is_told_by_the_user():
    picture = act(1, "message", "user", content="see", image_urls=["https://example.org/a.png"])
    found = session(picture, act(2, "run", "user", command="ls"), see(3, 2, "file"), act(4, "message", content="ok"))
    assert [part["type"] for part in found.messages[0]["content"]] == ["text", "image_url"]
    assert told(found)[1:] == [("user", "message 2"), ("user", "file"), ("assistant", "ok")]


CONDENSED = [
    SYSTEM,
    GO,
    act(2, "run", command="a", metadata=metadata("a", response("r", "a", prompt=40))),
    see(3, 2, "A"),
    act(4, "run", command="b", metadata=metadata("b", response("q", "b", prompt=60))),
    see(5, 4, "B"),
    act(6, "condensation", forgotten_events_start_id=2, forgotten_events_end_id=3, summary="short", summary_offset=2),
    act(7, "run", command="c", metadata=metadata("c", response("p", "c", prompt=55))),
    see(8, 7, "C"),
]


def test_a_condensation_puts_its_summary_in_the_place_of_what_it_removes():
    found = session(*CONDENSED)
    assert told(found)[3:] == [("assistant", ["b"]), ("tool", "b"), ("assistant", ["c"]), ("tool", "c")]
    assert "short" in found.messages[2]["content"]
    assert found.usage == [Charged(5, 55, 9)]


def test_condensations_by_list_add_up_and_the_last_summary_counts():
    again = act(9, "condensation", forgotten_event_ids=[4, 5], summary="shorter", summary_offset=2)
    found = session(*CONDENSED, again)
    assert told(found)[3:] == [("assistant", ["c"]), ("tool", "c")]
    assert "shorter" in found.messages[2]["content"]
    assert found.usage == []


def test_the_whole_session_keeps_what_was_condensed():
    found = session(*CONDENSED, whole=True)
    assert [ref for role, ref in told(found) if role == "tool"] == ["a", "b", "c"]
    assert "short" in found.messages[6]["content"]
    assert found.compactions == [6]
    assert found.usage == [Charged(2, 40, 9), Charged(4, 60, 9)]


def test_events_are_found_in_an_object_and_what_is_none_is_named():
    found = read(json.dumps({"trajectory": [SYSTEM, GO, {"note": 1}]}).encode())
    assert (len(found.messages), [skip.reason for skip in found.skipped]) == (2, ["no action and no observation"])
    with pytest.raises(MessageError):
        read(json.dumps({"trajectory": [{"note": 1}]}).encode())
