"""Trajectories of SWE-agent and mini-swe-agent."""

import json

import pytest

from support.checker import check
from support.models import GPT_SMALL
from trimtab import MessageError, read
from trimtab.messages import Charged


def load(value, **options):
    found = read(json.dumps(value, indent=2).encode(), **options)
    assert check(found.messages, found.provider) == []
    return found


def said(role, content, **more):
    return {"role": role, "content": content, "agent": "main", **more}


def swe(*history, **more):
    return {"environment": "main", "trajectory": [], "history": list(history), "info": {}, **more}


CALL = {"id": "c", "function": {"name": "edit", "arguments": '{"a": 1}'}}


def test_the_history_is_the_prompt_without_what_is_kept_for_analysis():
    found = load(
        swe(
            said("system", "s", message_type="system_prompt"),
            said("user", "demo", is_demo=True),
            said("assistant", "look", thought="look", action="edit", tool_calls=[CALL]),
            said("tool", [{"type": "text", "text": "ok", "cache_control": {}}], tool_call_ids=["c"]),
            said("assistant", "done", thinking_blocks=[{"type": "thinking", "thinking": "hm", "signature": "s"}]),
        )
    )
    assert found.messages == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "demo"},
        {"role": "assistant", "content": "look", "tool_calls": [{**CALL, "type": "function"}]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
        {"role": "assistant", "content": "done", "reasoning_content": "hm"},
    ]
    assert (found.format, found.model, found.usage, found.skipped, found.repaired) == ("swe_agent", None, [], [], [])
    assert load(swe(said("user", "a")), whole=True).messages == [{"role": "user", "content": "a"}]


@pytest.mark.parametrize(("name", "model"), [(GPT_SMALL, GPT_SMALL), ("replay", None), (None, None)])
@pytest.mark.parametrize("form", [dict, json.dumps])
def test_the_model_is_found_in_the_configuration(name, model, form):
    config = form({"agent": {"model": {"name": name}}})
    assert load(swe(said("user", "a"), replay_config=config)).model == model
    assert load(swe(said("user", "a"), replay_config="{")).model is None


def test_messages_of_another_agent_are_left_out_and_what_is_none_is_named():
    found = load(swe(said("system", "s"), said("user", "b", agent="reviewer"), {"role": "user"}, 3, said("user", "a")))
    assert [m["content"] for m in found.messages] == ["s", "a"]
    assert [skip.reason for skip in found.skipped] == ["history[2]: no message", "history[3]: no message"]


def test_several_trajectories_in_one_file_are_refused():
    line = json.dumps(swe(said("user", "a"))).encode()
    with pytest.raises(MessageError, match="2 sessions"):
        read(line + b"\n" + line)


def mini(*messages, **info):
    config = {"model": {"model_name": "anthropic/m-1"}}
    return {"info": {"config": config, **info}, "messages": list(messages), "trajectory_format": "mini-swe-agent-1.1"}


def answered(content, prompt, output, **more):
    response = {"usage": {"prompt_tokens": prompt, "completion_tokens": output}}
    return {"role": "assistant", "content": content, "extra": {"response": response, "actions": []}, **more}


USER = {"role": "user", "content": [{"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}}]}
TOOLS = [{"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]


def test_the_messages_are_sent_as_they_are_without_their_extras():
    found = load(
        mini(
            {"role": "system", "content": "s"},
            USER,
            answered(None, 100, 7, tool_calls=TOOLS, function_call=None),
            {"role": "tool", "tool_call_id": "c", "content": "ok", "extra": {"returncode": 0}},
            answered("done", 120, 3),
            {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted"}},
        )
    )
    assert found.messages == [
        {"role": "system", "content": "s"},
        USER,
        {"role": "assistant", "content": None, "tool_calls": TOOLS},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
        {"role": "assistant", "content": "done"},
    ]
    assert found.usage == [Charged(2, 100, 7), Charged(4, 120, 3)]
    assert (found.format, found.provider, found.model) == ("mini_swe_agent", "openai_chat", "anthropic/m-1")
    assert (found.skipped, found.repaired) == ([], [])


def test_the_first_versions_are_known_by_their_version():
    value = mini(USER, mini_version="1.0.0")
    del value["trajectory_format"]
    assert load(value).format == "mini_swe_agent"


def test_responses_are_kept_as_items():
    items = [
        {"type": "reasoning", "id": "r", "summary": [], "content": None},
        {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"},
    ]
    usage = {"input_tokens": 50, "output_tokens": 5}
    found = load(
        mini(
            {"role": "user", "content": "go"},
            {"object": "response", "output": items, "usage": usage, "extra": {}},
            {"type": "function_call_output", "call_id": "c", "output": "ok", "extra": {}},
        )
    )
    assert [item.get("type") for item in found.messages] == [None, "reasoning", "function_call", "function_call_output"]
    assert "extra" not in found.messages[3]
    assert (found.provider, found.usage) == ("openai_responses", [Charged(1, 50, 5)])


def test_what_is_no_message_is_named():
    found = load(mini(USER, 3, {"role": "user", "content": [{"text": "a"}]}, {"role": "narrator", "content": "x"}))
    assert [skip.reason for skip in found.skipped] == [f"messages[{i}]: no message" for i in (1, 2, 3)]
    assert found.messages == [USER]
