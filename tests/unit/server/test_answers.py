"""What answers say of the server's part, and what refusals do."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types.beta import BetaMessage
from openai.types.responses import CompactedResponse

from support.models import CLAUDE_MILLION
from trimtab.server.answer import is_compacted, server_answer
from trimtab.server.refusal import refused, refuses_thinking

PASS = {"type": "compaction", "input_tokens": 900, "output_tokens": 40}
BLOCK = {"type": "compaction", "content": "so far", "signature": "sig"}


def message(**more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 9, "output_tokens": 9}
    known = {"id": "m", "type": "message", "role": "assistant", "model": CLAUDE_MILLION, "stop_reason": "end_turn"}
    return {**known, "stop_sequence": None, "content": [{"type": "text", "text": "ok"}], "usage": usage} | more


def test_a_usage_alone_is_no_answer() -> None:
    assert server_answer({"input_tokens": 9, "output_tokens": 9}) is None
    assert not is_compacted({"input_tokens": 9})
    assert is_compacted({"input_tokens": 9, "iterations": [PASS, {"type": "message", "input_tokens": 9}]})


@pytest.mark.parametrize("make", [dict, BetaMessage.model_validate])
def test_an_answer_with_a_compaction_in_front(make: Any) -> None:
    block = {"type": "compaction", "content": "so far"}
    usage = {"input_tokens": 9, "output_tokens": 9, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    told = {**PASS, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    made = message(content=[block, {"type": "text", "text": "ok"}], usage={**usage, "iterations": [told]})
    found = server_answer(make(made))
    assert found is not None
    assert found.compacted
    assert found.messages == ()
    assert found.text == "so far"
    assert [entry["input_tokens"] for entry in found.billed] == [900]


@pytest.mark.parametrize("make", [dict, BetaMessage.model_validate])
def test_a_compaction_alone_stands_for_messages(make: Any) -> None:
    found = server_answer(make(message(content=[BLOCK], stop_reason="compaction")))
    assert found is not None
    ((role, content),) = [(each["role"], each["content"]) for each in found.messages]
    assert role == "assistant"
    assert {name: value for name, value in content[0].items() if value is not None} == BLOCK


def test_a_compaction_without_content_has_failed() -> None:
    found = server_answer(message(content=[{"type": "compaction", "content": None}], stop_reason="compaction"))
    assert found is not None
    assert (found.compacted, found.failed, found.messages) == (False, True, ())


@pytest.mark.parametrize("make", [dict, lambda held: CompactedResponse.construct(**held)])
def test_the_answer_of_openai_stands_for_items(make: Any) -> None:
    user = {"type": "message", "id": "u", "role": "user", "status": "completed", "content": []}
    item = {"type": "compaction", "id": "c", "encrypted_content": "xyz"}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18, **details}
    known = {"id": "r", "object": "response.compaction", "created_at": 1, "usage": usage}
    found = server_answer(make({**known, "output": [user, item]}))
    assert found is not None
    assert [each["type"] for each in found.messages] == ["message", "compaction"]


def test_cleared_tokens_are_added_up() -> None:
    edits = [{"type": "clear_tool_uses_20250919", "cleared_input_tokens": n, "cleared_tool_uses": 1} for n in (5, 7)]
    found = server_answer(message(context_management={"applied_edits": edits}))
    assert found is not None
    assert (found.cleared, len(found.edits)) == (12, 2)
    assert (server_answer(message(context_management={"applied_edits": []})) or found).cleared == 0
    assert (server_answer(message()) or found).cleared is None


@pytest.mark.parametrize(
    "words",
    [
        "context_management: Extra inputs are not permitted",
        "compaction: Extra inputs are not permitted",
        "Unexpected value(s) `compact-2026-01-12` for the `anthropic-beta` header. Please consult our documentation",
        "context_management.edits.0.compact_20260112.trigger.value: Input should be greater than or equal to 50000",
        "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive",
        "Unknown parameter: 'context_management'.",
        "Unsupported parameter: 'context_management' is not supported with this model.",
        "Invalid input type 'compaction_trigger' at index 464",
        "this model does not support context management",
    ],
)
def test_refusals_of_the_parameters_are_known(words: str) -> None:
    assert refused({"type": "error", "error": {"type": "invalid_request_error", "message": words}})
    assert refused(f"Error code: 400 - {words}")


@pytest.mark.parametrize(
    "words",
    [
        "prompt is too long: 45735 tokens > 36000 maximum",
        "messages.3: `tool_use` ids must be unique",
        "Unexpected value(s) `effort-2025-11-24` for the `anthropic-beta` header.",
        "temperature: Extra inputs are not permitted",
        "",
    ],
)
def test_other_errors_are_not(words: str) -> None:
    assert not refused(words)


def test_a_refusal_of_thinking_is_about_that_alone() -> None:
    assert refuses_thinking("`clear_thinking_20251015` strategy requires `thinking` to be enabled")
    assert not refuses_thinking("context_management: Extra inputs are not permitted")


def test_the_status_decides_first() -> None:
    class SomeError(Exception):
        status_code = 529

    assert not refused(SomeError("context_management: Extra inputs are not permitted"))
