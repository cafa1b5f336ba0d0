"""What other projects' users reported, tried here: each is a small input of our own with the right value."""

from __future__ import annotations

import json
from typing import Any

import pytest
import test_formats_claude_code as claude_code
import test_formats_gemini_cli as gemini_cli
import test_formats_pi as pi

from trimtab import Usage, is_overflow, read

FULL = {"outputTokens": 10, "reasoningOutputTokens": 5, "totalTokens": 110}


@pytest.mark.parametrize("more", [FULL, {"outputTokens": 10}], ids=["total", "no total"])
def test_what_codexs_app_server_wrote_to_a_cache_is_no_plain_input(more: dict[str, int]) -> None:
    usage = {"inputTokens": 100, "cachedInputTokens": 40, "cacheWriteInputTokens": 30, **more}
    assert Usage.of(usage) == Usage(30, 10, 40, 30)
    snake = {"input_tokens": 100, "cached_input_tokens": 40, "cache_write_input_tokens": 30, "output_tokens": 10}
    assert Usage.of(snake) == Usage(30, 10, 40, 30)


def test_what_codex_read_from_a_cache_stays_so_beside_a_field_of_anthropics() -> None:
    usage = {"input_tokens": 26_701, "cache_creation_input_tokens": 0, "cached_input_tokens": 2_048}
    usage |= {"output_tokens": 283, "reasoning_output_tokens": 211, "total_tokens": 26_984}
    assert Usage.of(usage) == Usage(24_653, 283, 2_048)


def test_the_name_of_litellms_class_alone_is_an_overflow() -> None:
    assert is_overflow("litellm.BadRequestError: ContextWindowExceededError")
    assert not is_overflow("litellm.BadRequestError: BudgetExceededError")


def test_cursors_sdk_has_the_cache_among_its_input_tokens() -> None:
    usage = {"inputTokens": 46_965, "outputTokens": 3, "cacheReadTokens": 42_036, "cacheWriteTokens": 4_927}
    assert Usage.of(usage) == Usage(2, 3, 42_036, 4_927)


def test_a_claude_code_session_keeps_its_model_when_a_compaction_left_no_answer() -> None:
    lines: list[Any] = [
        claude_code.user("a", None, "go"),
        claude_code.says("b", "a", "m1", claude_code.text("hi"), model="claude-opus-4-5"),
        claude_code.says("c", "b", "m2", claude_code.text("hm"), model="claude-opus-4-6"),
        claude_code.boundary("d", "c"),
        claude_code.summary("e", "d"),
        claude_code.user("f", "e", "on"),
    ]
    found = claude_code.session(*lines)
    assert len(found.messages) == 2
    assert found.model == "claude-opus-4-6"


@pytest.mark.parametrize("named", ["answer", "change"])
def test_a_pi_session_keeps_its_model_when_a_compaction_left_no_answer(named: str) -> None:
    change = pi.entry("model_change", "d", "c", provider="p", modelId="m-3")
    last = [change] if named == "change" else []
    found = pi.session(
        pi.GO,
        pi.answer("c", "b", pi.text("hi"), prompt=100),
        *last,
        pi.entry("compaction", "e", last[0]["id"] if last else "c", summary="S", firstKeptEntryId="f", tokensBefore=9),
        pi.said("f", "e", "user", "on"),
    )
    assert len(found.messages) == 2
    assert found.model == ("m-3" if last else "m-2")


def test_a_gemini_cli_session_keeps_its_model_when_a_compression_left_no_answer() -> None:
    compressed = {"$set": {"messages": [gemini_cli.user("s", "short"), gemini_cli.user("3", "on")]}}
    found = gemini_cli.log(*gemini_cli.TURN, compressed)
    assert len(found.messages) == 2
    assert found.model == "g-1"


def test_a_message_of_pi_without_its_role_is_the_result_that_its_fields_say() -> None:
    """The call had been answered with a notice that the session was interrupted."""
    lost = pi.result("d", "c", "x", pi.text("X"))
    del lost["message"]["role"]
    found = read(
        "\n".join(json.dumps(line) for line in (pi.HEAD, pi.GO, pi.answer("c", "b", pi.call("x")), lost)).encode()
    )
    assert [(message["role"], message["content"]) for message in found.messages[-1:]] == [("tool", "X")]
    assert not found.skipped
