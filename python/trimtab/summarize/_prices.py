"""What a summary cost. The table is of November 2026, from the providers' price pages; dollars for a million tokens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._ask import Usage

PRICES = {
    "claude-haiku-5-5": (0.10, 0.50, 0.01),
    "claude-haiku-4-5": (1.0, 5.0, 0.10),
    "claude-sonnet-5-5": (2.0, 10.0, 0.10),
    "claude-sonnet-5": (2.0, 10.0, 0.20),
    "claude-opus-5-5": (4.0, 20.0, 0.20),
    "claude-opus-5": (5.0, 25.0, 0.50),
    "claude-fable-5-1": (10.0, 50.0, 0.25),
}
"""Input, output, input read from a cache."""

WRITE = 1.25
"""What input costs that is written to a cache, in times of what other input does."""


def priced(usage: Usage, model: str) -> Usage:
    """The usage with what it cost; as it is where the model's price is not known."""
    prices = PRICES.get(re.sub(r"-\d{8}$", "", model))
    if prices is None or "output_tokens" not in usage:
        return usage
    fresh, output, read = prices
    cost = (
        usage.get("input_tokens", 0) * fresh
        + usage.get("cache_creation_input_tokens", 0) * fresh * WRITE
        + usage.get("cache_read_input_tokens", 0) * read
        + usage["output_tokens"] * output
    )
    return {**usage, "cost": cost / 1_000_000}
