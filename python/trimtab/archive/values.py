"""What goes into an archive and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Stored:
    """Originals that are kept, and wait for the event that they belong to.

    Attributes:
        session: whose they are.
        version: the session's, when they were stored.
        digests: of the messages, in order.
        first: id of the first original; the others follow.
        last: id of the last one.
    """

    session: str
    version: int
    digests: tuple[str, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Record:
    """One compaction, as it is remembered.

    Attributes:
        ref: names it, and is its idempotency key: committed twice, it is remembered once.
        strategy: ``hybrid`` (prunes, then summarizes), ``summarization`` or ``drop``.
        tokens_before: tokens of the messages as they were.
        tokens_after: tokens of the messages as they are.
        plan: the plan's JSON.
        preserved: positions of the originals that stand in the new list as they were.
        summary: the summary's text, None if there is none.
        summarizer: who wrote it.
        live: refs of the summaries that stand in the new list.
        duration_ms: from the storing of the originals to the commit, in milliseconds.
        exclusive: whether it is refused where the session was compacted since its originals were stored.
    """

    ref: str
    strategy: str
    tokens_before: int
    tokens_after: int
    plan: str
    preserved: tuple[int, ...] = ()
    summary: str | None = None
    summarizer: str | None = None
    live: tuple[str, ...] = ()
    duration_ms: int = 0
    exclusive: bool = True


@dataclass(frozen=True, slots=True)
class Session:
    """A session that the archive knows.

    Attributes:
        id: its name.
        version: number of compactions that were committed.
        created_at: when it was first seen.
        events: number of compactions that are still there.
        messages: number of archived originals, each counted as often as it stands in a list.
    """

    id: str
    version: int
    created_at: datetime
    events: int
    messages: int


@dataclass(frozen=True, slots=True)
class Past:
    """A compaction of the past: a row of ``compaction_events``.

    Attributes:
        ref: gives the originals back.
        session: whose it is.
        strategy: ``hybrid``, ``summarization`` or ``drop``.
        original_tokens: tokens before.
        compacted_tokens: tokens after.
        messages_removed: number of messages that left the list or were changed in it.
        summary: the summary's text, None if there is none.
        preserved: ids of the originals that stayed as they were.
        model: who wrote the summary.
        duration_ms: milliseconds that it took.
        created_at: when it was committed.
    """

    ref: str
    session: str
    strategy: str
    original_tokens: int
    compacted_tokens: int
    messages_removed: int
    summary: str | None
    preserved: tuple[int, ...]
    model: str | None
    duration_ms: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Totals:
    """What the compactions of a session, or of all, came to.

    Attributes:
        tokens_saved: tokens before less tokens after, summed up.
        messages_archived: messages that left, summed up.
        compactions: number of compactions.
    """

    tokens_saved: int
    messages_archived: int
    compactions: int


@dataclass(frozen=True, slots=True)
class Original:
    """A message that left a list: a row of ``message_archive``.

    Attributes:
        id: its own, ascending in the order of the list.
        ref: of the compaction.
        session: whose it was.
        message: the message.
        archived_at: when it was stored.
    """

    id: int
    ref: str
    session: str
    message: dict[str, Any]
    archived_at: datetime


@dataclass(frozen=True, slots=True)
class Hit:
    """An archived message that a search found.

    Attributes:
        id: of the original; ``fetch`` gives it whole.
        ref: of the latest compaction that it was stored for.
        session: whose it was.
        role: who said it; empty where the message has no role.
        text: the part that was found, on one line.
        archived_at: when it was stored.
    """

    id: int
    ref: str
    session: str
    role: str
    text: str
    archived_at: datetime


@dataclass(frozen=True, slots=True)
class Fault:
    """A place where an archive is not what was put in.

    Attributes:
        where: ``session S, compaction 3 (REF), message 17``, as far as it is known.
        what: what is wrong there.
    """

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class Pruned:
    """What retention took, or would take.

    Attributes:
        events: refs of the compactions, oldest first.
        messages: number of messages that nothing refers to any more.
        bytes: of those messages as JSON.
    """

    events: tuple[str, ...]
    messages: int
    bytes: int
