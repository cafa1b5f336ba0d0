"""What can go wrong, as one small tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Mapping


class Error(Exception):
    """Any failure that trimtab names; argument mistakes are plain ValueError and TypeError.

    Attributes:
        op: the step of a compaction that failed, empty outside of one.
        session: the session that was compacted, None where it has no name.
        context: what else is known of the failure, by name.
        kind: the name that seed 002 has for it.
        words: what seed 002 says of it.
    """

    kind: ClassVar[str] = ""
    words: ClassVar[str] = ""
    op: str = ""
    session: str | None = None

    def __init__(self, *args: object) -> None:
        """Without a text of its own, it has the words of its kind."""
        super().__init__(*(args or ((self.words,) if self.words else ())))
        self.context: dict[str, object] = {}

    def during(self, op: str, session: str | None = None, **context: object) -> Self:
        """The same error, with the step of a compaction in which it came up."""
        self.op, self.session, self.context = op, session, context
        return self

    @property
    def account(self) -> str:
        """Step, session and cause in one line, as seed 002 writes them."""
        where = f" for session {self.session}" if self.session else ""
        cause = f": {self}" if self.args else ""
        return f"compaction {self.op} failed{where}{cause}"


class MessageError(Error, ValueError):
    """A message cannot be used.

    Attributes:
        path: where, as ``messages[3].content[0]``; empty if the whole input is meant.
        index: position of the message in its list, None if there is none.
        hint: what to do about it.
    """

    def __init__(self, message: str, *, path: str = "", index: int | None = None, hint: str = "") -> None:
        """Keeps the three parts apart, so that a program can read them."""
        super().__init__(message)
        self.path = path
        self.index = index
        self.hint = hint

    def __str__(self) -> str:
        """One line what and where, one line what to do."""
        what = f"{self.path}: {self.args[0]}" if self.path else str(self.args[0])
        return f"{what}\n  hint: {self.hint}" if self.hint else what


class PlanError(Error):
    """A plan does not fit the transcript that it is applied to."""


class NothingToCompactError(PlanError):
    """Everything stays, and the policy says that this is an error."""

    kind = "NoMessagesToCompact"
    words = "no messages to compact"


class ArchiveError(Error):
    """The archive cannot take or give what was asked."""

    kind = "StorageError"
    words = "storage error"


class SessionError(ArchiveError):
    """The archive knows no such session."""

    kind = "SessionNotFound"
    words = "session not found"


class BusyError(ArchiveError):
    """Another compaction of the same session is under way in the same Compactor."""

    kind = "CompactionInProgress"
    words = "compaction already in progress"


class ConflictError(ArchiveError):
    """A session was compacted by somebody else meanwhile; nothing was changed."""


class SummaryError(Error):
    """No summary could be had, and the policy has no other way.

    Attributes:
        usage: what was charged for the answers that could not be used, as in ``Compaction.usage``.
    """

    kind = "SummarizationFailed"
    words = "summarization failed"

    def __init__(self, message: str = words, *, usage: Mapping[str, float] | None = None) -> None:
        """Keeps what was charged."""
        super().__init__(message)
        self.usage = dict(usage or {})


class CountError(Error):
    """The provider did not count. Where its count was only wanted first, the estimate took its place."""

    kind = "TokenCountingFailed"
    words = "token counting failed"


class ConfigError(Error, ValueError):
    """A key or a value of a configuration that there is not; names itself and those that there are."""

    kind = "InvalidConfig"
    words = "invalid compaction configuration"


class InternalError(Error):
    """A defect in trimtab itself; the transcript is unchanged."""
