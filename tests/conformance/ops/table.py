"""The table of operations, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OPS: dict[str, Callable[..., Any]] = {}

PLAYED: dict[str, str] = {}
"""The part of an agent that each operation plays, by the operation's name; its cases show the rest."""

PARITY = True
"""Whether the policies leave out the rules that the documents do not have; set before ``presets`` is imported."""


def op(function: Callable[..., Any]) -> Callable[..., Any]:
    """Takes a function as the operation of its name."""
    OPS[function.__name__] = function
    return function


def plays(part: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Says what an operation does in an agent's place."""

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        PLAYED[function.__name__] = part
        return function

    return note
