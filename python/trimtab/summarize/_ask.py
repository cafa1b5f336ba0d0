"""What a summarizer is asked, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .._messages import Message, Provider


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for the summary of the messages that leave the context.

    Attributes:
        messages: the zone: whole messages, oldest first, in the provider's shape.
        provider: that shape.
        max_tokens: the answer's limit, by ``count``.
        count: counts the tokens of a text.
        instructions: what the caller wants the summary to stress.
        previous: text of the summary that the zone starts with; it is to be updated, not repeated inside a new one.
        after: the messages that stay behind the zone, for reconciliation: what stands there need not be said.
    """

    messages: tuple[Message, ...]
    provider: Provider
    max_tokens: int
    count: Callable[[str], int]
    instructions: str | None = None
    previous: str | None = None
    after: tuple[Message, ...] = ()


class Summarizer(Protocol):
    """Turns messages into a text of at most ``ask.max_tokens``; may be asynchronous."""

    def __call__(self, ask: Ask, /) -> str | Awaitable[str]: ...
