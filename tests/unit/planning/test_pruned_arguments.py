"""Long arguments of old calls are pruned like results; placeholders say what was there and how to get it back."""

import json
import re
from dataclasses import replace

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.checker import check
from support.models import CLAUDE, GPT
from support.scale import scaled
from support.transcripts import PROVIDERS
from trimtab import Compactor, Counter, Kind, Ledger, Plan, validate
from trimtab._core import PRUNED
from trimtab.planning import Prune
from trimtab.policies import POLICIES

MODEL = CLAUDE
FILE = " ".join(f"line {n} of the file" for n in range(300))
WRITE = {"file_path": "/src/app/main.py", "content": FILE, "mode": "w", "edits": [{"old": "a", "new": FILE, "n": 3}]}


def say(provider, role, text):
    if provider == "gemini":
        return {"role": "model" if role == "assistant" else "user", "parts": [{"text": text}]}
    return {"role": role, "content": [{"text": text}] if provider == "bedrock" else text}


def called(provider, number, name, arguments, result):
    """A call and its result in a provider's shape."""
    ref = f"call_{number}"
    if provider == "anthropic":
        call = {"type": "tool_use", "id": ref, "name": name, "input": arguments}
        answer = {"type": "tool_result", "tool_use_id": ref, "content": result}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
    if provider == "openai_chat":
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {
            "role": "assistant",
            "content": "so",
            "tool_calls": [{"id": ref, "type": "function", "function": function}],
        }
        return [call, {"role": "tool", "tool_call_id": ref, "content": result}]
    if provider == "openai_responses":
        call = {"type": "function_call", "call_id": ref, "name": name, "arguments": json.dumps(arguments)}
        return [call, {"type": "function_call_output", "call_id": ref, "output": result}]
    if provider == "bedrock":
        call = {"toolUse": {"toolUseId": ref, "name": name, "input": arguments}}
        answer = {"toolResult": {"toolUseId": ref, "content": [{"text": result}]}}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
    answer = {"functionResponse": {"name": name, "response": {"result": result}}}
    return [
        {"role": "model", "parts": [{"functionCall": {"name": name, "args": arguments}}]},
        {"role": "user", "parts": [answer]},
    ]


def arguments_of(provider, message):
    """The arguments of a message's call as an object."""
    if provider == "anthropic":
        return message["content"][0]["input"]
    if provider == "bedrock":
        return message["content"][0]["toolUse"]["input"]
    if provider == "gemini":
        return message["parts"][0]["functionCall"]["args"]
    text = message["arguments"] if "arguments" in message else message["tool_calls"][0]["function"]["arguments"]
    assert isinstance(text, str)
    return json.loads(text)


def session(provider, calls=6, name="Write", arguments=WRITE, result="done"):
    messages = [say(provider, "user", "go")]
    for number in range(calls):
        messages += called(provider, number, name, arguments, result)
    return [*messages, say(provider, "assistant", "ready"), say(provider, "user", "go on")]


def total(messages, provider):
    return int(Ledger.of(messages, counter=Counter.for_model(MODEL), provider=provider).total)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_written_files_leave_with_a_placeholder_and_keys_and_types_stay(provider):
    messages = session(provider)
    before, cm = json.dumps(messages), Compactor(MODEL, provider=provider)
    tools = [cm.recall_tool().definition(provider)]
    done = cm.compact(messages, tools=tools, target_tokens=total(messages, provider) * 2 // 3)
    (edit,) = done.plan.edits
    assert isinstance(edit, Prune)
    assert edit.why == "arguments"
    assert "of which long arguments leave" in str(done.plan)
    found = arguments_of(provider, done.messages[1])
    assert {**found, "content": "", "edits": []} == {**WRITE, "content": "", "edits": []}
    assert found["edits"] == [{"old": "a", "new": found["edits"][0]["new"], "n": 3}]
    placeholder = rf"\[trimtab: pruned [\d,]+ tokens of Write content /src/app/main\.py; recall ref={done.ref}\]"
    assert re.fullmatch(placeholder, found["content"])
    assert not validate(done.messages, provider=provider)
    assert not check(done.messages, provider)
    assert done.tokens_after <= done.plan.tokens_after <= done.plan.target
    assert json.dumps(messages) == before
    assert json.dumps(cm.restore(done.ref)) == before
    assert Plan.from_json(done.plan.to_json()) == done.plan
    assert FILE[:50] in cm.recall_tool()({"ref": done.ref})
    again = cm.compact(done.messages, target_tokens=done.tokens_after - 1)
    touched = [row for edit in again.plan.edits if isinstance(edit, Prune) for row in edit.rows]
    assert not {*edit.rows} & {*touched}, "a pruned call that comes back is not pruned again"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_placeholder_of_a_result_names_tool_and_argument(provider):
    asked = {"limit": 9, "file_path": "/src/app/main.py"}
    messages = session(provider, name="Read", arguments=asked, result=FILE)
    cm = Compactor(MODEL, provider=provider)
    done = cm.compact(messages, target_tokens=total(messages, provider) // 2)
    text = json.dumps(done.messages, ensure_ascii=False)
    assert f" tokens of Read /src/app/main.py; restore {done.ref}]" in text
    assert done.tokens_after <= done.plan.tokens_after
    again = cm.compact(done.messages, target_tokens=done.tokens_after // 2)
    rows = {row for edit in done.plan.edits if isinstance(edit, Prune) for row in edit.rows}
    assert not rows & {row for edit in again.plan.edits if isinstance(edit, Prune) for row in edit.rows}


def test_a_freeform_input_is_one_text_and_broken_arguments_stay():
    patch = {"type": "custom_tool_call", "call_id": "c0", "name": "apply_patch", "input": FILE}
    broken = {"type": "function_call", "call_id": "c1", "name": "Write", "arguments": '{"content": "' + FILE}
    answers = [
        {"type": "custom_tool_call_output", "call_id": "c0", "output": "ok"},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    ]
    messages = [
        say("", "user", "go"),
        patch,
        answers[0],
        broken,
        answers[1],
        say("", "assistant", "a"),
        say("", "user", "b"),
    ]
    cm = Compactor(GPT, provider="openai_responses")
    done = cm.compact(messages, target_tokens=2_000)
    assert done.messages[1]["input"].startswith(f"{PRUNED}")
    assert "of apply_patch input" in done.messages[1]["input"]
    assert done.messages[3] is messages[3]


def test_pins_never_pruned_tools_the_last_group_and_open_calls_keep_their_arguments():
    provider = "anthropic"
    messages = session(provider)
    cm = Compactor(MODEL)
    cm.pin(messages[1])
    done = cm.compact(messages, target_tokens=total(messages, provider) // 2)
    assert messages[1] in done.messages
    kept = Compactor(MODEL, never_prune=["Write"]).plan(messages, target_tokens=total(messages, provider) // 2)
    assert not [edit for edit in kept.edits if isinstance(edit, Prune)]
    running = messages[:-3]
    open_call = Compactor(MODEL).compact(running, target_tokens=total(running, provider) // 2)
    assert open_call.messages[-1] is running[-1]


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in {"default", "drop"}])
def test_presets_of_documented_systems_keep_arguments(name):
    messages = session("openai_chat", result=FILE)
    plan = Compactor(MODEL, policy=name).plan(messages, target_tokens=2_000)
    assert all(edit.why != "arguments" for edit in plan.edits if isinstance(edit, Prune))
    ledger = Ledger.of(messages, counter=Counter.for_model(MODEL), provider="openai_chat")
    rows = [row for edit in plan.edits if isinstance(edit, Prune) for row in edit.rows]
    assert all(ledger.kind[row] == Kind.RESULT for row in rows)


def test_a_signed_call_of_gemini_keeps_its_arguments():
    messages = session("gemini")
    messages[1]["parts"][0]["thoughtSignature"] = "c2ln"
    done = Compactor("gemini-3-pro", provider="gemini").compact(messages, target_tokens=total(messages, "gemini") // 2)
    assert done.messages[1] is messages[1]
    assert PRUNED in json.dumps(done.messages[3])


def test_arguments_in_objects_come_back_as_what_they_are():
    class Use(pydantic.BaseModel):
        type: str = "tool_use"
        id: str
        name: str
        input: dict

    messages = session("anthropic")
    for number in range(6):
        block = messages[1 + 2 * number]["content"][0]
        messages[1 + 2 * number]["content"] = [Use(**block)]
    plain = [
        {**m, "content": [b.model_dump() for b in m["content"]]}
        if isinstance(m["content"], list) and not isinstance(m["content"][0], dict)
        else m
        for m in messages
    ]
    done = Compactor(MODEL).compact(messages, target_tokens=total(plain, "anthropic") // 2)
    (block,) = done.messages[1]["content"]
    assert isinstance(block, Use)
    assert block.input["content"].startswith(PRUNED)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=30)
    | st.text("ab 日\ud800]", min_size=90, max_size=400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def kinds(value, kept):
    """A value with each of its long texts replaced by its type."""
    if isinstance(value, dict):
        return {key: kinds(part, kept) for key, part in value.items()}
    if isinstance(value, list):
        return [kinds(part, kept) for part in value]
    return "long" if isinstance(value, str) and (len(value) > kept or value.startswith(PRUNED)) else value


@settings(max_examples=scaled(60), deadline=None)
@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4), st.sampled_from(PROVIDERS))
def test_any_arguments_keep_their_shape_and_the_list_stays_valid(arguments, provider):
    messages = session(provider, arguments=json.loads(json.dumps(arguments)), result=FILE)
    if "\ud800" in json.dumps(arguments, ensure_ascii=False):
        return  # a lone surrogate: no provider takes it, and a MessageError says so
    policy = replace(POLICIES["default"], prune=replace(POLICIES["default"].prune, argument_chars=80, min_tokens=1))
    cm = Compactor(MODEL, provider=provider, policy=policy)
    done = cm.compact(messages, target_tokens=max(total(messages, provider) // 3, 1))
    assert not validate(done.messages, provider=provider)
    if done.ref:
        assert json.dumps(cm.restore(done.ref)) == json.dumps(messages)
    if done.plan.zone() is None:
        assert kinds(arguments_of(provider, done.messages[1]), 80) == kinds(arguments_of(provider, messages[1]), 80)
