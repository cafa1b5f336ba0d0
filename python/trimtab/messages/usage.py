"""The billed tokens of one call, in one form for all providers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self, TypeGuard

from .._repr import short

MOST = 2**53
"""Largest number of tokens in a usage: the largest up to which JSON's numbers are exact."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The billed tokens of a call.

    Attributes:
        input: input tokens, without cache reads and writes.
        output: output tokens.
        cache_read: input tokens read from a cache.
        cache_write: input tokens written to a cache.
        hourly: those of ``cache_write`` that the cache keeps for an hour (Anthropic), not for five minutes.
    """

    __repr__ = short

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    hourly: int = 0

    @property
    def prompt(self) -> int:
        """Tokens of the whole prompt."""
        return self.input + self.cache_read + self.cache_write

    @classmethod
    def of(cls, usage: object) -> Self:
        """Return the usage of an answer from any provider's dict or SDK object.

        Raises:
            ValueError: ``usage`` has no prompt tokens, or one of its numbers is no integer from 0 to 2**53.
        """
        if isinstance(usage, cls):
            for field in fields(cls):
                _tokens(usage, field.name)
            return usage
        prompt = _tokens(
            usage, "input_tokens", "input", "prompt_tokens", "inputTokens", "prompt_token_count", "promptTokenCount"
        )
        if prompt is None:
            msg = f"usage has no prompt tokens: got {_shown(usage)}"
            raise ValueError(msg)
        output = _tokens(
            usage, "output_tokens", "output", "completion_tokens", "outputTokens", "candidates_token_count"
        )
        read = _tokens(usage, "cache_read_input_tokens", "cache_read", "cacheReadInputTokens")
        write = _tokens(usage, "cache_creation_input_tokens", "cache_write", "cacheWriteInputTokens")
        if read is None:  # OpenAI includes cache reads in the prompt
            details = _get(usage, "prompt_tokens_details") or _get(usage, "input_tokens_details")
            read = _tokens(details, "cached_tokens") or 0
            prompt = max(prompt - read, 0)
        hourly = _tokens(_get(usage, "cache_creation"), "ephemeral_1h_input_tokens")
        return cls(prompt, output or 0, read, write or 0, hourly or 0)


def _tokens(usage: object, *names: str) -> int | None:
    """Return the number in the first of the fields that is there, or None.

    Raises:
        ValueError: the number is no integer from 0 to 2**53.
    """
    for name in names:
        value = _get(usage, name)
        if value is None:
            continue
        if is_tokens(value):
            return value
        msg = f"{name} must be a number of tokens from 0 to 2**53, got {_shown(value)}"
        raise ValueError(msg)
    return None


def is_tokens(value: object) -> TypeGuard[int]:
    """Return whether a value is a number of tokens: an integer from 0 to 2**53, no bool."""
    return type(value) is int and 0 <= value <= MOST


def _shown(value: object) -> str:
    """Return the beginning of a value's representation; that of an integer with too many digits is its type."""
    try:
        return repr(value)[:200]
    except ValueError:
        return f"a large {type(value).__name__}"


def _get(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
