"""The cost of billed tokens, by the prices of the model tables."""

from __future__ import annotations

import math

from .model import Model


def priced(usage: dict[str, float], model: str) -> dict[str, float]:
    """Return the usage with its cost in US dollars; unchanged if no table has a price."""
    if "output_tokens" not in usage:
        return usage
    found = Model.named(model)
    prices = {
        "input_tokens": found.price.input,
        "cache_creation_input_tokens": found.price.cache_write,
        "cache_read_input_tokens": found.price.cache_read,
        "output_tokens": found.price.output,
    }
    cost = sum(usage[kind] * price for kind, price in prices.items() if usage.get(kind))
    return usage if math.isnan(cost) else {**usage, "cost": cost / 1_000_000}
