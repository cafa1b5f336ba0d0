"""The table of operations, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OPS: dict[str, Callable[..., Any]] = {}


def op(function: Callable[..., Any]) -> Callable[..., Any]:
    """Takes a function as the operation of its name."""
    OPS[function.__name__] = function
    return function
