"""``overflow``: a refused prompt gets smaller under every policy, and no other error changes anything."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

import trimtab
from support.models import CLAUDE
from trimtab.policies import POLICIES

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")

TPM = (
    "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 34022. The "
    "input or output tokens must be reduced in order to run successfully."
)


def talk(steps: int = 40, words: int = 400) -> list[Any]:
    """A session of tool calls: about ``words`` tokens a result."""
    messages: list[Any] = [{"role": "user", "content": "Fix the parser, and never touch LICENSE."}]
    for n in range(steps):
        call = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"cat file{n}.py"}}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": f"File {n}."}, call]})
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"line {n} of text " * (words // 8)}
        messages.append({"role": "user", "content": [result]})
    return messages


def chat(messages: list[Any]) -> list[Any]:
    """Return the messages in the shape of Chat Completions, without calls."""
    return [{"role": m["role"], "content": json.dumps(m["content"])} for m in messages]


def response(status: int, body: Any, url: str = "https://api.test/v1") -> httpx.Response:
    content = body if isinstance(body, str) else json.dumps(body)
    return httpx.Response(status, content=content, request=httpx.Request("POST", url))


def by_anthropic(status: int, text: str, kind: str = "invalid_request_error") -> Exception:
    body = {"type": "error", "error": {"type": kind, "message": text}}
    client = anthropic.Anthropic(api_key="k")
    error: Exception = client._make_status_error_from_response(response(status, body))
    return error


def by_openai(status: int, text: str, code: str | None = None, **more: Any) -> Exception:
    body = {"error": {"message": text, "type": "invalid_request_error", "param": "messages", "code": code, **more}}
    client = openai.OpenAI(api_key="k")
    error: Exception = client._make_status_error_from_response(response(status, body))
    return error


class BotocoreError(Exception):
    """boto3's ClientError by its documented attributes."""

    def __init__(self, code: str, text: str, status: int = 400) -> None:
        self.response = {
            "Error": {"Code": code, "Message": text},
            "ResponseMetadata": {"HTTPStatusCode": status},
        }
        super().__init__(f"An error occurred ({code}) when calling the Converse operation: {text}")


class GenaiError(Exception):
    """google-genai's APIError by its documented attributes."""

    def __init__(self, code: int, status: str, text: str) -> None:
        self.code, self.status, self.message = code, status, text
        self.details = {"error": {"code": code, "message": text, "status": status}}
        super().__init__(f"{code} {status}. {self.details}")


LLAMA = {
    "code": 400,
    "message": "the request exceeds the available context size, try increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 14429,
    "n_ctx": 8192,
}
MISTRAL = "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 9000 maximum context length"
XAI = "This model's maximum prompt length is 9000 but the request contains 21000 tokens."
OPENROUTER = (
    "This endpoint's maximum context length is 9000 tokens. However, you requested about 14000 tokens (13000 of text "
    "input, 1000 in the output). Please reduce the length of either one."
)
VLLM = (
    "This model's maximum context length is 9000 tokens. However, you requested 2048 output tokens and your prompt "
    "contains at least 10721 input tokens, for a total of at least 12769 tokens."
)
LM_STUDIO = (
    "Trying to keep the first 11490 tokens when context the overflows. However, the model is loaded with context "
    "length of only 9000 tokens, which is not enough."
)
GEMINI = "The input token count (12000) exceeds the maximum number of tokens allowed (9000)."

STATED: dict[str, tuple[Any, int]] = {
    "anthropic": (by_anthropic(400, "prompt is too long: 21346 tokens > 9000 maximum"), 9_000),
    "anthropic, with max_tokens": (
        by_anthropic(
            400, "input length and `max_tokens` exceed context limit: 8240 + 2133 > 9000, decrease input length"
        ),
        9_000,
    ),
    "openai": (
        by_openai(
            400,
            "This model's maximum context length is 9000 tokens. However, your messages resulted in 13308 tokens. "
            "Please reduce the length of the messages.",
            "context_length_exceeded",
        ),
        9_000,
    ),
    "xai": (by_openai(400, XAI), 9_000),
    "openrouter": (by_openai(400, OPENROUTER), 9_000),
    "vllm": (by_openai(400, VLLM), 9_000),
    "mistral, a body as text": (json.dumps({"object": "error", "message": MISTRAL, "code": "3051"}), 9_000),
    "llama.cpp, through openai": (by_openai(400, LLAMA["message"], **{k: LLAMA[k] for k in ("n_ctx", "type")}), 8_192),
    "llama.cpp, a body": ({"error": LLAMA}, 8_192),
    "llama.cpp, httpx": (
        httpx.HTTPStatusError(
            "400", request=httpx.Request("POST", "http://x"), response=response(400, {"error": LLAMA})
        ),
        8_192,
    ),
    "lm studio": (by_openai(400, LM_STUDIO), 9_000),
    "gemini": (GenaiError(400, "INVALID_ARGUMENT", GEMINI), 9_000),
    "bedrock": (
        BotocoreError("ValidationException", "The model returned: prompt is too long: 12049 tokens > 9000 maximum"),
        9_000,
    ),
}
UNSTATED: dict[str, Any] = {
    "openai responses": by_openai(
        400, "Your input exceeds the context window of this model.", "context_length_exceeded"
    ),
    "groq": by_openai(400, "Please reduce the length of the messages or completion.", "context_length_exceeded"),
    "bedrock": BotocoreError("ValidationException", "Input is too long for requested model."),
    "ollama": "the input length exceeds the context length",
    "lm studio": "The number of tokens to keep from the initial prompt is greater than the context length.",
}
OTHERS: dict[str, Any] = {
    "tokens per minute": by_openai(429, TPM, "rate_limit_exceeded", type="tokens"),
    "tokens per minute, a text": TPM,
    "groq's 413": by_openai(413, TPM.replace("min ", "minute "), "rate_limit_exceeded", type="tokens"),
    "anthropic's rate": by_anthropic(
        429, "This request would exceed the rate limit for your organization", "rate_limit_error"
    ),
    "overloaded": by_anthropic(529, "Overloaded", "overloaded_error"),
    "bedrock's rate": BotocoreError("ThrottlingException", "Too many tokens, please wait before trying again.", 429),
    "bedrock's rate, a text": "Too many tokens, please wait before trying again.",
    "gemini's rate": GenaiError(
        429, "RESOURCE_EXHAUSTED", "You exceeded your current quota: input_token_count, limit: 250000"
    ),
    "a wrong key": by_openai(401, "Incorrect API key provided: sk-abc", "invalid_api_key"),
    "an orphan": by_anthropic(400, "messages.0: `tool_use` ids were found without `tool_result` blocks"),
    "no error of a provider": KeyError("messages"),
    "nothing": None,
}


@pytest.mark.parametrize("name", sorted(STATED))
def test_overflow_reads_the_limit_of_each_provider(name: str) -> None:
    error, limit = STATED[name]
    cm, messages = trimtab.Compactor(CLAUDE), talk()
    assert 12_000 < cm.count(messages) < 20_000
    fitted = cm.overflow(error, messages)
    assert cm.window == limit
    assert cm.count(fitted.messages) < limit
    assert f"to {limit:,} tokens (the provider's limit)" in fitted.reason
    assert fitted.compaction is not None
    assert cm.restore(fitted.compaction.ref or "") == messages


@pytest.mark.parametrize("name", sorted(UNSTATED))
def test_overflow_without_a_stated_limit_lowers_the_window_by_its_own_count(name: str) -> None:
    cm, messages = trimtab.Compactor(CLAUDE), talk()
    before = cm.count(messages)
    fitted = cm.overflow(UNSTATED[name], messages)
    assert cm.window == before * 9 // 10
    assert cm.count(fitted.messages) < cm.window
    assert "the error states no limit; nine tenths of the refused prompt" in fitted.reason


def test_a_request_of_too_many_bytes_shrinks_and_the_window_stays() -> None:
    cm, messages = trimtab.Compactor(CLAUDE), talk()
    before = cm.count(messages)
    fitted = cm.overflow(by_anthropic(413, "Request exceeds the maximum size", "request_too_large"), messages)
    assert cm.window == 200_000
    assert cm.count(fitted.messages) < before // 2
    assert "too many bytes" in fitted.reason


def test_an_error_that_cannot_be_read_is_no_overflow() -> None:
    class OddError(Exception):
        @property
        def response(self) -> object:
            raise RuntimeError("not read")

        def __str__(self) -> str:
            raise RuntimeError("no text")

    assert not trimtab.is_overflow(OddError())
    with pytest.raises(ValueError, match="OddError"):
        trimtab.Compactor(CLAUDE).overflow(OddError(), talk(2))


def test_overflow_by_a_stated_excess_lowers_the_window_by_it() -> None:
    cm, messages = trimtab.Compactor(CLAUDE), talk()
    before = cm.count(messages)
    cm.overflow("prompt too long; exceeded max context length by 400 tokens", messages)
    assert cm.window == before - 400


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_overflow_refuses_any_other_error_and_changes_nothing(name: str) -> None:
    cm, messages = trimtab.Compactor(CLAUDE), talk(4)
    error = OTHERS[name]
    with pytest.raises(ValueError, match="says nothing about a prompt's length") as raised:
        cm.overflow(error, messages)
    assert raised.value.__cause__ is (error if isinstance(error, BaseException) else None)
    assert "sk-abc" not in str(raised.value)
    assert cm.window == 200_000
    assert cm.fit(messages).messages is messages
    assert not cm.history()


def test_a_rate_limit_is_no_overflow() -> None:
    assert not trimtab.is_overflow(OTHERS["tokens per minute"])
    assert not trimtab.is_overflow(TPM)
    assert not trimtab.is_overflow(OTHERS["groq's 413"])
    assert trimtab.is_overflow(by_anthropic(413, "Request exceeds the maximum size", "request_too_large"))


@pytest.mark.parametrize("window", [30_000, None])
@pytest.mark.parametrize("name", sorted(POLICIES))
def test_under_each_policy_an_overflow_shrinks_the_list(name: str, window: int | None) -> None:
    messages = talk(60)
    before = trimtab.count(messages, model=CLAUDE)
    for limit in (before // 2, before - 50):
        error = by_anthropic(400, f"prompt is too long: {before} tokens > {limit} maximum")
        cm = trimtab.Compactor(CLAUDE, policy=name, window=window)
        fitted = cm.overflow(error, messages, system="You are careful.")
        after = trimtab.count(fitted.messages, model=CLAUDE, system="You are careful.")
        assert after <= limit
        assert cm.window == min(limit, window or cm.window)
        assert not trimtab.validate(fitted.messages, provider="anthropic")
        assert any("never touch LICENSE" in json.dumps(m) for m in fitted.messages)

        at_the_moment = trimtab.Compactor(CLAUDE, policy=name, window=window)
        again = at_the_moment.fit(messages, when="on_overflow")
        assert trimtab.count(again.messages, model=CLAUDE) < before
        assert at_the_moment.window < (window or 200_000)
        assert again.reason
        assert not trimtab.validate(again.messages, provider="anthropic")


@pytest.mark.parametrize("name", sorted(POLICIES))
@pytest.mark.parametrize("words", [320, 360, 400])
def test_without_a_limit_a_list_that_can_get_a_little_smaller_does(name: str, words: int) -> None:
    """Nine tenths of the refused prompt are a guess: where what stays has more, any smaller list is handed out."""
    talked = [{"role": ("user", "assistant")[n % 2], "content": f"{n}: " + "some words " * 30} for n in range(6)]
    messages = [*talked, {"role": "user", "content": "The last request. " + "with many words " * 4 * words}]
    cm = trimtab.Compactor(CLAUDE, policy=name, window=12_000, max_output=1_500)
    before = trimtab.count(messages, model=CLAUDE)
    fitted = cm.fit(messages, when="on_overflow")
    after = trimtab.count(fitted.messages, model=CLAUDE)
    assert before * 9 // 10 < after < before
    assert after <= cm.window < before
    assert "one token less than the refused prompt" in fitted.reason
    assert fitted.messages[-1] is messages[-1]
    with pytest.raises(trimtab.OverflowedError, match="nine tenths of the refused prompt"):
        trimtab.Compactor(CLAUDE, policy=name).fit(messages[-1:], when="on_overflow")


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_each_refusal_more_makes_the_list_smaller_until_nothing_can_leave(name: str) -> None:
    cm, messages = trimtab.Compactor(CLAUDE, policy=name), talk(30)
    sizes = [cm.count(messages)]
    ended = ""
    while not ended:
        try:
            messages = list(cm.fit(messages, when="on_overflow").messages)
        except trimtab.OverflowedError as error:
            ended = str(error)
        else:
            sizes.append(trimtab.count(messages, model=CLAUDE))
    assert "too little can leave" in ended or "no room" in ended
    assert len(sizes) > 1
    assert sizes[1:] == sorted(set(sizes[1:]), reverse=True)


def test_what_cannot_leave_is_named() -> None:
    cm = trimtab.Compactor(CLAUDE)
    request = [{"role": "user", "content": "the whole file: " + "text and more " * 3_000}]
    error = by_anthropic(400, "prompt is too long: 9010 tokens > 5000 maximum")
    with pytest.raises(trimtab.OverflowedError, match=r"which stay, have 9,\d+ tokens") as raised:
        cm.overflow(error, request)
    assert raised.value.__cause__ is error
    with pytest.raises(trimtab.OverflowedError, match="16,005 for system and tools"):
        trimtab.Compactor(CLAUDE).overflow(error, talk(3), system="rules and more rules " * 4_000)


def test_a_hook_that_refuses_wins() -> None:
    cm = trimtab.Compactor(CLAUDE, pre_compact=lambda _: trimtab.Verdict(refuse="tests run"))
    messages = talk()
    with pytest.raises(trimtab.OverflowedError, match="refused: tests run"):
        cm.overflow("prompt is too long: 21346 tokens > 9000 maximum", messages)
    assert cm.window == 9_000


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_with_automatic_compaction_off_an_overflow_raises(name: str) -> None:
    policy = replace(POLICIES[name], trigger=replace(POLICIES[name].trigger, auto=False))
    cm = trimtab.Compactor(CLAUDE, policy=policy)
    window = cm.window
    with pytest.raises(trimtab.OverflowedError, match="automatic compaction is off"):
        cm.overflow("prompt is too long: 21346 tokens > 9000 maximum", talk())
    assert cm.window == window


def test_a_model_that_fails_does_not_keep_the_list_long() -> None:
    def fails(_: object) -> str:
        raise RuntimeError("down")

    for name in sorted(POLICIES):
        cm = trimtab.Compactor(CLAUDE, policy=name, summarizer=trimtab.summarize.Function(fails, limits=ONE))
        fitted = cm.overflow("prompt is too long: 21346 tokens > 9000 maximum", talk())
        assert trimtab.count(fitted.messages, model=CLAUDE) <= 9_000, name


ONE = trimtab.summarize.Limits(tries=1, seconds=None)


def test_other_shapes_and_the_awaited_form() -> None:
    messages = chat(talk())
    error = by_openai(400, XAI)
    cm = trimtab.Compactor("grok-4", window=128_000)
    fitted = asyncio.run(cm.aoverflow(error, messages))
    assert cm.count(fitted.messages) < 9_000
    assert not trimtab.validate(fitted.messages, provider="openai_chat")
    assert fitted.messages == trimtab.Compactor("grok-4", window=128_000).overflow(error, messages).messages


def test_a_prompt_that_is_counted_low_here_loses_what_was_too_many() -> None:
    """System text that ``overflow`` is not told of is in the provider's number alone."""
    messages = talk()
    own = trimtab.count(messages, model=CLAUDE)
    cm = trimtab.Compactor(CLAUDE, policy="agentpg")
    error = by_anthropic(400, f"prompt is too long: {own + 9_000} tokens > {own + 8_000} maximum")
    fitted = cm.overflow(error, messages)
    assert trimtab.count(fitted.messages, model=CLAUDE) <= own - 1_000


def test_the_next_calls_keep_below_the_lowered_window() -> None:
    for name in sorted(POLICIES):
        cm, messages = trimtab.Compactor(CLAUDE, policy=name), talk()
        messages = list(cm.overflow("prompt is too long: 21346 tokens > 9000 maximum", messages).messages)
        assert f"{9_000:>11,}" in cm.explain()
        assert "window=9000" in repr(cm)
        if "before_call" not in cm.policy.trigger.when or cm.policy.counter is not None:
            continue
        for step in range(40):
            messages.append({"role": "assistant", "content": f"Step {step}. " + "more words " * 150})
            messages.append({"role": "user", "content": "go on"})
            messages = list(cm.fit(messages).messages)
            assert trimtab.count(messages, model=CLAUDE) < 9_000
