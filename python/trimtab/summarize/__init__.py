"""Who writes a summary: the offline one, or any callable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._ask import Ask, Summarizer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["Ask", "Summarizer", "open_summarizer"]


def open_summarizer(spec: str | Summarizer | Callable[[Ask], str | Awaitable[str]]) -> tuple[str, Summarizer]:
    """A summarizer and its name.

    Args:
        spec: ``offline``, or a callable that takes an ``Ask`` and gives a text, plain or async.

    Raises:
        ValueError: a name that there is not.
    """
    if callable(spec):
        return getattr(spec, "__name__", type(spec).__name__), spec
    if spec == "offline":
        return "offline", _offline
    msg = f"unknown summarizer {spec!r}: use 'offline', or a callable that takes an Ask and gives a text"
    raise ValueError(msg)


def _offline(ask: Ask) -> str:
    from .offline import offline  # noqa: PLC0415 - loaded with the first summary, not with the package

    return offline(ask)
