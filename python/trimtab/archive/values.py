"""The values that an archive stores and returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Stored:
    """Stored originals, before their compaction is committed.

    Attributes:
        session: the session's name.
        version: the session's version when the originals were stored.
        digests: digests of the messages, in order.
        first: id of the first original; ids are ascending.
        last: id of the last original.
    """

    session: str
    version: int
    digests: tuple[str, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one compaction.

    Attributes:
        ref: its name and idempotency key.
        strategy: ``hybrid`` (prunes, then summarizes), ``summarization`` or ``drop``; ``ingest`` for one output of a
            tool that was truncated before it entered the list: the session's summaries and marks stay, and a
            compaction under way does not conflict.
        tokens_before: tokens of the original messages.
        tokens_after: tokens of the new messages.
        plan: the plan as JSON.
        preserved: positions of the originals that are unchanged in the new list.
        summary: the summary's text, or None.
        summarizer: name of the summarizer, or None.
        live: refs of the session's own summaries in the new list.
        marks: marks of the notices and acknowledgements in the new list.
        view: the new list told by the original one, as JSON; None if it must not be stored.
        duration_ms: milliseconds from storing the originals to the commit.
        exclusive: whether the commit fails if the session was compacted since its originals were stored.
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
    marks: tuple[str, ...] = ()
    view: str | None = None
    duration_ms: int = 0
    exclusive: bool = True


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session in an archive.

    Attributes:
        id: its name.
        version: number of committed compactions.
        created_at: time of its first record.
        events: number of compactions that were not removed.
        messages: number of archived originals, counted once for each list that contains them.
    """

    id: str
    version: int
    created_at: datetime
    events: int
    messages: int


@dataclass(frozen=True, slots=True)
class Overview:
    """A session with compactions, for a list that people read.

    Attributes:
        session: the session's name.
        ref: ref of its latest compaction.
        file: path of the session file, empty if the command line did not archive it.
        model: the model that it was counted for, empty if unknown.
        request: first text of the user in the first archived list, on one line; empty without one.
        compactions: number of its compactions.
        tokens_before: tokens of the first archived list.
        tokens_after: tokens after the latest compaction.
        messages: number of distinct archived messages.
        bytes: their size as JSON.
        first_at: time of the first compaction.
        last_at: time of the latest.
    """

    session: str
    ref: str
    file: str
    model: str
    request: str
    compactions: int
    tokens_before: int
    tokens_after: int
    messages: int
    bytes: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Changes:
    """What a compaction did to its list, by position.

    Attributes:
        ref: the compaction's ref.
        session: the session's name.
        before: ref of the compaction before it in the session, empty without one.
        kept: positions of the messages that stayed as they were, ascending.
        plan: the plan as JSON; empty if retention removed it.
    """

    ref: str
    session: str
    before: str
    kept: tuple[int, ...]
    plan: str


@dataclass(frozen=True, slots=True)
class ArchivedCompaction:
    """A committed compaction: a row of ``compaction_events``.

    Attributes:
        ref: restores the originals.
        session: the session's name.
        strategy: ``hybrid``, ``summarization``, ``drop`` or ``ingest``.
        original_tokens: tokens before.
        compacted_tokens: tokens after.
        messages_removed: number of messages that were removed or changed.
        summary: the summary's text, or None.
        preserved: ids of the unchanged originals.
        model: name of the summarizer, or None.
        duration_ms: milliseconds from storing the originals to the commit.
        created_at: time of the commit.
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
    """Sums over the compactions of one session or of all.

    Attributes:
        tokens_saved: sum of tokens before minus tokens after.
        messages_archived: number of messages that were removed or changed.
        compactions: number of compactions.
    """

    tokens_saved: int
    messages_archived: int
    compactions: int


@dataclass(frozen=True, slots=True)
class Original:
    """An archived message: a row of ``message_archive``.

    Attributes:
        id: its id, ascending in the order of the list.
        ref: the compaction's ref.
        session: the session's name.
        message: the message.
        archived_at: time of storage.
    """

    id: int
    ref: str
    session: str
    message: dict[str, Any]
    archived_at: datetime


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result.

    Attributes:
        id: id of the original, for ``fetch``.
        ref: ref of the latest compaction that contains it.
        session: the session's name.
        role: the message's role; empty if it has none.
        text: the matching part of the message, on one line.
        archived_at: time of storage.
    """

    id: int
    ref: str
    session: str
    role: str
    text: str
    archived_at: datetime


@dataclass(frozen=True, slots=True)
class Receipt:
    """What ran, was skipped, failed or was refused; it holds nothing of a text.

    Attributes:
        session: the session's name.
        what: what it is about: ``compaction``, ``copy``, ``cut output``, ``summarizer``, or a hook by its name.
        outcome: ``ran``, ``skipped``, ``failed`` or ``refused``.
        why: the reason, or what came of it, in words of trimtab.
        at: the time; None is that of storage.
        ref: ref of the compaction, empty without one.
        id: name of the entry: stored once; empty for a new one.
    """

    session: str
    what: str
    outcome: str
    why: str
    at: datetime | None = None
    ref: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """A place where an archive is damaged.

    Attributes:
        where: the place, such as ``session S, compaction 3 (REF), message 17``.
        what: the problem.
    """

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class Pruned:
    """The data that retention removed, or would remove.

    Attributes:
        events: refs of the compactions, oldest first.
        messages: number of messages without another reference.
        bytes: size of these messages as JSON.
        remains: path of the SQLite log that still holds removed text, because another connection reads it; empty if no
            file holds any.
    """

    events: tuple[str, ...]
    messages: int
    bytes: int
    remains: str = ""
