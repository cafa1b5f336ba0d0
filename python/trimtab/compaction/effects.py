"""The effects that a compaction yields; a driver or a test answers each."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..events import Event
from ..hooks import Review

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable
    from concurrent.futures import Future

    from ..archive import Receipt, Record, Stored
    from ..messages.types import Message
    from ..summarize import Ask
    from .view import View


@dataclass(frozen=True, slots=True)
class Count:
    """Ask a provider's counting endpoint; the answer is what the client returns.

    Attributes:
        client: an ``anthropic.Anthropic``, an ``openai.OpenAI``, or an object with the method of one of them.
        request: keywords of Anthropic's ``messages.count_tokens`` or OpenAI's ``responses.input_tokens.count``.
    """

    client: Any
    request: dict[str, Any]

    def ask(self) -> object:
        """Return the client's answer; that of an asynchronous client is awaitable."""
        anthropic = "messages" in self.request
        count = self.client.messages.count_tokens if anthropic else self.client.responses.input_tokens.count
        return count(**self.request)


@dataclass(frozen=True, slots=True)
class Store:
    """Store the originals before a model is asked; the answer is ``Stored`` and the time.

    Attributes:
        messages: the transcript.
        session: the session that it belongs to.
    """

    messages: tuple[Message, ...]
    session: str


@dataclass(frozen=True, slots=True)
class Owner:
    """Ask whose a ref is; the answer is that of ``Archive.owner``.

    Attributes:
        ref: the name of a compaction.
    """

    ref: str


@dataclass(frozen=True, slots=True)
class Originals:
    """Load what summaries stand for; the answer is their originals, oldest first, and the session's pinned texts.

    Attributes:
        refs: the compactions that wrote the summaries.
        session: the session that asks.
    """

    refs: tuple[str, ...]
    session: str


@dataclass(frozen=True, slots=True)
class Write:
    """Summarize; the answer is a checked ``Answer``.

    Attributes:
        ask: the request to the summarizer.
        fallback: names the summarizer to use; None uses the caller's own.
        since: start of the time limit that this attempt shares with an earlier one; None starts a new limit.
    """

    ask: Ask
    fallback: str | None
    since: float | None = None


@dataclass(frozen=True, slots=True)
class WriteAll:
    """Summarize each part; the answer is an ``Answer`` or an exception for each, in order.

    Attributes:
        asks: the requests to the summarizer.
        fallback: names the summarizer to use; None uses the caller's own.
    """

    asks: tuple[Ask, ...]
    fallback: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """Record a compaction; the answer is None.

    Attributes:
        stored: the stored originals.
        record: the compaction.
        since: the time at which the originals were stored.
        view: how the result stands in for the list that it was made of; None if it cannot.
    """

    stored: Stored
    record: Record
    since: float
    view: View | None = None

    def timed(self) -> Record:
        """Return the record with its duration."""
        return replace(self.record, duration_ms=round((monotonic() - self.since) * 1000))


@dataclass(frozen=True, slots=True)
class Note:
    """Add an entry to the archive's log; the answer is None, also if it cannot be written.

    Attributes:
        receipt: the entry.
    """

    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Start:
    """Start a job in the background; the answer is None.

    Attributes:
        run: starts the job. It takes the running event loop, in which the summarizer is awaited, or None.
    """

    run: Callable[[AbstractEventLoop | None], None]


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until a job in the background has ended; the answer is None.

    A job of another event loop is not waited for: that loop may need this thread.

    Attributes:
        job: done when the job has ended.
        loop: the event loop in which the job awaits its summarizer; None without one.
    """

    job: Future[Any]
    loop: AbstractEventLoop | None


@dataclass(frozen=True, slots=True)
class Long:
    """Announce that the next steps take long; the answer is None. In an event loop they run in a thread."""


Effect: TypeAlias = (
    Review | Count | Store | Owner | Originals | Write | WriteAll | Commit | Note | Start | Wait | Long | Event
)

T = TypeVar("T")
Flow: TypeAlias = Generator[Effect, Any, T]
"""Decides what to do, and leaves the doing to a driver; returns a ``T``."""
