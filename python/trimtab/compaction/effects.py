"""What a compaction wants of the world outside; a driver answers each, and a test can."""

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
    """Keep these messages of a session before a model is asked; answered with where they lie, and the time."""

    messages: tuple[Message, ...]
    session: str


@dataclass(frozen=True, slots=True)
class Write:
    """Summarize; answered with a checked ``Answer``. ``fallback`` names who is to; None: the caller's own.

    ``since`` is when the time began that it shares with another try; None: all of it is its own.
    """

    ask: Ask
    fallback: str | None
    since: float | None = None


@dataclass(frozen=True, slots=True)
class WriteAll:
    """Summarize each; answered with a text or an exception each, in the same order."""

    asks: tuple[Ask, ...]
    fallback: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """Remember this compaction, begun when its originals were stored; answered with None."""

    stored: Stored
    record: Record
    since: float


Want: TypeAlias = Review | Store | Write | WriteAll | Commit | Event
