"""What is known of models beside their rows, and the sources of our own rows, ``own.tsv``.

Those stand above ``catalog.tsv``, which has all other models: these know the prompt format, and were read in the
provider's documentation. Anthropic charges 1.25 times the input price for a cache write of five minutes, OpenAI the
input price. Sources:

- Claude from 4.5 on, Fable and Mythos: platform.claude.com/docs/en/about-claude/pricing and the models' own pages.
- Claude 3 to 4.1: docs.anthropic.com/en/docs/about-claude/pricing; Claude 3 Sonnet had no cache.
- gpt-5, gpt-5-nano, gpt-5-codex, gpt-5.1: developers.openai.com/api/docs/models. gpt-5-mini, gpt-5.2, gpt-5.3-codex,
  gpt-5.4: GitHub's table of the same models at the provider's prices (github/docs, copilot/models-and-pricing.yml).
  gpt-4.1 and gpt-4o: openai.com's table of June 2025 as openai_responses 0.4.1 (hex.pm) has it. gpt-5.4-mini, gpt-5.5,
  o1, o3-mini, o4-mini, gpt-4, gpt-4-turbo, gpt-3.5-turbo: tables of other projects that name the provider's page.
- gpt-5.4: a window of 1,050,000 by LiteLLM's and genai-prices' tables of November 2026; it was 400,000 at first.
- o3: 10 and 40 dollars at first, less later; sources disagree: no price.
- Pictures: OpenAI's documentation, "Images and vision", down to o4-mini. It gives gpt-5-mini and gpt-5-nano 1.62 and
  2.46; billed are 1.2 and 1.5, by the provider's pricing calculator and by two measurements
  (community.openai.com/t/1344040, six sizes; t/1377015). The second also has gpt-5.2, gpt-5.3-codex and gpt-5.4: 1.2,
  for gpt-5.4 of up to 2,500 patches; for gpt-5.4-mini it has both 1,536 and 2,500. gpt-5.5 is assumed to equal
  gpt-5.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .provider import Provider

CACHE_SECONDS = {"claude": 300, "gpt": 3_600}
"""Seconds after its last use for which a cached prompt is kept at most, by the beginning of the model's id: Anthropic
five minutes (an hour where a call asks for it), OpenAI an hour."""

BINDS = ("-5-5", "-5-1", "-5-2")
"""Id endings of models that sign thinking against the whole prompt before it."""

TAKES_SYSTEM = (
    "claude-opus-4-8",
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-haiku-5-5",
    "claude-fable-5",
    "claude-mythos-5",
)
"""Beginnings of the ids of models that take system messages between the others (Anthropic documentation,
"Mid-conversation system messages")."""

NO_SYSTEM = ("claude-2", "claude-3", "claude-haiku-4", "claude-sonnet-4", "claude-opus-4", "claude-mythos-preview")
"""Beginnings of the ids of other models that are known to refuse them."""

DEARER = (
    (r"claude-haiku-5-5$", 100_000),
    (r"gemini-(2\.5|3|3\.1)-pro($|-preview$)", 200_000),
    (r"grok-4\.(20|3|5|6|7)($|-)", 200_000),
    (r"gpt-(5\.[4-6]($|-(pro|sol|terra|luna|cyber)$)|6-(astra|luna|sol)$|6\.1-sol$)", 272_000),
)
"""Ids of models, and the tokens of a prompt past which a call costs more than their prices say (LiteLLM's table of
November 2026): for most twice as much."""

RESPONSES = frozenset(
    (
        "computer-use-preview",
        "gpt-5-codex",
        "gpt-5-pro",
        "gpt-5.1-codex-max",
        "gpt-5.5-pro",
        "gpt-5.6-cyber",
        "gpt-6-cyber",
        "gpt-6-rosalind",
        "gpt-6.2-astra-law",
        "gpt-daybreak-blue",
        "gpt-daybreak-red",
        "gpt-rosalind-research",
        "o1-pro",
        "o3-deep-research",
        "o3-pro",
        "o4-mini-deep-research",
    )
)
"""Models that OpenAI serves by the Responses API alone: those that its SDK (openai 3.54) lists for that API and not for
Chat Completions."""

RETIRED = ("claude-3-5-haiku",)
"""Models that the provider no longer serves."""

KEEPS = ("claude-opus-4-5",)
"""Models that keep the thinking of earlier turns although their generation does not."""

ALIASES = {
    "sonnet": "claude-sonnet-5-5",
    "opus": "claude-opus-5-5",
    "haiku": "claude-haiku-5-5",
    "chatgpt-4o": "gpt-4o",
}
"""Names that stand for a model: Claude Code's, and OpenAI's."""

FAMILIES: tuple[tuple[str, Provider, str, int, int], ...] = (
    (r"claude-(v?[123](?!\d)|instant)", "anthropic", "claude", 200_000, 8_192),
    (r"claude-\w+-4($|-[0-4])", "anthropic", "claude", 200_000, 32_000),
    (r"claude-\w+-4-5", "anthropic", "claude-4.5", 200_000, 32_000),
    (r"claude-\w+-4-6", "anthropic", "claude-4.6", 200_000, 32_000),
    (r"claude-\w+-4-7", "anthropic", "claude-4.7", 200_000, 32_000),
    (r"claude", "anthropic", "claude-4.8", 200_000, 32_000),
    (r"([\w-]+-)?gpt-oss", "openai_chat", "gpt-oss", 131_072, 32_768),
    (r"gpt-3\.?5|gpt-4($|-turbo|-vision|-\d)", "openai_chat", "openai-cl100k", 128_000, 4_096),
    (r"gpt-4|chatgpt", "openai_chat", "openai-4", 128_000, 16_384),
    (r"o\d", "openai_chat", "openai-o", 128_000, 16_384),
    (r"gpt|codex", "openai_chat", "openai", 128_000, 16_384),
    (r"gemini|models/gemini", "openai_chat", "gemini", 128_000, 8_192),
    (r"", "openai_chat", "unknown", 128_000, 16_384),
)
"""Values for ids that the table lacks: pattern at the id's start (first match), shape, prompt format, window, output
limit."""
