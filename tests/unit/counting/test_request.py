"""Whole requests: what stands beside the messages, pictures, and recorded charges."""

import base64
import json
import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from support.models import CLAUDE, CLAUDE_OPUS, GEMINI, GPT, GPT_SMALL, GPT_SPLIT
from support.transcripts import png
from trimtab import Compactor, Counter, Model, count, example
from trimtab.counting.tools import namespace, tagged

TOOL = {
    "name": "get_weather",
    "description": "The weather.\nOf a city.",
    "input_schema": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "where"},
            "days": {"type": "array", "items": {"type": "integer"}},
            "unit": {"enum": ["C", "F"], "default": "C"},
            "at": {"anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}]},
        },
        "required": ["city"],
        "$defs": {"place": {"type": "object", "properties": {"x": {"type": ["number", "string"]}, "y": 1}}},
    },
}
CHAT = {
    "type": "function",
    "function": {**{k: TOOL[k] for k in ("name", "description")}, "parameters": TOOL["input_schema"]},
}
SCHEMA = TOOL["input_schema"]
HI = [{"role": "user", "content": "hi"}]


def test_tools_are_written_as_the_models_read_them():
    written = json.dumps({"description": TOOL["description"], "name": TOOL["name"], "parameters": TOOL["input_schema"]})
    assert tagged(TOOL) == tagged(CHAT) == f"<function>{written}</function>\n"
    assert (
        tagged({**TOOL, "description": ""})
        == f"<function>{json.dumps({'name': TOOL['name'], 'parameters': TOOL['input_schema']})}</function>\n"
    )
    assert (
        namespace([CHAT])
        == namespace([TOOL])
        == (
            "# Tools\n\n## functions\n\nnamespace functions {\n\n"
            "// The weather.\n// Of a city.\ntype get_weather = (_: {\n"
            "// where\ncity: string,\ndays?: number[],\n"
            'unit?: "C" | "F", // default: C\nat?: {\nx?: number | string,\ny?: any,\n} | null,\n'
            "}) => any;\n\n} // namespace functions"
        )
    )
    parameters = {"description": TOOL["description"], "name": TOOL["name"]}
    for model in (GEMINI, CLAUDE_OPUS, GPT_SPLIT):
        flat = count(HI, model=model, tools=[TOOL])
        assert flat == count(HI, model=model, tools=[{"functionDeclarations": [parameters | {"parameters": SCHEMA}]}])
        for key in ("parametersJsonSchema", "parameters_json_schema"):
            assert flat == count(HI, model=model, tools=[{"functionDeclarations": [parameters | {key: SCHEMA}]}]), key
        spec = {"toolSpec": parameters | {"inputSchema": {"json": SCHEMA}}}
        assert flat == count(HI, model=model, tools=[spec]) == count(HI, model=model, tools={"tools": [spec]})
    circle = {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}
    assert "any" in namespace([{"name": "f", "parameters": circle}])


class Dumped:
    """A definition as an SDK has it: an object that gives its fields away."""

    def __init__(self, tool):
        self.tool = tool

    def model_dump(self, **_options):
        return self.tool


@pytest.mark.parametrize("policy", ["goat", "spec09", "sven", "opencode", "agentpg"])
def test_an_estimate_of_tools_is_the_same_in_every_shape(policy):
    parameters = {"name": TOOL["name"], "description": TOOL["description"]}
    spec = {"toolSpec": parameters | {"inputSchema": {"json": SCHEMA}}}
    shapes = [
        [TOOL],
        (TOOL,),
        [CHAT],
        [Dumped(TOOL)],
        [{"functionDeclarations": [parameters | {"parameters": SCHEMA}]}],
        [{"function_declarations": [parameters | {"parametersJsonSchema": SCHEMA}]}],
        [spec],
        {"tools": [spec]},
    ]
    cm = Compactor(CLAUDE, policy=policy, archive="memory")
    found = {cm.size(HI, tools=tools).terms.tools for tools in shapes}
    assert len(found) == 1
    assert found.pop() > 50
    assert all(cm.fit(HI, tools=tools).messages == HI for tools in shapes)


@pytest.mark.parametrize("model", [CLAUDE, "claude-opus-4-8", GPT_SMALL, GPT, GEMINI])
def test_a_request_is_its_messages_and_each_term_beside_them(model):
    prompt, counter = Model.named(model).prompt, Counter.for_model(model)
    alone = int(counter.per_message(HI, provider="anthropic").sum()) + prompt.opening
    assert count(HI, model=model) == alone
    system = counter.count("Be brief.") + (prompt.system if prompt.form == "framed" else 0)
    assert count(HI, model=model, system="Be brief.") == alone + system
    assert count(HI, model=model, system=[{"type": "text", "text": "Be brief."}]) == alone + system
    for thinking, more in (("enabled", prompt.enabled), ("adaptive", prompt.adaptive), ("disabled", 0)):
        assert count(HI, model=model, thinking={"type": thinking}) == alone + more
    assert count(HI, model=model, tools=[TOOL]) == count(HI, model=model, tools=(TOOL,)) > alone
    assert count(HI, model=model, tools=[]) == alone


def test_a_tool_that_has_to_be_called_costs_more_and_ends_thinking():
    model = CLAUDE
    free = count(HI, model=model, tools=[TOOL], tool_choice={"type": "auto"})
    forced = count(HI, model=model, tools=[TOOL], tool_choice={"type": "any"}, thinking={"type": "enabled"})
    assert forced - free == 588 - 496
    schema = {"type": "json_schema", "schema": {"type": "object"}}
    assert count(HI, model=model, output_config={"format": schema}) > count(HI, model=model) + 111
    assert (
        count(HI, model="claude-opus-4-7", output_config={"task_budget": {"total": 9}})
        == count(HI, model="claude-opus-4-7") + 36
    )


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        (CLAUDE_OPUS, 200, 200, 64),
        (CLAUDE_OPUS, 1000, 1000, 1_296),
        (CLAUDE_OPUS, 1092, 1092, 1_521),
        (CLAUDE_OPUS, 1920, 1080, 1_560),
        (CLAUDE_OPUS, 3840, 2160, 1_560),
        (CLAUDE_OPUS, 1075, 1520, 33 * 47),
        ("claude-opus-4-7", 200, 200, 64),
        ("claude-opus-5-5", 1920, 1080, 2_691),
        ("claude-opus-5-5", 3840, 2160, 4_784),
        (GPT_SMALL, 1024, 1024, 765),
        (GPT_SMALL, 2048, 4096, 1_105),
        ("o1", 1024, 1024, 75 + 4 * 150),
        ("gpt-4.1-mini", 1024, 1024, math.ceil(1_024 * 1.62)),
        ("gpt-4.1-nano", 1800, 2400, math.ceil(1_452 * 2.46)),
        ("o4-mini", 1800, 2400, math.ceil(1_452 * 1.72)),
    ],
)
def test_documented_pictures_cost_what_the_documentation_says(model, width, height, tokens):
    source = {"type": "base64", "media_type": "image/png", "data": png(width, height)}
    one = [{"role": "user", "content": [{"type": "image", "source": source}]}]
    frame = count([{"role": "user", "content": [{"type": "text", "text": ""}]}], model=model)
    assert count(one, model=model) - frame == tokens
    if model.startswith("claude"):
        assert oracle.patches(width, height, Model.named(model).prompt.images) == tokens


@settings(max_examples=50)
@given(st.integers(1, 9_000), st.integers(1, 9_000))
def test_a_picture_of_any_size_has_the_patches_of_the_documented_formula(width, height):
    source = {"type": "base64", "media_type": "image/png", "data": png(width, height)}
    frame = count([{"role": "user", "content": [{"type": "text", "text": ""}]}], model="gpt-5.4")
    for model, most in (("gpt-5-mini", 1_536), ("gpt-5.4", 2_500)):
        tokens = count([{"role": "user", "content": [{"type": "image", "source": source}]}], model=model) - frame
        assert tokens == math.ceil(oracle.covering(width, height, most) * 1_200 / 1_000)


def test_a_picture_of_low_detail_costs_the_base_where_there_is_such_a_thing():
    url = "data:image/png;base64," + png(2048, 4096)
    for model, low in (
        (GPT_SMALL, 85),
        (GPT_SPLIT, 70),
        (GPT, None),
        ("gpt-4o-mini", 2_833),
        (CLAUDE_OPUS, None),
    ):
        frame = count([{"role": "user", "content": [{"type": "text", "text": ""}]}], model=model)
        chat, whole = ({"type": "image_url", "image_url": {"url": url, "detail": d}} for d in ("low", "high"))
        responses = {"type": "input_image", "image_url": url, "detail": "low"}
        costs = [count([{"role": "user", "content": [part]}], model=model) - frame for part in (chat, whole, responses)]
        assert costs[0] == costs[2] == (low or costs[1])
        assert costs[1] > (low or 0)


def test_arguments_that_are_a_text_of_json_are_sent_as_parameters():
    arguments = {"path": "a.py", "lines": [1, 2], "deep": {"é": None}}
    call = {"type": "tool_use", "id": "1", "name": "Read", "input": arguments}
    written = {
        "id": "1",
        "type": "function",
        "function": {"name": "Read", "arguments": json.dumps(arguments, indent=1)},
    }
    item = {"type": "function_call", "call_id": "1", "name": "Read", "arguments": json.dumps(arguments)}
    model = CLAUDE
    anthropic = int(Counter.for_model(model).per_message([{"role": "assistant", "content": [call]}])[0])
    chat = [{"role": "assistant", "content": None, "tool_calls": [written]}]
    assert int(Counter.for_model(model).per_message(chat)[0]) == anthropic
    assert int(Counter.for_model(model).per_message([item])[0]) == anthropic
    for broken in ("{", '{"a": 1} and more', "[1]", ""):
        said = [{**chat[0], "tool_calls": [{**written, "function": {"name": "Read", "arguments": broken}}]}]
        assert int(Counter.for_model(model).per_message(said)[0]) > 0


def test_a_document_costs_its_pages():
    file = b"%PDF-1.4\n1 0 obj << /Type /Pages /Kids [] /Count 7 >> endobj" + b"\n" * 200_000
    source = {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(file).decode()}
    one = [{"role": "user", "content": [{"type": "document", "source": source}]}]
    frame = count([{"role": "user", "content": [{"type": "text", "text": ""}]}], model="claude-opus-5")
    assert count(one, model="claude-opus-5") - frame == 7 * 2_300


def test_base64_inside_a_text_is_text():
    data = png(900, 900)
    said = [{"role": "user", "content": data}]
    assert count(said, model=CLAUDE_OPUS) > Counter("claude-old").count(data) > len(data) // 8


@pytest.mark.shared
def test_counts_are_what_providers_charged(shared):
    script = shared / "tools" / "score_counts.py"
    done = subprocess.run([sys.executable, script, "--json"], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    sessions = report.pop("sessions")
    assert report["claude-old/delta"]["median"] <= 0.5
    assert report["claude-old/delta"]["within_3"] >= 80
    assert report["claude-new/delta"]["p95"] <= 1
    assert report["claude-new/delta_minus_output"]["median"] <= 1
    assert report["openai/delta_minus_output"]["median"] <= 0.1
    assert report["openai/delta_minus_output"]["p95"] <= 2.5
    assert max(report[f"{name}/usage"]["median"] for name in ("claude-old", "claude-new")) <= 1
    assert report["openai/usage"]["median"] <= 3
    assert all(sessions[f"{name}/delta"]["max"] <= 5 for name in ("claude-old", "claude-new"))
    assert all(row["median"] <= 2 for row in sessions.values())


def test_a_session_file_is_counted_whole():
    session = example()
    assert count(session.messages, model=CLAUDE) > 10_000


def test_system_text_counts_the_same_in_each_form_that_a_request_takes() -> None:
    text = 'Line: use "quotes" and\n\ttabs.\n' * 50
    forms = [text, [text], [{"type": "text", "text": text}], {"parts": [{"text": text}]}, {"content": text}]
    forms += [[{"text": text}, {"cachePoint": {"type": "default"}}], ({"text": text},)]
    for model in (CLAUDE, GPT):
        assert len({count(HI, model=model, system=system) for system in forms}) == 1
    other = {"type": "image", "url": "x"}
    assert count(HI, model=CLAUDE, system=[text, other]) > count(HI, model=CLAUDE, system=text)


def test_tools_that_can_be_read_once_count_as_their_list() -> None:
    listed = count(HI, model=CLAUDE, tools=[TOOL])
    session = Compactor(CLAUDE).session()
    for tools in ((TOOL,), iter([TOOL]), (tool for tool in [TOOL]), {"a": TOOL}.values(), TOOL):
        assert count(HI, model=CLAUDE, tools=tools) == listed
    assert session.fit(HI, tools=iter([TOOL])).request["tools"] == [TOOL]
    assert session.count(HI, tools=iter([TOOL])) == session.count(HI, tools=[TOOL])
    assert session.budget(tools=iter([TOOL])) == session.budget(tools=[TOOL])


@pytest.mark.parametrize("tools", ["bash", b"bash", 5, 0.5, True, ["bash"], [TOOL, None]])
def test_tools_that_cannot_be_tools_are_an_error_that_names_them(tools: object) -> None:
    for call in (lambda: count(HI, model=CLAUDE, tools=tools), lambda: Compactor(CLAUDE).fit(HI, tools=tools)):
        with pytest.raises(TypeError, match=r"^tools(\[\d\])? must be a tool definition"):
            call()
