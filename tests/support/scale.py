"""How much a test tries: a quarter with each change, everything in ``make nightly``."""

from __future__ import annotations

import os

PERCENT = int(os.environ.get("TESTS_PERCENT", "25"))


def scaled(count: int) -> int:
    """Return the given percentage of ``count``, at least 1: examples of a property, or rounds of a fault."""
    return max(count * PERCENT // 100, 1)
