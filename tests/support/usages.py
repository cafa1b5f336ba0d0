"""One call's usage as each sender writes it, of the real class where its package is installed.

The call has a prompt of 50,000 tokens, of which a cache gave 49,000 and took 500, and an answer of 100, 90 of thinking.
A sender that says less has the value of that field in ``lacks``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

PROMPT, READ, WRITTEN, ANSWER, THOUGHT = 50_000, 49_000, 500, 100, 90


@dataclass(frozen=True)
class Sample:
    """A sender's usage: as plain dicts, and of its package's own class."""

    sender: str
    plain: dict[str, Any]
    package: str = ""
    make: Callable[[], Any] | None = None
    read: int = READ
    written: int = WRITTEN
    output: int = ANSWER

    @property
    def is_installed(self) -> bool:
        """Whether the package can be imported."""
        try:
            return self.make is not None and find_spec(MODULES.get(self.package, self.package)) is not None
        except ModuleNotFoundError:
            return False


MODULES = {
    "google-genai": "google.genai",
    "langchain-core": "langchain_core",
    "pydantic-ai-slim": "pydantic_ai",
    "openai-agents": "agents",
    "strands-agents": "strands",
    "xai-sdk": "xai_sdk",
    "inspect-ai": "inspect_ai",
}

ANTHROPIC = {
    "input_tokens": 500,
    "cache_read_input_tokens": 49_000,
    "cache_creation_input_tokens": 500,
    "output_tokens": 100,
}
CHAT = {"prompt_tokens": 50_000, "completion_tokens": 100, "total_tokens": 50_100}
THINKS = {"completion_tokens_details": {"reasoning_tokens": 90}}
RESPONSES = {
    "input_tokens": 50_000,
    "input_tokens_details": {"cached_tokens": 49_000, "cache_write_tokens": 500},
    "output_tokens": 100,
    "output_tokens_details": {"reasoning_tokens": 90},
    "total_tokens": 50_100,
}
TOP = {"cache_read_input_tokens": 49_000, "cache_creation_input_tokens": 500}
DETAILS = {"prompt_tokens_details": {"cached_tokens": 49_000}}
GEMINI = {
    "promptTokenCount": 50_000,
    "cachedContentTokenCount": 49_000,
    "candidatesTokenCount": 10,
    "thoughtsTokenCount": 90,
    "toolUsePromptTokenCount": 700,
    "totalTokenCount": 50_800,
}
CONVERSE = {
    "inputTokens": 500,
    "outputTokens": 100,
    "totalTokens": 50_100,
    "cacheReadInputTokens": 49_000,
    "cacheWriteInputTokens": 500,
}


def _anthropic() -> Any:
    from anthropic.types import Usage

    return Usage(**ANTHROPIC)


def _chat(**more: Any) -> Callable[[], Any]:
    def make() -> Any:
        from openai.types import CompletionUsage

        return CompletionUsage.model_validate({**CHAT, **THINKS, **more})

    return make


def _responses() -> Any:
    from openai.types.responses import ResponseUsage

    return ResponseUsage.model_validate(RESPONSES)


def _gemini() -> Any:
    from google.genai.types import GenerateContentResponseUsageMetadata

    return GenerateContentResponseUsageMetadata.model_validate(GEMINI)


def _converse() -> Any:
    """What boto3 makes of a response: its parser drops the fields that its release does not know."""
    import json

    from botocore.loaders import Loader
    from botocore.model import ServiceModel
    from botocore.parsers import create_parser

    shape = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2")).shape_for("ConverseResponse")
    body = json.dumps({"usage": CONVERSE}).encode()
    return create_parser("rest-json").parse({"body": body, "headers": {}, "status_code": 200}, shape)["usage"]


def _litellm() -> Any:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig

    return AnthropicConfig().calculate_usage(ANTHROPIC, None)


def _langchain() -> Any:
    from langchain_core.messages import AIMessage

    return AIMessage("", usage_metadata=LANGCHAIN).usage_metadata


def _pydantic_ai() -> Any:
    from pydantic_ai.usage import RequestUsage

    return RequestUsage(**PYDANTIC_AI)


def _inspect() -> Any:
    from inspect_ai.model import ModelUsage

    return ModelUsage(**INSPECT)


def _agents() -> Any:
    from agents.usage import deserialize_usage

    return deserialize_usage({**RESPONSES, "requests": 1})


def _agents_run() -> Any:
    from agents.usage import Usage, deserialize_usage

    run = Usage()
    run.add(deserialize_usage({"requests": 1, "input_tokens": 49_000, "output_tokens": 40, "total_tokens": 49_040}))
    run.add(_agents())
    return run


def _strands(module: str, kind: str, data: Callable[[], Any]) -> Callable[[], Any]:
    def make() -> Any:
        from importlib import import_module

        model = getattr(import_module(f"strands.models.{module}"), kind)
        made = model.__new__(model)
        event = {"chunk_type": "metadata", "data": data()} if module == "openai" else data()
        return made.format_chunk(event)["metadata"]["usage"]

    return make


def _mistral() -> Any:
    from mistralai.client.models import UsageInfo

    return UsageInfo.model_validate({**CHAT, "num_cached_tokens": 49_000})


def _xai() -> Any:
    from xai_sdk.proto import usage_pb2

    return usage_pb2.SamplingUsage(**XAI)


def _ollama() -> Any:
    from ollama import ChatResponse

    return ChatResponse.model_validate({**OLLAMA, "message": {"role": "assistant", "content": ""}})


def _cohere() -> Any:
    from cohere import Usage

    return Usage.model_validate(COHERE)


PYDANTIC_AI: dict[str, Any] = {
    "input_tokens": 50_000,
    "cache_read_tokens": 49_000,
    "cache_write_tokens": 500,
    "output_tokens": 100,
}
INSPECT = {
    "input_tokens": 500,
    "input_tokens_cache_read": 49_000,
    "input_tokens_cache_write": 500,
    "output_tokens": 100,
    "reasoning_tokens": 90,
    "total_tokens": 50_100,
}
FRAMEWORK = {
    "input_token_count": 50_000,
    "cache_read_input_token_count": 49_000,
    "cache_creation_input_token_count": 500,
    "output_token_count": 100,
    "total_token_count": 50_100,
}
INVOKE = {
    "inputTokenCount": 500,
    "cacheReadInputTokenCount": 49_000,
    "cacheWriteInputTokenCount": 500,
    "outputTokenCount": 100,
}
LANGCHAIN: Any = {
    "input_tokens": 50_000,
    "output_tokens": 100,
    "total_tokens": 50_100,
    "input_token_details": {"cache_read": 49_000, "cache_creation": 500},
    "output_token_details": {"reasoning": 90},
}
XAI = {
    "prompt_tokens": 50_000,
    "cached_prompt_text_tokens": 49_000,
    "completion_tokens": 10,
    "reasoning_tokens": 90,
    "total_tokens": 50_100,
}
OLLAMA = {"prompt_eval_count": 50_000, "eval_count": 100}
COHERE = {
    "billed_units": {"input_tokens": 49_500.0, "output_tokens": 100.0},
    "tokens": {"input_tokens": 50_000.0, "output_tokens": 100.0},
    "cached_tokens": 49_000.0,
}
STRANDS = {**CONVERSE, "inputTokens": 50_000, "cacheReadInputTokens": 49_000}
STRANDS.pop("cacheWriteInputTokens")

SAMPLES = (
    Sample("Anthropic", ANTHROPIC, "anthropic", _anthropic),
    Sample("OpenAI Chat", {**CHAT, **THINKS, **DETAILS}, "openai", _chat(**DETAILS), written=0),
    Sample("OpenAI Responses", RESPONSES, "openai", _responses),
    Sample("Gemini", GEMINI, "google-genai", _gemini, written=0),
    Sample("Bedrock", CONVERSE, "botocore", _converse),
    Sample("LiteLLM", {**CHAT, **TOP, **DETAILS}, "litellm", _litellm),
    Sample("MiniMax", {**CHAT, **TOP}),
    Sample("LangChain", LANGCHAIN, "langchain-core", _langchain),
    Sample("pydantic-ai", PYDANTIC_AI, "pydantic-ai-slim", _pydantic_ai),
    Sample("Inspect", INSPECT, "inspect-ai", _inspect),
    Sample("Agent Framework", FRAMEWORK),
    Sample("Bedrock, InvokeModel", INVOKE),
    Sample("openai-agents", {**RESPONSES, "requests": 1}, "openai-agents", _agents),
    Sample(
        "openai-agents, a run",
        {"requests": 2, "input_tokens": 99_000, "output_tokens": 140, "request_usage_entries": [{}, RESPONSES]},
        "openai-agents",
        _agents_run,
    ),
    Sample(
        "strands, OpenAI",
        STRANDS,
        "strands-agents",
        _strands("openai", "OpenAIModel", _chat(**DETAILS)),
        written=0,
    ),
    Sample(
        "strands, Anthropic",
        CONVERSE,
        "strands-agents",
        _strands("anthropic", "AnthropicModel", lambda: {"type": "metadata", "usage": ANTHROPIC}),
    ),
    Sample(
        "OpenRouter",
        {**CHAT, **THINKS, "prompt_tokens_details": {"cached_tokens": 49_000, "cache_write_tokens": 500}, "cost": 0.1},
        "openai",
        _chat(prompt_tokens_details={"cached_tokens": 49_000, "cache_write_tokens": 500}, cost=0.1),
    ),
    Sample(
        "DeepSeek",
        {**CHAT, "prompt_cache_hit_tokens": 49_000, "prompt_cache_miss_tokens": 1_000},
        "openai",
        _chat(prompt_cache_hit_tokens=49_000, prompt_cache_miss_tokens=1_000),
        written=0,
    ),
    Sample("Mistral", {**CHAT, "num_cached_tokens": 49_000}, "mistralai", _mistral, written=0),
    Sample("xAI's SDK", XAI, "xai-sdk", _xai, written=0),
    Sample(
        "xAI's endpoint",
        {**CHAT, **THINKS, **DETAILS, "completion_tokens": 10},
        "openai",
        _chat(completion_tokens=10, **DETAILS),
        written=0,
    ),
    Sample("llama.cpp", {**CHAT, "timings": {"cache_n": 49_000, "prompt_n": 1_000}}, written=0),
    Sample("llama.cpp, merged", {**CHAT, "cache_n": 49_000}, "openai", _chat(cache_n=49_000), written=0),
    Sample("llama.cpp's timings", {"cache_n": 49_000, "prompt_n": 1_000, "predicted_n": 100}, written=0),
    Sample("vLLM", {**CHAT, "prompt_tokens_details": None}, "openai", _chat(prompt_tokens_details=None), 0, 0),
    Sample("Ollama", OLLAMA, "ollama", _ollama, 0, 0),
    Sample("Cohere", COHERE, "cohere", _cohere, written=0),
    Sample("AI SDK 4", {"promptTokens": 50_000, "completionTokens": 100, "totalTokens": 50_100}, read=0, written=0),
    Sample(
        "AI SDK 5",
        {"inputTokens": 50_000, "cachedInputTokens": 49_000, "outputTokens": 100, "totalTokens": 50_100},
        written=0,
    ),
    Sample(
        "AI SDK 5, without the cache",
        {"inputTokens": 1_000, "cachedInputTokens": 49_000, "outputTokens": 100, "totalTokens": 1_100},
        written=0,
    ),
    Sample(
        "AI SDK 6",
        {
            "inputTokens": 50_000,
            "inputTokenDetails": {"noCacheTokens": 500, "cacheReadTokens": 49_000, "cacheWriteTokens": 500},
            "outputTokens": 100,
            "cachedInputTokens": 49_000,
            "totalTokens": 50_100,
        },
    ),
    Sample(
        "AI SDK, of a provider",
        {
            "inputTokens": {"total": 50_000, "noCache": 500, "cacheRead": 49_000, "cacheWrite": 500},
            "outputTokens": {"total": 100, "text": 10, "reasoning": 90},
        },
    ),
    Sample(
        "pi",
        {"input": 500, "output": 100, "cacheRead": 49_000, "cacheWrite": 500, "totalTokens": 50_100},
    ),
    Sample("opencode", {"input": 500, "output": 10, "reasoning": 90, "cache": {"read": 49_000, "write": 500}}),
    Sample(
        "Codex",
        {
            "input_tokens": 50_000,
            "cached_input_tokens": 49_000,
            "output_tokens": 100,
            "reasoning_output_tokens": 90,
            "total_tokens": 50_100,
        },
        written=0,
    ),
    Sample(
        "Gemini CLI",
        {"input": 50_000, "cached": 49_000, "output": 10, "thoughts": 90, "tool": 0, "total": 50_100},
        written=0,
    ),
)
"""Every sender that the documentation names."""
