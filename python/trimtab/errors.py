"""The exceptions that trimtab raises, all subclasses of ``Error``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Mapping


class Error(Exception):
    """Base class of trimtab's errors; wrong arguments raise plain ValueError and TypeError.

    Attributes:
        op: the step of a compaction that failed, empty outside of one.
        session: the session that was compacted, None if it has no name.
        context: further facts about the failure, by name.
        kind: the error's name in agentpg ("Error Handling").
        words: the error's message in agentpg.
    """

    kind: ClassVar[str] = ""
    words: ClassVar[str] = ""
    op: str = ""
    session: str | None = None

    def __init__(self, *args: object) -> None:
        """Take the message; without one, ``words``."""
        super().__init__(*(args or ((self.words,) if self.words else ())))
        self.context: dict[str, object] = {}

    def during(self, op: str, session: str | None = None, **context: object) -> Self:
        """Return the same error with the step of a compaction in which it was raised."""
        self.op, self.session, self.context = op, session, context
        return self

    @property
    def account(self) -> str:
        """Step, session and cause on one line, in agentpg's form."""
        where = f" for session {self.session}" if self.session else ""
        cause = f": {self}" if self.args else ""
        return f"compaction {self.op} failed{where}{cause}"


class MessageError(Error, ValueError):
    """A message cannot be read, or a provider would refuse it.

    Attributes:
        path: the place, as ``messages[3].content[0]``; empty if the whole input is meant.
        index: position of the message in its list, None if there is none.
        hint: what to do.
        file: name of the file that was read; empty if none was, or if its name is ``path``.
    """

    file: str = ""

    def __init__(self, message: str, *, path: str = "", index: int | None = None, hint: str = "") -> None:
        """Take the ``message``, and its place and hint as separate values, so that a program can read them."""
        super().__init__(message)
        self.path = path
        self.index = index
        self.hint = hint

    def __str__(self) -> str:
        """Return file, place and message on one line, and the hint on the next."""
        what = ": ".join(part for part in (self.file, self.path, str(self.args[0])) if part)
        return f"{what}\n  hint: {self.hint}" if self.hint else what


class PlanError(Error):
    """A plan does not fit the transcript that it is applied to."""


class NothingToCompactError(PlanError):
    """No message can leave, and the policy asks for an error."""

    kind = "NoMessagesToCompact"
    words = "no messages to compact"


class OverflowedError(Error):
    """The provider refused a prompt as too long, and too little of it can leave; the message says what stays."""


class ArchiveError(Error):
    """The archive cannot store or load messages."""

    kind = "StorageError"
    words = "storage error"


class SessionError(ArchiveError):
    """The archive has no session of that name."""

    kind = "SessionNotFound"
    words = "session not found"


class BusyError(ArchiveError):
    """A Compactor is already compacting the session."""

    kind = "CompactionInProgress"
    words = "compaction already in progress"


class ConflictError(ArchiveError):
    """A session was compacted by another process since its originals were stored; nothing was changed."""


class SummaryError(Error):
    """Every summarizer failed, and the policy has no fallback.

    Attributes:
        usage: billed tokens of the rejected answers, as in ``Compaction.usage``.
    """

    kind = "SummarizationFailed"
    words = "summarization failed"

    def __init__(self, message: str = words, *, usage: Mapping[str, float] | None = None) -> None:
        """Take the ``message`` and the billed tokens."""
        super().__init__(message)
        self.usage = dict(usage or {})


class RedirectError(SummaryError):
    """The summarizer's server redirects to another one, which would get the conversation."""


class NoMessageError(SummaryError):
    """A summarizer's answer is no message: not JSON, or JSON of something else."""


class CountError(Error):
    """The provider's counting endpoint failed, and no estimate replaces its count."""

    kind = "TokenCountingFailed"
    words = "token counting failed"


class ConfigError(Error, ValueError):
    """Unknown configuration key or value; the message lists the valid ones."""

    kind = "InvalidConfig"
    words = "invalid compaction configuration"


class InternalError(Error):
    """A defect in trimtab itself; the transcript is unchanged."""
