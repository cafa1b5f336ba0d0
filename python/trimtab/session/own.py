"""Recognizes trimtab's own messages in a list: summaries by their ref, notices and acknowledgements by their place."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..ledger.columns import Role, RowFlag
from ..ledger.marks import marked
from ..messages.envelope import enveloped
from ..messages.shapes import only_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..compaction.settings import Settings
    from ..ledger.columns import Ledger
    from ..messages.types import Message

RESULTS = 8
"""Results whose notices are remembered: a caller may drop a result and go on with an older one."""


@dataclass
class OwnMessages:
    """Recognizes the messages that a session put into its lists; the text of any other message is its author's.

    Attributes:
        settings: the settings of the session's Compactor.
        archive: the session's archive.
    """

    settings: Settings
    archive: Any
    _refs: dict[str, bool] = field(default_factory=dict)
    _results: deque[tuple[str, ...]] = field(default_factory=lambda: deque(maxlen=RESULTS))

    def remember(self, ref: str | None, marks: tuple[str, ...]) -> None:
        """Remember a result of the session.

        Args:
            ref: of its compaction, if there was one.
            marks: marks of its notices and acknowledgements.
        """
        if ref is not None:
            self._refs[ref] = True
        self._results.append(marks)

    def fillers(self, ledger: Ledger) -> tuple[int, ...]:
        """Return the positions of notices and acknowledgements, ascending.

        Raises:
            ArchiveError: the archive cannot be read.
        """
        if self.settings.policy.parity:
            return ()
        known = [mark for result in tuple(self._results) for mark in result]
        if self.settings.exclusive and hasattr(self.archive, "marks"):
            known += self.archive.marks(self.settings.session)  # of an earlier process, or of another one
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
        unknown = {*refs.values()} - self._refs.keys()
        if unknown and hasattr(self.archive, "recognize"):
            if getattr(self.archive, "durable", True):
                self._refs |= dict.fromkeys(unknown, False)
            self._refs |= self.archive.recognize(unknown, self.settings.session)
        place = self._place(ledger, messages, tuple(refs)) if unknown - self._refs.keys() else -1
        return tuple(index for index, ref in refs.items() if self._refs.get(ref, index == place))

    def _place(self, ledger: Ledger, messages: Sequence[Message], envelopes: tuple[int, ...]) -> int:
        """Return where a summary is put: behind the system text, or behind the question that it answers."""
        from ..planning.stages.costs import Costs  # noqa: PLC0415 - numpy comes with the first plan

        head = Costs(ledger, summaries=envelopes).head
        asks = head + 1 < len(ledger) and ledger.role[head + 1] == Role.ASSISTANT
        return head + 1 if asks and only_text(messages[head]) == self.settings.policy.place.question else head
