"""Recognizes trimtab's own messages in a list: summaries by their ref, notices and acknowledgements by their place."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..ledger.columns import Role, RowFlag
from ..messages.envelope import enveloped
from ..messages.shapes import only_text
from ..planning.pins import marked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..archive.opener import Opener
    from ..compaction.settings import Settings
    from ..compaction.view import View
    from ..ledger.columns import Ledger
    from ..messages.types import Message

RESULTS = 8
"""Results whose notices are remembered: a caller may drop a result and go on with an older one."""


@dataclass
class OwnMessages:
    """Recognizes the messages that a session put into its lists; the text of any other message is its author's.

    Attributes:
        settings: the settings of the session's Compactor.
        archive: opens the archive.
        refs: whether a compaction is the session's, by its ref.
        texts: digests of summaries without an envelope.
        results: marks of the last results.
        last: the last result: its length, its digest and its marks; a list that goes on from it has no other notices,
            whatever texts of the user equal one.
    """

    settings: Settings
    archive: Opener
    refs: dict[str, bool] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    results: deque[tuple[str, ...]] = field(default_factory=lambda: deque(maxlen=RESULTS))

    last: tuple[int, str, tuple[str, ...]] | None = None

    def remember(self, ref: str | None, marks: tuple[str, ...], view: View | None = None) -> None:
        """Remember a result of the session.

        Args:
            ref: of its compaction, if there was one.
            marks: marks of its notices and acknowledgements.
            view: of its compaction.
        """
        self.last = (view.made, view.result, marks) if view and view.made else None
        if ref is not None:
            self.refs[ref] = True
        self.results.append(marks)

    def fillers(self, ledger: Ledger) -> tuple[int, ...]:
        """Return the positions of notices and acknowledgements, ascending.

        Raises:
            ArchiveError: the archive cannot be read.
        """
        if self.settings.policy.parity:
            return ()
        if self.last and self.last[0] <= len(ledger) and ledger.digest_until(self.last[0]) == self.last[1]:
            return marked(ledger, self.last[2])
        known = [mark for result in tuple(self.results) for mark in result]
        archive = self.archive.known() if self.settings.exclusive else None
        if archive is not None:
            known += archive.marks(self.settings.session)  # of an earlier process, or of another one
        return marked(ledger, known)

    def summaries(self, ledger: Ledger, messages: Sequence[Message]) -> tuple[int, ...]:
        """Return the positions of the session's own summaries, ascending.

        A message is one if it is nothing but an envelope whose ref is of this session. An archive in memory does not
        know refs of earlier processes: then it has to stand where a summary is put.

        Raises:
            ArchiveError: the archive cannot be read.
        """
        rows = (ledger.flags & RowFlag.SUMMARY).nonzero()[0]
        refs = {int(index): found.ref for index in ledger.owner[rows] if (found := enveloped(messages[int(index)]))}
        unknown = {*refs.values()} - self.refs.keys()
        archive = self.archive.known() if unknown else None
        if archive is not None:
            if archive.durable:
                self.refs |= dict.fromkeys(unknown, False)
            self.refs |= archive.recognize(unknown, self.settings.session)
        place = self._place(ledger, messages, tuple(refs)) if unknown - self.refs.keys() else -1
        return tuple(index for index, ref in refs.items() if self.refs.get(ref, index == place))

    def _place(self, ledger: Ledger, messages: Sequence[Message], envelopes: tuple[int, ...]) -> int:
        """Return where a summary is put: behind the system text, or behind the question that it answers."""
        from ..planning.stages.costs import Costs  # noqa: PLC0415 - numpy comes with the first plan

        head = Costs(ledger, summaries=envelopes).head
        asks = head + 1 < len(ledger) and ledger.role[head + 1] == Role.ASSISTANT
        return head + 1 if asks and only_text(messages[head]) == self.settings.policy.place.question else head
