"""The effects that a compaction yields; a driver answers each, and a test can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ..events import Event
from ..hooks import Review

if TYPE_CHECKING:
    from ..archive import Record, Stored
    from ..messages.types import Message
    from ..summarize import Ask


@dataclass(frozen=True, slots=True)
class Store:
    """Store these messages of a session before a model is asked; answered with ``Stored`` and the time."""

    messages: tuple[Message, ...]
    session: str


@dataclass(frozen=True, slots=True)
class Write:
    """Summarize; answered with a checked ``Answer``.

    Attributes:
        ask: the request to the summarizer.
        fallback: names the summarizer to use; None is the caller's own.
        since: when the time limit began that this attempt shares with an earlier one; None has a limit of its own.
    """

    ask: Ask
    fallback: str | None
    since: float | None = None


@dataclass(frozen=True, slots=True)
class WriteAll:
    """Summarize each; answered with a text or an exception each, in order."""

    asks: tuple[Ask, ...]
    fallback: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """Record this compaction; its time began when its originals were stored. Answered with None."""

    stored: Stored
    record: Record
    since: float


Effect: TypeAlias = Review | Store | Write | WriteAll | Commit | Event
