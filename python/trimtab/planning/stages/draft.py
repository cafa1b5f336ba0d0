"""A transcript's costs while stages decide: the ledger's columns, and what edits would take off them.

The one module of the deciding floor that needs numpy; it is imported with the first plan, not with the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...ledger.columns import Kind, Role, RowFlag
from .sizes import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from ...ledger.columns import Ledger


@dataclass(frozen=True)
class Draft:
    """Columns of a ledger, as signed numbers that can be subtracted.

    Attributes:
        ledger: where they come from.
        pins: messages that the caller pinned.
        binds_thinking: whether an edit costs all thinking. What stands in front of the edit goes too: taking thinking
            from the start is allowed, and one rule is easier to trust than two.
        frame: most tokens of a summary's envelope, its note and the acknowledgement behind it.
        summaries: messages that are summaries of earlier compactions, beside those in our envelope.
        placeholder: tokens of a pruned result.
    """

    ledger: Ledger
    pins: tuple[int, ...] = ()
    binds_thinking: bool = False
    frame: int = 160
    summaries: tuple[int, ...] = ()
    placeholder: int = PLACEHOLDER

    @cached_property
    def owner(self) -> NDArray[np.uint32]:
        """The message of each row."""
        return self.ledger.owner

    @cached_property
    def kind(self) -> NDArray[np.uint8]:
        """What each row is."""
        return self.ledger.kind

    @cached_property
    def flags(self) -> NDArray[np.uint16]:
        """What is notable about each row."""
        return self.ledger.flags

    @cached_property
    def role(self) -> NDArray[np.uint8]:
        """Who speaks in each message."""
        return self.ledger.role

    @cached_property
    def tokens(self) -> NDArray[np.int64]:
        """Tokens of each row; thinking costs nothing where an edit removes it."""
        tokens = self.ledger.tokens.astype(np.int64)
        if self.binds_thinking:
            tokens[self.thinking] = 0
        return tokens

    @cached_property
    def thinking(self) -> NDArray[np.int64]:
        """Rows of thinking, if an edit has to remove them."""
        rows = np.flatnonzero(self.kind == Kind.THINKING)
        return rows if self.binds_thinking else rows[:0]

    @cached_property
    def cost(self) -> NDArray[np.int64]:
        """Tokens of each message."""
        cost = self.ledger.per_message.astype(np.int64)
        if self.binds_thinking:
            np.subtract.at(cost, self.owner[self.thinking], self.ledger.tokens[self.thinking].astype(np.int64))
        return cost

    @cached_property
    def messages(self) -> int:
        """Number of messages."""
        return len(self.role)

    @cached_property
    def total(self) -> int:
        """Tokens of all messages."""
        return int(self.cost.sum())

    @cached_property
    def head(self) -> int:
        """Messages at the start that never leave: system text, and all up to a provider's own compaction.

        The provider leaves out what stands before its compaction; a summary of ours in front of it would be lost.
        """
        compaction = self.owner[self.kind == Kind.COMPACTION]
        behind = int(compaction[-1]) + 1 if len(compaction) else 0
        leads = (self.role == Role.SYSTEM) & ~self.summarized
        leads[:behind] = True
        return self.messages if leads.all() else int(leads.argmin())

    def mask(self, messages: Sequence[int]) -> NDArray[np.bool_]:
        """True at each of these messages."""
        found = np.zeros(self.messages, dtype=bool)
        if isinstance(messages, range):
            found[messages.start : messages.stop] = True
        else:
            found[list(messages)] = True
        return found

    @staticmethod
    def array(positions: Sequence[int]) -> NDArray[np.int64]:
        """Positions as an array, to index with."""
        return np.fromiter(positions, dtype=np.int64, count=len(positions))

    @cached_property
    def summarized(self) -> NDArray[np.bool_]:
        """Messages that are summaries of earlier compactions."""
        found = self.mask(self.summaries)
        found[self.owner[(self.flags & RowFlag.SUMMARY) != 0]] = True
        return found

    @cached_property
    def begins_with_text(self) -> NDArray[np.bool_]:
        """Cuts behind which words of user or assistant stand, and the one at the end."""
        busy = np.isin(self.kind, (Kind.CALL, Kind.RESULT, Kind.SERVER_CALL, Kind.SERVER_RESULT))
        found = np.ones(self.messages + 1, dtype=bool)
        found[self.owner[busy]] = False
        return found

    @cached_property
    def safe(self) -> NDArray[np.bool_]:
        """Cuts that part no group, lie behind the head, and leave an open tool loop its thinking."""
        safe = self.ledger.safe
        safe[: self.head] = False
        safe[self.loop] = False
        return safe

    @cached_property
    def loop(self) -> NDArray[np.int64]:
        """Cuts behind which the open tool loop would start without the thinking that it started with.

        A provider that asks for thinking at its start refuses the rest. One that binds thinking asks for none, and the
        edit takes all of it.
        """
        none = np.zeros(0, dtype=np.int64)
        requests = self.requests()
        if self.binds_thinking or self.ledger.provider not in ("anthropic", "bedrock") or not len(requests):
            return none
        start = int(requests[-1]) + 1
        first = self.ledger.first.astype(np.int64)
        filled = first[:-1] < first[1:]
        thinks = np.zeros(self.messages + 1, dtype=bool)
        thinks[:-1][filled] = self.kind[first[:-1][filled]] == Kind.THINKING
        if start >= self.messages or not thinks[start] or self._closed:
            return none
        cuts = np.arange(start + 1, self.messages)
        return cuts[~thinks[cuts]]

    @cached_property
    def _closed(self) -> bool:
        """Whether the assistant has the last word, and no call is open."""
        ends = self.role[-1] == Role.ASSISTANT
        return bool(ends and not (self.kind[self.owner == self.messages - 1] == Kind.CALL).any())

    @cached_property
    def cuts(self) -> NDArray[np.int64]:
        """The safe cuts, ascending."""
        return np.flatnonzero(self.safe)

    @cached_property
    def last_group(self) -> int:
        """Where the last group starts: the last safe cut with something behind it."""
        before = self.cuts[self.cuts < self.messages]
        return int(before[-1]) if len(before) else self.head

    def group(self, message: int) -> range:
        """The messages that cannot be parted from ``message``."""
        start = int(self.cuts[np.searchsorted(self.cuts, message, side="right") - 1])
        behind = int(np.searchsorted(self.cuts, message + 1))
        return range(start, int(self.cuts[behind]) if behind < len(self.cuts) else self.messages)

    def closed(self, messages: Iterable[int]) -> tuple[int, ...]:
        """The messages with their whole groups, ascending; those of the head left out."""
        groups = (self.group(m) for m in messages if m >= self.head)
        return tuple(sorted({member for group in groups for member in group}))

    def requests(self) -> NDArray[np.int64]:
        """Messages in which the user says something, ascending: no results, no summary of ours."""
        return self._requests

    @cached_property
    def _requests(self) -> NDArray[np.int64]:
        kind = self.kind
        rows = (kind == Kind.TEXT) & ((self.flags & (RowFlag.BLANK | RowFlag.SUMMARY)) == 0)
        rows |= (kind == Kind.IMAGE) | (kind == Kind.DOCUMENT)
        spoken = np.zeros(self.messages, dtype=bool)
        spoken[self.owner[rows]] = True
        return np.flatnonzero(spoken & (self.role == Role.USER) & ~self.summarized)

    def instructions(self) -> NDArray[np.int64]:
        """System messages behind the head."""
        found = np.flatnonzero(self.role == Role.SYSTEM)
        return found[found >= self.head]

    def results(self, start: int, stop: int, *, at_least: int, without: Iterable[int] = ()) -> NDArray[np.int64]:
        """Rows of results that can be edited, in messages ``start`` to ``stop`` with more than ``at_least`` tokens."""
        fits = (self.kind == Kind.RESULT) & ((self.flags & (RowFlag.PRUNED | RowFlag.WHOLE)) == 0)
        return self._among(fits, start, stop, at_least=at_least, without=without)

    def pictures(self, start: int, stop: int, *, at_least: int, without: Iterable[int] = ()) -> NDArray[np.int64]:
        """Rows of the user's own pictures in messages ``start`` to ``stop`` with more than ``at_least`` tokens."""
        fits = (self.kind == Kind.IMAGE) & (self.role[self.owner] == Role.USER)
        return self._among(fits, start, stop, at_least=at_least, without=without)

    def _among(
        self, fits: NDArray[np.bool_], start: int, stop: int, *, at_least: int, without: Iterable[int]
    ) -> NDArray[np.int64]:
        fits &= (self.tokens > at_least) & (self.owner >= start) & (self.owner < stop)
        if without := tuple(without):
            fits &= ~np.isin(self.owner, without)
        return np.flatnonzero(fits)

    @cached_property
    def pictured(self) -> NDArray[np.bool_]:
        """Rows that hold a picture."""
        return self._rows(self.ledger.pictured)

    @cached_property
    def superseded(self) -> NDArray[np.bool_]:
        """Rows of results of reads that a newer read of the same file made old."""
        return self._rows(self.ledger.superseded)

    def _rows(self, rows: NDArray[np.uint32]) -> NDArray[np.bool_]:
        found = np.zeros(len(self.kind), dtype=bool)
        found[rows] = True
        return found

    @staticmethod
    def merged(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of both, ascending."""
        return np.sort(np.concatenate([one, other]))

    def inside(self, rows: NDArray[np.int64], cut: int, also: Iterable[int]) -> NDArray[np.int64]:
        """Those of ``rows`` that stand behind ``cut`` or in the messages ``also``."""
        owner = self.owner[rows]
        return rows[(owner >= cut) | np.isin(owner, list(also))]

    def may_follow(self, stop: int, start: int) -> bool:
        """Whether message ``start`` can stand behind message ``stop - 1``: two turns of the assistant become one."""
        both = start < self.messages and self.role[stop - 1] == Role.ASSISTANT == self.role[start]
        return stop == start or not both

    def cost_without(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tokens of each message once ``rows`` are pruned."""
        cost = self.cost.copy()
        np.subtract.at(cost, self.owner[rows], self.tokens[rows] - self.placeholder)
        return cost
