"""Detects that a provider refused a call because it was too long; each provider words this differently."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

_SIZE = r"(?:context|prompt|input|request)"
_TOO_LONG = re.compile(
    "|".join(
        (
            rf"{_SIZE}(?: \w+)? (?:is )?too (?:long|large)",  # Anthropic, Bedrock, Ollama, HTTP 413
            r"request_too_large|(?:request entity|payload|content) too large",
            r"context_(?:length|window)_exceeded|context[ _]length[ _]exceeded",  # OpenAI, Z.ai
            r"exceed_context_size",  # llama.cpp
            r"exceed\w*(?: \S+){0,4} (?:context|input|prompt|token)(?: \w+)? (?:window|length|size|limit|count)",
            r"input token count\b.*\bexceeds",  # Google
            r"maximum (?:allowed )?(?:prompt|context|input) length",  # xAI, OpenRouter, DeepSeek
            r"(?:longer|greater|larger|more) than (?:the )?(?:model'?s )?(?:maximum )?(?:context|max tokens)",
            r"reduce the length of the (?:messages|prompt)",  # Groq
            r"exceeds the limit of \d",  # Copilot
            r"context window exceeds limit|exceeded model token limit",  # MiniMax, Kimi
            r"too large for model with \d+ maximum context",  # Mistral
            r"prompt has [\d,.]+ tokens, but",
            r"too many tokens|token limit exceeded",
            r"^\s*4(?:00|13) (?:status code )?\(no body\)",  # Cerebras
        )
    ),
    re.IGNORECASE,
)
_BUSY = re.compile(
    r"rate.?limit|too many requests|throttl|service unavailable|quota|tokens per (?:minute|day)", re.IGNORECASE
)
_CODES = frozenset({"context_length_exceeded", "request_too_large", "model_context_window_exceeded"})
_TOO_LARGE = 413
"""HTTP status of a body that is too large."""


def is_overflow(error: object, status: int | None = None) -> bool:
    """Return whether a provider refused a call because it was too long; a rate limit is another error.

    Args:
        error: the error's text or body, or an SDK's exception.
        status: the HTTP status, if the error does not hold it.

    Example:
        >>> is_overflow("prompt is too long: 213462 tokens > 200000 maximum")
        True
        >>> is_overflow("Too many requests. Please slow down.")
        False
    """
    if status is None:
        status = getattr(error, "status_code", None)
    codes, texts = _inside(error)
    says_so = any(_TOO_LONG.search(text) and not _BUSY.search(text) for text in texts)
    return bool(codes & _CODES) or status == _TOO_LARGE or says_so


def _inside(error: object) -> tuple[set[str], list[str]]:
    """Return the codes and texts of an error, at any depth of its body."""
    if isinstance(error, BaseException):
        codes, texts = _inside(getattr(error, "body", None))
        return codes, [*texts, str(error)]
    if isinstance(error, str):
        body = _parsed(error)
        return (set(), [error]) if body is None else _inside(body)
    codes, texts = set(), []
    for key, value in error.items() if isinstance(error, Mapping) else ():
        if key in {"code", "type"} and isinstance(value, str):
            codes.add(value)
        deeper, found = _inside(value)
        codes |= deeper
        texts += found if key in {"message", "error", "body", "detail", "responseBody"} else []
    return codes, texts


def _parsed(text: str) -> dict[str, Any] | None:
    """Return the object that a text spells as JSON, or None."""
    with suppress(ValueError):
        body = json.loads(text) if text.lstrip().startswith("{") else None
        return body if isinstance(body, dict) else None
    return None
