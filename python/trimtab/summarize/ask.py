"""What a summarizer is asked, and what it gives back."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .._repr import short

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..messages.types import Message
    from ..models.provider import Provider
    from ..planning.stages import Template

TASK = """\
Write it under these headings, leaving out those for which there is nothing:
## Requests: what the user asked for, in the user's own words where they are short, with every rule and limit they set.
## Decisions: what was decided or found out, and why; what was taken back.
## Files: paths that were read, written, or matter, each with what was done to it.
## Commands: what was run and how it ended.
## Errors: failures and how they were mended, or that they were not.
## Identifiers: names, ids, versions, addresses and numbers that will be needed again, exactly as they stand.
## Open items: what is still to be done, what was going on last, and the next step."""
"""What a summary is to hold, where nothing else is said."""


Usage: TypeAlias = "dict[str, float]"
"""What a provider charged for a summary, over all calls that it took: ``calls`` (answers that were charged),
``input_tokens`` (that no cache had), ``cache_read_input_tokens``, ``cache_creation_input_tokens``, ``output_tokens``
(with those of thinking), and ``cost`` (US dollars, where the prices are known)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back from one call.

    Attributes:
        text: the text blocks, joined.
        stop: why it ended, in the provider's word; None where it does not say.
        other: types of blocks that are neither text nor thinking.
        usage: what was charged.
    """

    __repr__ = short

    text: str
    stop: str | None = "end_turn"
    other: tuple[str, ...] = ()
    usage: Usage = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prompt:
    """An ask as a model reads it.

    Attributes:
        system: who it is and what to write.
        user: the one message: the messages as data inside their boundary, and what is wanted of them.
        nonce: what marks the boundary; it stands nowhere in the messages.
    """

    system: str
    user: str
    nonce: str

    @property
    def text(self) -> str:
        """Both as one text, for whom has no system prompt."""
        return f"{self.system}\n\n{self.user}\n"


@dataclass(frozen=True, slots=True)
class Ride:
    """The session's own next request, sent again so that the provider's cache has its beginning.

    Attributes:
        messages: all of them, the very objects, thinking with them.
        system: system text beside them.
        tools: tool definitions.
    """

    messages: tuple[Message, ...]
    system: object
    tools: object

    def request(self, turn: str) -> dict[str, Any]:
        """Keywords of the call, with one more turn of the user's behind the messages."""
        beside = {name: value for name, value in (("system", self.system), ("tools", self.tools)) if value is not None}
        return {**beside, "messages": [*self.messages, {"role": "user", "content": turn}]}


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
        replaces: tokens of what the summary stands for, itself to be smaller; 0 where nobody knows.
        task: what the summary is to hold.
        correction: what was wrong with the answer before, None the first time.
        nonce: what makes the boundary around the messages one that they cannot hold; fresh with every ask.
        template: how a policy asks; None asks by ``task``.
        model: whom a policy asks; None is the summarizer's own choice.
        context: lines that a hook adds to what is asked.
        ride: the session's own request, where the summary is asked for behind it; ``turn(ask)`` is how.
    """

    __repr__ = short

    messages: tuple[Message, ...]
    provider: Provider
    max_tokens: int
    count: Callable[[str], int]
    instructions: str | None = None
    previous: str | None = None
    after: tuple[Message, ...] = ()
    replaces: int = 0
    task: str = TASK
    correction: str | None = None
    nonce: str = field(default_factory=lambda: os.urandom(6).hex(), compare=False)

    template: Template | None = None
    model: str | None = None
    context: str | None = None
    ride: Ride | None = None


class Summarizer(Protocol):
    """Turns messages into a text of at most ``ask.max_tokens``; may be asynchronous."""

    def __call__(self, ask: Ask, /) -> str | Answer | Awaitable[str | Answer]:
        """Return the summary."""
        ...
