"""Refusals in the words of servers whose errors agents did not recognize: what was sent is no limit."""

from __future__ import annotations

import time
from typing import Any

import pytest
from test_overflow import CLAUDE, talk

import trimtab
from trimtab import is_overflow
from trimtab.session.overflow import Refusal, refusal

STATED: dict[str, tuple[str, int | None, int | None]] = {
    "poolside": ("Input length 9500 exceeds the maximum allowed input length of 9000 tokens.", 9_000, 500),
    "in parentheses": ("Input length (9500) exceeds model's maximum context length (9000).", 9_000, 500),
    "volcengine": ("Input length 9500 exceeds the maximum length 9000", 9_000, 500),
    "workers ai": (
        "Input and maximum output tokens (9500) exceeded this model context window limit (9000).",
        9_000,
        500,
    ),
    "bedrock's openai endpoint": ("prompt tokens (9500) exceed model maximum (9000) for openai.gpt-5.5", 9_000, 500),
    "azure": (
        "Input tokens exceed the configured limit of 9000 tokens. Your messages resulted in 9500 tokens.",
        9_000,
        500,
    ),
    "vllm, prompt and answer": (
        "You passed 8400 input tokens and requested 1100 output tokens. Maximum context length is only 9000 tokens.",
        9_000,
        500,
    ),
    "dashscope": ("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 9000]", 9_000, None),
    "perplexity": ("The total length of all messages is too long.", None, None),
    "volcengine, pictures": ("Total tokens of image and text exceed max message tokens", None, None),
    "only what was sent": ("Input length 9500 exceeds the maximum length", None, None),
    "a limit of nothing": ("prompt is too long: 9500 tokens > 0 maximum", None, None),
    "ds4": ("Prompt has 9,500 tokens, but the configured context size is 9,000 tokens", 9_000, 500),
    "vllm's characters": (
        "This model's maximum context length is 9000 tokens. However, your prompt contains 77409 characters.",
        9_000,
        None,
    ),
}


@pytest.mark.parametrize("name", STATED)
def test_a_refusal_states_the_limit_and_not_what_was_sent(name: str) -> None:
    text, limit, over = STATED[name]
    for error in (text, {"error": {"code": 400, "message": text}}):
        assert refusal(error) == Refusal(limit, over)


@pytest.mark.parametrize("name", [name for name, (_, limit, _) in STATED.items() if limit])
def test_the_prompt_after_such_a_refusal_is_below_the_limit(name: str) -> None:
    """The number that was sent became the window: the next prompt was refused again."""
    cm, messages = trimtab.Compactor(CLAUDE), talk()
    fitted = cm.overflow(STATED[name][0], messages)
    assert cm.window == 9_000
    assert cm.count(fitted.messages) < 9_000


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_that_no_call_can_keep_to_states_nothing(limit: int) -> None:
    """A limit of 0 was a ``ValueError`` about the window."""
    words = "the request exceeds the available context size"
    tokens = {"error": {"message": words, "type": "exceed_context_size_error", "n_ctx": limit}}
    size = {"type": "entity.too.large", "limit": limit, "status": 413}
    assert refusal(tokens) == Refusal()
    assert refusal(size) == Refusal(by_bytes=True)
    messages = talk()
    for error in (f"prompt is too long: 9500 tokens > {limit} maximum", tokens, size):
        fitted = trimtab.Compactor(CLAUDE).overflow(error, messages)
        assert 0 < trimtab.count(fitted.messages, model=CLAUDE) < trimtab.count(messages, model=CLAUDE)


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"error_code": "invalid_reasoning_effort", "param": "reasoning.effort", "message": ""}},
        "Prefill would take 15.3 GB, but the ceiling is 13.5 GB. Try a shorter prompt or reduce context length.",
        "Too many tokens per day, please wait before trying again.",
        "Range of max_tokens should be [1, 65536]",
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
        "Your tokens (9500) exceed your quota (9000)",
    ],
    ids=["effort", "memory", "tokens a day", "range of the answer", "answer", "quota"],
)
def test_other_refusals_that_speak_of_lengths_are_no_overflow(error: Any) -> None:
    assert not is_overflow(error)


@pytest.mark.parametrize(
    "text",
    [
        "prompt is too long: " + "1" * 19_000 + " tokens > 9000 maximum",
        "prompt is too long " + "1," * 9_000,
        "prompt is too long " + "1 tokens " * 2_000,
        "413 request too large > " + "9" * 19_000,
    ],
    ids=["digits", "commas", "words", "bytes"],
)
def test_an_error_of_endless_digits_is_read_at_once(text: str) -> None:
    """They raised ``ValueError`` and ``OverflowError``, and took seconds."""
    start = time.perf_counter()
    assert refusal(text).limit in {None, 9_000}
    assert time.perf_counter() - start < 2
