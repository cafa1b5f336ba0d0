"""The billed tokens of one call, in one form for all providers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from .._repr import short


@dataclass(frozen=True, slots=True)
class Usage:
    """The billed tokens of a call.

    Attributes:
        input: input tokens, without cache reads and writes.
        output: output tokens.
        cache_read: input tokens read from a cache.
        cache_write: input tokens written to a cache.
    """

    __repr__ = short

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def prompt(self) -> int:
        """Tokens of the whole prompt."""
        return self.input + self.cache_read + self.cache_write

    @classmethod
    def of(cls, usage: object) -> Self:
        """Return the usage of an answer from any provider's dict or SDK object.

        Raises:
            ValueError: ``usage`` has no prompt tokens.
        """
        if isinstance(usage, cls):
            return usage

        def get(*names: str) -> int | None:
            found = (_get(usage, name) for name in names)
            return next((value for value in found if isinstance(value, int)), None)

        prompt = get("input_tokens", "input", "prompt_tokens", "inputTokens", "prompt_token_count", "promptTokenCount")
        if prompt is None:
            msg = f"usage has no prompt tokens: got {usage!r}"
            raise ValueError(msg)
        output = get("output_tokens", "output", "completion_tokens", "outputTokens", "candidates_token_count")
        read = get("cache_read_input_tokens", "cache_read", "cacheReadInputTokens")
        write = get("cache_creation_input_tokens", "cache_write", "cacheWriteInputTokens")
        if read is None:  # OpenAI includes cache reads in the prompt
            details = _get(usage, "prompt_tokens_details") or _get(usage, "input_tokens_details")
            cached = _get(details, "cached_tokens")
            read = cached if isinstance(cached, int) else 0
            prompt -= read
        return cls(prompt, output or 0, read, write or 0)


def _get(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
