"""Who sends which usage: its fields, and what each sender's prompt tokens hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Sender:
    """The fields of a usage, by their paths, and what its prompt tokens hold.

    Attributes:
        names: who sends such a usage.
        prompt: the prompt's tokens.
        cache: whether cache reads and writes are among these: ``either`` where they are no more than these.
        read: tokens read from a cache, wherever the sender puts them.
        write: tokens written to a cache.
        output: tokens of the answer.
        thought: tokens of thinking.
        thinks_beside: whether those of thinking are beside the answer's; the total may say so too.
        aside: tokens that the total holds, and neither the prompt nor the answer.
        total: tokens of prompt and answer.
        kept: written tokens by the time for which they are kept: those written are at least their sum.
        hourly: written tokens that are kept for an hour.
        marks: fields of which a usage has one where it is this sender's; none, and the prompt's tokens alone say so.
    """

    names: str
    prompt: str
    cache: Literal["inside", "outside", "either"]
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    thought: tuple[str, ...] = ()
    thinks_beside: bool = False
    aside: tuple[str, ...] = ()
    total: tuple[str, ...] = ()
    hourly: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


_CHAT: dict[str, Any] = {
    "prompt": "prompt_tokens",
    "cache": "inside",
    "output": ("completion_tokens",),
    "thought": ("completion_tokens_details.reasoning_tokens", "reasoning_tokens"),
    "total": ("total_tokens",),
    "hourly": ("prompt_tokens_details.cache_creation_token_details.ephemeral_1h_input_tokens",),
}
_INPUT: dict[str, Any] = {
    "prompt": "input_tokens",
    "output": ("output_tokens",),
    "thought": ("output_tokens_details.reasoning_tokens", "reasoning_output_tokens"),
    "total": ("total_tokens",),
}
_DETAILS, _DETAIL = "prompt_tokens_details", "input_token_details"

SENDERS: tuple[Sender, ...] = (
    Sender(
        "LiteLLM, MiniMax",
        marks=("cache_read_input_tokens", "cache_creation_input_tokens"),
        read=("cache_read_input_tokens",),
        write=("cache_creation_input_tokens",),
        **_CHAT,
    ),
    Sender("DeepSeek", marks=("prompt_cache_hit_tokens",), read=("prompt_cache_hit_tokens",), **_CHAT),
    Sender(
        "xAI's SDK",
        marks=("cached_prompt_text_tokens",),
        read=("cached_prompt_text_tokens",),
        **_CHAT | {"thinks_beside": True},
    ),
    Sender("llama.cpp", marks=("cache_n", "timings.cache_n"), read=("cache_n", "timings.cache_n"), **_CHAT),
    Sender(
        "OpenAI Chat, OpenRouter, Mistral, vLLM, xAI's endpoint",
        read=(f"{_DETAILS}.cached_tokens", "cached_tokens", "num_cached_tokens"),
        write=(f"{_DETAILS}.cache_write_tokens", f"{_DETAILS}.cache_creation_tokens"),
        **_CHAT,
    ),
    Sender(
        "Codex",
        cache="inside",
        marks=("cached_input_tokens",),
        read=("cached_input_tokens",),
        write=("cache_write_input_tokens", "cache_creation_input_tokens"),
        **_INPUT,
    ),
    Sender(
        "Anthropic",
        cache="outside",
        marks=("cache_read_input_tokens", "cache_creation_input_tokens"),
        read=("cache_read_input_tokens",),
        write=("cache_creation_input_tokens",),
        hourly=("cache_creation.ephemeral_1h_input_tokens",),
        **_INPUT,
    ),
    Sender(
        "LangChain",
        cache="inside",
        marks=(_DETAIL,),
        read=(f"{_DETAIL}.cache_read",),
        write=(f"{_DETAIL}.cache_creation",),
        kept=(f"{_DETAIL}.ephemeral_5m_input_tokens", f"{_DETAIL}.ephemeral_1h_input_tokens"),
        hourly=(f"{_DETAIL}.ephemeral_1h_input_tokens",),
        **_INPUT,
    ),
    Sender(
        "pydantic-ai",
        cache="inside",
        marks=("cache_read_tokens", "cache_write_tokens"),
        read=("cache_read_tokens",),
        write=("cache_write_tokens",),
        hourly=("cache_write_1h_tokens",),
        **_INPUT,
    ),
    Sender(
        "Inspect",
        cache="outside",
        marks=("input_tokens_cache_read", "input_tokens_cache_write"),
        read=("input_tokens_cache_read",),
        write=("input_tokens_cache_write",),
        **_INPUT,
    ),
    Sender(
        "OpenAI Responses, openai-agents",
        cache="inside",
        read=("input_tokens_details.cached_tokens",),
        write=("input_tokens_details.cache_write_tokens",),
        **_INPUT,
    ),
    Sender(
        "AI SDK, of a provider",
        "inputTokens.total",
        "inside",
        read=("inputTokens.cacheRead",),
        write=("inputTokens.cacheWrite",),
        output=("outputTokens.total",),
    ),
    Sender(
        "AI SDK 6",
        "inputTokens",
        "inside",
        marks=("inputTokenDetails",),
        read=("inputTokenDetails.cacheReadTokens",),
        write=("inputTokenDetails.cacheWriteTokens",),
        output=("outputTokens",),
        total=("totalTokens",),
    ),
    Sender(
        "AI SDK 5, Codex's app server, Cursor's SDK",
        "inputTokens",
        "either",
        marks=("cachedInputTokens", "cacheReadTokens"),
        read=("cachedInputTokens", "cacheReadTokens"),
        write=("cacheWriteInputTokens", "cacheWriteTokens"),
        output=("outputTokens",),
        thought=("reasoningTokens",),
        total=("totalTokens",),
    ),
    Sender(
        "AI SDK 4",
        "promptTokens",
        "either",
        read=("cachedPromptTokens",),
        output=("completionTokens",),
        total=("totalTokens",),
    ),
    Sender(
        "Bedrock, strands",
        "inputTokens",
        "outside",
        read=("cacheReadInputTokens", "cacheReadInputTokenCount"),
        write=("cacheWriteInputTokens", "cacheWriteInputTokenCount"),
        hourly=("cacheDetails.1h.inputTokens",),
        output=("outputTokens",),
        total=("totalTokens",),
    ),
    Sender(
        "Bedrock's metrics of InvokeModel",
        "inputTokenCount",
        "outside",
        read=("cacheReadInputTokenCount",),
        write=("cacheWriteInputTokenCount",),
        output=("outputTokenCount",),
    ),
    Sender(
        "Agent Framework",
        "input_token_count",
        "either",
        read=("cache_read_input_token_count",),
        write=("cache_creation_input_token_count",),
        output=("output_token_count",),
        thought=("reasoning_output_token_count",),
        total=("total_token_count",),
    ),
    Sender(
        "Gemini's SDK",
        "prompt_token_count",
        "inside",
        read=("cached_content_token_count",),
        output=("candidates_token_count", "response_token_count"),
        thought=("thoughts_token_count",),
        thinks_beside=True,
        aside=("tool_use_prompt_token_count",),
        total=("total_token_count",),
    ),
    Sender(
        "Gemini",
        "promptTokenCount",
        "inside",
        read=("cachedContentTokenCount",),
        output=("candidatesTokenCount", "responseTokenCount"),
        thought=("thoughtsTokenCount",),
        thinks_beside=True,
        aside=("toolUsePromptTokenCount",),
        total=("totalTokenCount",),
    ),
    Sender(
        "Gemini's interactions",
        "total_input_tokens",
        "inside",
        read=("total_cached_tokens",),
        output=("total_output_tokens",),
        thought=("total_thought_tokens",),
        thinks_beside=True,
        aside=("total_tool_use_tokens",),
        total=("total_tokens",),
    ),
    Sender("Ollama", "prompt_eval_count", "inside", output=("eval_count",)),
    Sender(
        "Cohere",
        "tokens.input_tokens",
        "inside",
        read=("cached_tokens",),
        output=("tokens.output_tokens",),
    ),
    Sender("llama.cpp's timings", "prompt_n", "outside", read=("cache_n",), output=("predicted_n",)),
    Sender(
        "opencode",
        "input",
        "outside",
        marks=("cache", "reasoning"),
        read=("cache.read",),
        write=("cache.write",),
        output=("output",),
        thought=("reasoning",),
        thinks_beside=True,
        total=("total",),
    ),
    Sender(
        "pi",
        "input",
        "outside",
        marks=("cacheRead", "cacheWrite", "totalTokens"),
        read=("cacheRead",),
        write=("cacheWrite",),
        output=("output",),
        total=("totalTokens",),
    ),
    Sender(
        "Gemini CLI",
        "input",
        "inside",
        marks=("cached", "thoughts", "tool"),
        read=("cached",),
        output=("output",),
        thought=("thoughts",),
        thinks_beside=True,
        aside=("tool",),
        total=("total",),
    ),
    Sender(
        "trimtab",
        "input",
        "outside",
        read=("cache_read",),
        write=("cache_write",),
        output=("output",),
        hourly=("hourly",),
    ),
)
"""Each sender's usage; the first one whose fields a usage has, with more than 0 prompt tokens, is its sender."""
