"""What can go wrong, as one small tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Error(Exception):
    """Any failure that trimtab names; argument mistakes are plain ValueError and TypeError."""


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


class ArchiveError(Error):
    """The archive cannot take or give what was asked."""


class ConflictError(ArchiveError):
    """A session was compacted by somebody else meanwhile; nothing was changed."""


class SummaryError(Error):
    """No summary could be had, and the policy has no other way.

    Attributes:
        usage: what was charged for the answers that could not be used, as in ``Compaction.usage``.
    """

    def __init__(self, message: str, *, usage: Mapping[str, float] | None = None) -> None:
        """Keeps what was charged."""
        super().__init__(message)
        self.usage = dict(usage or {})


class InternalError(Error):
    """A defect in trimtab itself; the transcript is unchanged."""
