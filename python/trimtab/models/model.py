"""Models: windows, limits, prices and prompt formats. Every field can be overridden.

Every function that accepts an id also accepts a ``Model``, such as
``dataclasses.replace(Model.named("claude-opus-5"), window=400_000)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from .._log import log
from .._repr import short
from . import table as tables
from .prompts import PROMPTS, Prompt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .provider import Provider

BETAS = {"context-1m-2025-08-07": ("sonnet", 1_000_000)}
"""Beta flags that widen a window: a part of the ids of their models, and the window in tokens."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens; unknown prices are NaN."""

    input: float = float("nan")
    output: float = float("nan")
    cache_read: float = float("nan")
    cache_write: float = float("nan")


UNBOUND: dict[str, object] = {
    "betas": ["thinking-binding-controls-2026-08-01"],
    "thinking": {"block_binding": {"prefix_mismatch_behavior": "drop_block"}},
}
"""Request fields that make the provider drop thinking behind an edit instead of refusing it (Anthropic documentation,
"Preserved thinking"); ``thinking`` is merged into the caller's own."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model's limits and rules.

    Attributes:
        name: the id, without a date.
        provider: its usual message shape.
        prompt: its prompt format.
        window: tokens of input and output together.
        max_output: maximum tokens of one answer.
        price: its prices.
        binds_thinking: whether a thinking block is signed against everything before it, so that the provider refuses
            the block after an edit before it (Anthropic documentation, "Preserved thinking").
        prefill: whether the list may end with the beginning of the answer; Claude 4.6 and later refuse that.
        known: whether the table has the model; False if its family's values are used.
    """

    __repr__ = short

    name: str
    provider: Provider
    prompt: Prompt
    window: int
    max_output: int
    price: Price = field(default_factory=Price)
    binds_thinking: bool = False
    prefill: bool = True
    known: bool = True

    def __post_init__(self) -> None:
        """Reject limits that leave no tokens for a prompt."""
        if not 0 < self.max_output < self.window:
            msg = f"need 0 < max_output < window, got {self.max_output} and {self.window}"
            raise ValueError(msg)

    @classmethod
    def named(
        cls, name: str, *, window: int | None = None, max_output: int | None = None, betas: Iterable[str] = ()
    ) -> Model:
        """Return the model of an id, dated and prefixed ids too; an unknown id gets its family's values and a warning.

        Args:
            name: such as ``claude-opus-4-5-20251101``, ``anthropic/claude-sonnet-4-5`` or ``gpt-5.5``.
            window: overrides the table, and the betas.
            max_output: overrides the table.
            betas: the request's beta flags; ``context-1m-2025-08-07`` gives every Sonnet a window of 1,000,000.
        """
        plain = _plain(name)
        found = _table().get(_ALIASES.get(plain, plain)) or _by_family(name)
        for beta in betas:
            part, wide = BETAS.get(beta, ("", 0))
            if part and part in name.lower():
                found = replace(found, window=max(found.window, wide))
        return found.limited(window, max_output)

    def limited(self, window: int | None = None, max_output: int | None = None) -> Model:
        """Return the model with other limits; None keeps a limit.

        Raises:
            ValueError: a limit is no positive integer, or the limits leave no tokens for a prompt.
        """
        for name, value in (("window", window), ("max_output", max_output)):
            if value is not None and (type(value) is not int or value < 1):
                msg = f"{name} must be a positive number of tokens, got {value!r}"
                raise ValueError(msg)
        window = self.window if window is None else window
        max_output = min(self.max_output, window // 2) if max_output is None else max_output
        return replace(self, window=window, max_output=max_output)


def known() -> dict[str, Model]:
    """Return the models of the table, by name."""
    return dict(_table())


def retired(name: str) -> bool:
    """Return whether the provider is known to have stopped serving the model of that id."""
    return _plain(name) in tables.RETIRED


_ALIASES = {
    "sonnet": "claude-sonnet-5-5",
    "opus": "claude-opus-5-5",
    "haiku": "claude-haiku-5-5",
    "chatgpt-4o": "gpt-4o",
}


@cache
def _table() -> dict[str, Model]:
    """Return every model of the table, by name; built with the first id."""
    models = {}
    for name, row in (tables.CLAUDE | tables.OPENAI | tables.GEMINI).items():
        grammar, window, max_output, price, output_price, read_price = row
        is_claude = name in tables.CLAUDE
        prompt = PROMPTS[grammar]
        keeps = prompt.keeps_thinking or name in tables.KEEPS
        models[name] = Model(
            name,
            "anthropic" if is_claude else "openai_chat",
            replace(prompt, keeps_thinking=keeps, images=tables.IMAGES.get(name, prompt.images)),
            window,
            max_output,
            Price(price, output_price, read_price, 1.25 * price if is_claude else price),
            binds_thinking=is_claude and name.endswith(tables.BINDS),
            prefill=grammar not in _NO_PREFILL,
        )
    return models


_NO_PREFILL = {"claude-4.6", "claude-4.7", "claude-4.8"}


def _plain(name: str) -> str:
    """Return an id without provider, region, date and version: ``us.anthropic.claude-opus-4-1-20250805-v1:0``."""
    bare = name.lower().rsplit("/", 1)[-1]
    bare = re.sub(r"^(\w+\.)*(?=claude|gpt|o\d|gemini)", "", bare)
    bare = re.sub(r"([-@]\d{8}|-\d{4}-\d{2}-\d{2}|-latest)(?=$|-v\d|\[)", "", bare)
    return re.sub(r"(-v\d+(:\d+)?)?(\[1m\])?$", "", bare)


FAMILIES: tuple[tuple[str, Provider, str, int, int], ...] = (
    (r"claude-(3|instant|2)", "anthropic", "claude", 200_000, 8_192),
    (r"claude-\w+-4($|-[0-4])", "anthropic", "claude", 200_000, 32_000),
    (r"claude-\w+-4-5", "anthropic", "claude-4.5", 200_000, 32_000),
    (r"claude-\w+-4-6", "anthropic", "claude-4.6", 200_000, 32_000),
    (r"claude-\w+-4-7", "anthropic", "claude-4.7", 200_000, 32_000),
    (r"claude", "anthropic", "claude-4.8", 200_000, 32_000),
    (r"gpt-3\.5|gpt-4($|-turbo|-\d)", "openai_chat", "openai-cl100k", 128_000, 4_096),
    (r"gpt-4|chatgpt", "openai_chat", "openai-4", 128_000, 16_384),
    (r"o\d", "openai_chat", "openai-o", 128_000, 16_384),
    (r"gpt|codex", "openai_chat", "openai", 128_000, 16_384),
    (r"gemini|models/gemini", "openai_chat", "gemini", 128_000, 8_192),
    (r"", "openai_chat", "unknown", 128_000, 16_384),
)
"""Values for ids that the table lacks: pattern at the id's start (first match), shape, prompt format, window, output
limit."""


@lru_cache(256)  # so that an id is warned of once
def _by_family(name: str) -> Model:
    bare = _plain(name)
    _, provider, prompt, window, output = next(row for row in FAMILIES if re.match(row[0], bare))
    text = "model %r is not in the table: counted as %s, window %s; say window= to override"
    log.warning(text, name, PROMPTS[prompt].name, window)
    prefill = prompt not in _NO_PREFILL
    return Model(bare or "unknown", provider, PROMPTS[prompt], window, output, prefill=prefill, known=False)
