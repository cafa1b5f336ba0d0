"""What a provider would refuse about the parameters with which a request asks its server to compact."""

from __future__ import annotations

from typing import Any

import pytest

from codes import of_parameters
from support.models import CLAUDE_BOUND
from trimtab import validate
from trimtab.validity.parameters import CLEAR_RESULTS, CLEAR_THINKING, COMPACT, COMPACTING, EDITING, ON_DEMAND

HELLO = [{"role": "user", "content": "hello"}]
SIGNED = {"type": "compaction", "content": "so far", "signature": "s"}
CALL = {"type": "tool_use", "id": "t", "name": "Read", "input": {}}
UNSIGNED = {"type": "compaction", "content": "so far"}
BETAS = [EDITING, COMPACTING]
FLAGS = [*BETAS, ON_DEMAND]
BUDGET = {"task_budget": {"type": "tokens", "total": 90_000, "remaining": 40_000}}


def says(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": [*blocks]}]


def edits(*given: Any, **more: Any) -> dict[str, Any]:
    return {"context_management": {"edits": [*given]}, "betas": BETAS} | more


def trigger(kind: str, tokens: Any) -> dict[str, Any]:
    return {"type": kind, "trigger": {"type": "input_tokens", "value": tokens}}


def alone(**more: Any) -> dict[str, Any]:
    return {"compaction": {"type": "summarize"}, "betas": [ON_DEMAND]} | more


ANTHROPIC: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("edits_malformed", {"context_management": {"edits": {}}, "betas": BETAS}, HELLO),
    ("edits_malformed", {"context_management": {"edits": ["clear"]}, "betas": BETAS}, HELLO),
    ("unknown_edit", edits({"type": "clear_everything"}), HELLO),
    ("unknown_edit", edits({"type": ["clear"]}), HELLO),
    ("beta_required", edits({"type": CLEAR_RESULTS}, betas=[]), HELLO),
    ("beta_required", edits({"type": COMPACT}, betas=EDITING), HELLO),
    ("beta_required", alone(betas=[]), HELLO),
    ("edit_repeated", edits({"type": CLEAR_RESULTS}, {"type": CLEAR_RESULTS}), HELLO),
    ("trigger_too_low", edits(trigger(COMPACT, 49_999)), HELLO),
    ("trigger_too_low", edits(trigger(CLEAR_RESULTS, -1)), HELLO),
    ("trigger_too_low", edits(trigger(CLEAR_RESULTS, "many")), HELLO),
    ("trigger_too_low", edits({"type": CLEAR_RESULTS, "keep": 3}), HELLO),
    (
        "thinking_edit_not_first",
        edits({"type": CLEAR_RESULTS}, {"type": CLEAR_THINKING}, thinking={"type": "adaptive"}),
        HELLO,
    ),
    ("thinking_edit_without_thinking", edits({"type": CLEAR_THINKING}, model=CLAUDE_BOUND), HELLO),
    ("thinking_edit_without_thinking", edits({"type": CLEAR_THINKING}, thinking={"type": "disabled"}), HELLO),
    ("beta_required", edits({"type": CLEAR_RESULTS}, betas=EDITING), [*says(UNSIGNED), *HELLO]),
    ("beta_required", edits({"type": CLEAR_RESULTS}), [*says(SIGNED), *HELLO]),
    ("beta_required", {}, [*HELLO, *says({**UNSIGNED, "content": None}), *HELLO]),
    ("compaction_mixed", edits({"type": COMPACT}, betas=FLAGS), [*says(SIGNED), *HELLO]),
    ("compaction_mixed", {"betas": FLAGS}, [*says(SIGNED), *HELLO, *says(UNSIGNED), *HELLO]),
    ("signed_compaction_not_first", {"betas": FLAGS}, [*HELLO, *says(SIGNED), *HELLO]),
    ("compaction_type", alone(compaction={"type": "forget"}), HELLO),
    ("compaction_with_edits", alone(context_management={"edits": []}), HELLO),
    ("compaction_with_reply", alone(stop_sequences=["x"]), HELLO),
    ("compaction_with_reply", alone(tool_choice={"type": "any"}), HELLO),
    ("compaction_with_reply", alone(output_config={"format": {"type": "json_schema"}}), HELLO),
    ("compaction_with_reply", alone(output_config=BUDGET), HELLO),
    ("compaction_with_reply", {"betas": FLAGS, "output_config": BUDGET}, [*says(SIGNED), *HELLO]),
    ("compaction_open_call", alone(), [*HELLO, {"role": "assistant", "content": [CALL]}]),
]
OPENAI: list[tuple[str, dict[str, Any]]] = [
    ("edits_malformed", {"context_management": {"type": "compaction"}}),
    ("unknown_edit", {"context_management": [{"type": "forget"}]}),
    ("trigger_too_low", {"context_management": [{"type": "compaction", "compact_threshold": 999}]}),
]


@pytest.mark.parametrize(("code", "request_", "messages"), ANTHROPIC)
def test_each_error_of_anthropics_parameters(code: str, request_: dict[str, Any], messages: list[Any]) -> None:
    found = validate(messages, provider="anthropic", in_flight=True, request=request_)
    assert [problem.code for problem in found] == [code]
    assert found[0].path == "request"
    assert found[0].message
    assert found[0].fix


def test_a_signed_block_comes_first_in_its_message_too() -> None:
    found = validate([*says(UNSIGNED, SIGNED), *HELLO], provider="anthropic", request={"betas": FLAGS})
    assert [problem.code for problem in found] == ["signed_compaction_not_first", "compaction_mixed"]


@pytest.mark.parametrize(("code", "request_"), OPENAI)
def test_each_error_of_openais_parameters(code: str, request_: dict[str, Any]) -> None:
    found = validate(HELLO, provider="openai_responses", request=request_)
    assert [problem.code for problem in found] == [code]


@pytest.mark.parametrize("provider", ["openai_chat", "gemini", "bedrock"])
def test_other_providers_know_none(provider: Any) -> None:
    messages = {
        "gemini": [{"role": "user", "parts": [{"text": "hello"}]}],
        "bedrock": [{"role": "user", "content": [{"text": "hello"}]}],
    }
    request = {"context_management": {"edits": [{"type": COMPACT}]}}
    found = validate(messages.get(provider, HELLO), provider=provider, request=request)
    assert [problem.code for problem in found] == ["unknown_parameter"]


def test_every_code_has_a_case() -> None:
    given = of_parameters()
    assert given["anthropic"] == {code for code, *_ in ANTHROPIC}
    assert given["openai_responses"] == {code for code, _ in OPENAI}


@pytest.mark.parametrize(
    ("request_", "messages"),
    [
        ({}, HELLO),
        (edits({"type": CLEAR_THINKING, "keep": "all"}, {"type": CLEAR_RESULTS}, thinking={"type": "enabled"}), HELLO),
        (edits({"type": CLEAR_THINKING}), HELLO),  # thinking may be among the call's other keywords
        (edits(trigger(COMPACT, 50_000), betas=COMPACTING), HELLO),
        (edits({"type": CLEAR_RESULTS}, betas=(), extra_headers={"Anthropic-Beta": EDITING}), HELLO),
        (alone(), [*HELLO, {"role": "assistant", "content": "yes "}]),
        (edits({"type": CLEAR_THINKING, "keep": {"type": "all"}}), HELLO),
        (edits({"type": CLEAR_THINKING}, thinking={"type": "between_tools"}), HELLO),
        ({"context_management": {}}, HELLO),
        ({"betas": [ON_DEMAND]}, [*says(SIGNED), *HELLO]),
        ({"betas": [COMPACTING]}, [*says(UNSIGNED), *HELLO, *says(UNSIGNED), *HELLO]),  # the older one is ignored
        ({"betas": FLAGS}, [*says(SIGNED), *HELLO, *says({**UNSIGNED, "content": None}), *HELLO]),
    ],
)
def test_what_is_taken(request_: dict[str, Any], messages: list[Any]) -> None:
    assert validate(messages, provider="anthropic", request=request_) == []


def test_a_request_for_a_compaction_alone_may_end_with_the_assistant():
    asked = {"compaction": {"type": "summarize"}, "betas": ["compact-2026-09-04"]}
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "x "}]
    options = {"provider": "anthropic", "model": "claude-opus-5-5"}
    ends = {"prefill_unsupported", "final_assistant_whitespace"}
    assert {problem.code for problem in validate(messages, **options)} == ends
    assert validate(messages, request=asked, **options) == []
