"""Costs of a transcript: the ledger's columns as signed numbers, for stages that subtract edits from them.

Only this module of ``planning`` imports numpy; it is imported with the first plan, not with the package.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...ledger.columns import Kind, Role, RowFlag
from ...messages.calls import long_texts
from ..edits import Cut, Prune, Truncate
from .sizes import PLACEHOLDER, PLACEHOLDER_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from ...counting.counter import Counter
    from ...ledger.columns import Ledger
    from ...messages.types import Message


BYTES_A_TOKEN = 16
"""Bytes of a token at most, in the mean of a long text: a call with fewer tokens than this has no text to prune."""

JOINTS = 4
"""Tokens by which a text inside of JSON may count less than alone, at its two ends."""


@dataclass(frozen=True)
class Costs:
    """Columns of a ledger, as signed numbers.

    Attributes:
        ledger: the ledger.
        pins: pinned messages.
        binds_thinking: whether an edit removes all thinking. The provider needs only later thinking to go, but accepts
            the removal of all, and one rule is simpler.
        frame: most tokens of a summary's envelope, note and acknowledgement.
        summaries: summaries of earlier compactions.
        placeholder: tokens of a pruned result.
        fillers: notices and acknowledgements of earlier compactions.
        calls: by row, the tokens of a call after its long arguments are pruned.
        heavy: bytes that weigh a token, for a request of too many bytes; 0 where only tokens count.
        marked: tokens of the spans that a summary has word by word, which ``frame`` holds too.
        edited: by row, the tokens that an earlier stage has saved; no other stage edits these rows.
        crowding: user's messages in front of OpenAI's compaction that leave with the rest there: nothing else suffices.
    """

    ledger: Ledger
    pins: tuple[int, ...] = ()
    binds_thinking: bool = False
    frame: int = 160
    summaries: tuple[int, ...] = ()
    placeholder: int = PLACEHOLDER
    fillers: tuple[int, ...] = ()
    calls: Mapping[int, int] = field(default_factory=dict)
    heavy: int = 0
    marked: int = 0
    edited: Mapping[int, int] = field(default_factory=dict)
    crowding: tuple[int, ...] = ()

    @cached_property
    def owner(self) -> NDArray[np.uint32]:
        """The message of each row."""
        return self.ledger.owner

    @cached_property
    def kind(self) -> NDArray[np.uint8]:
        """The ``Kind`` of each row."""
        return self.ledger.kind

    @cached_property
    def flags(self) -> NDArray[np.uint16]:
        """The ``RowFlag`` bits of each row."""
        return self.ledger.flags

    @cached_property
    def role(self) -> NDArray[np.uint8]:
        """The ``Role`` of each message."""
        return self.ledger.role

    @cached_property
    def tokens(self) -> NDArray[np.int64]:
        """Tokens of each row; 0 for thinking that an edit removes."""
        tokens = self._weighed.copy()
        if self.binds_thinking:
            tokens[self.thinking] = 0
        return tokens

    @cached_property
    def _weighed(self) -> NDArray[np.int64]:
        """Tokens of each row, or what its bytes weigh if that is more; thinking included."""
        tokens = self.ledger.tokens.astype(np.int64)
        if self.heavy:
            tokens = np.maximum(tokens, self.ledger.payload // self.heavy)
        tokens[list(self.edited)] -= self.array((*self.edited.values(),))
        return tokens

    @cached_property
    def thinking(self) -> NDArray[np.int64]:
        """Rows of thinking that an edit has to remove."""
        rows = np.flatnonzero(self.kind == Kind.THINKING)
        return rows if self.binds_thinking else rows[:0]

    @cached_property
    def per_message(self) -> NDArray[np.int64]:
        """Tokens of each message."""
        cost = self.ledger.per_message.astype(np.int64)
        if self.heavy or self.edited:
            np.add.at(cost, self.owner, self._weighed - self.ledger.tokens.astype(np.int64))
        if self.binds_thinking:
            np.subtract.at(cost, self.owner[self.thinking], self._weighed[self.thinking])
        return cost

    @cached_property
    def before(self) -> int:
        """Tokens of all messages, with the thinking that an edit removes."""
        return self.total + int(self._weighed[self.thinking].sum())

    @cached_property
    def messages(self) -> int:
        """Number of messages."""
        return len(self.role)

    @cached_property
    def total(self) -> int:
        """Tokens of all messages."""
        return int(self.per_message.sum())

    @cached_property
    def compaction(self) -> int | None:
        """The row of the provider's own newest compaction; None without one. One that failed is none."""
        rows = np.flatnonzero((self.kind == Kind.COMPACTION) & ((self.flags & (RowFlag.HIDES | RowFlag.SIGNED)) != 0))
        return int(rows[-1]) if len(rows) else None

    @cached_property
    def replaced(self) -> tuple[int, ...]:
        """Messages that the provider's own compaction stands for.

        None where a call in front of it has its result behind it, or a pin stands there. System text of Responses
        stays: the compaction need not have it.
        """
        if self.compaction is None:
            return ()
        behind = int(self.owner[self.compaction])
        begins = int(self.ledger.first[behind]) == self.compaction
        if not begins or not self.ledger.safe[behind] or any(pin < behind for pin in self.pins):
            return ()
        if self.ledger.provider == "anthropic":
            return tuple(range(behind))
        return tuple(np.flatnonzero(self.role[:behind] != Role.SYSTEM).tolist())

    @cached_property
    def skipped(self) -> tuple[int, ...]:
        """Those of ``replaced`` that leave with the first edit that removes messages.

        What the user says in front of OpenAI's item stays, but for ``crowding``: the item need not have it. It stands
        there in what ``responses.compact`` returns as the next prompt, and in what Codex sends.
        """
        if not self.replaced:  # as in most lists, at each plan
            return ()
        stays = {*self.said} - {*self.crowding}
        return tuple(message for message in self.replaced if message not in stays)

    @cached_property
    def said(self) -> tuple[int, ...]:
        """The user's own messages among ``replaced``, of OpenAI: no answer to a call. Anthropic reads none of them."""
        if self.ledger.provider == "anthropic":
            return ()
        is_said = (self.role == Role.USER) & self.begins_with_text[:-1]
        return tuple(message for message in self.replaced if is_said[message])

    def crowded(self, excess: int) -> Costs:
        """Return the costs of which the oldest of ``said`` leave that have so many tokens; never the last request."""
        left = self.array([message for message in self.said if message not in self.requests[-1:]])
        many = int(np.searchsorted(np.cumsum(self.per_message[left]), excess)) + 1
        return replace(self, crowding=tuple(left[:many].tolist()))

    @cached_property
    def head(self) -> int:
        """Number of messages at the start that no zone has: system text, and all up to a provider's own compaction.

        The provider ignores messages in front of its compaction, a summary included.
        """
        behind = 0 if self.compaction is None else int(self.owner[self.compaction]) + 1
        if behind:  # and what belongs to it: a result of its call, settings that came with it
            cuts = np.flatnonzero(self.ledger.safe[behind:])
            behind = behind + int(cuts[0]) if len(cuts) else self.messages
        leads = (self.role == Role.SYSTEM) & ~self.summarized
        leads[:behind] = True
        return self.messages if leads.all() else int(leads.argmin())

    def mask(self, messages: Sequence[int]) -> NDArray[np.bool_]:
        """Return a mask that is True at these messages."""
        found = np.zeros(self.messages, dtype=bool)
        if isinstance(messages, range):
            found[messages.start : messages.stop] = True
        else:
            found[list(messages)] = True
        return found

    @staticmethod
    def array(positions: Sequence[int]) -> NDArray[np.int64]:
        """Return positions as an index array."""
        return np.fromiter(positions, dtype=np.int64, count=len(positions))

    @cached_property
    def summarized(self) -> NDArray[np.bool_]:
        """Mask of the summaries of earlier compactions."""
        return self.mask(self.summaries)

    @cached_property
    def filled(self) -> NDArray[np.bool_]:
        """Mask of the notices and acknowledgements of earlier compactions."""
        return self.mask(self.fillers)

    @cached_property
    def begins_with_text(self) -> NDArray[np.bool_]:
        """Mask of the cuts in front of text of user or assistant, and of the last cut."""
        busy = np.isin(self.kind, (Kind.CALL, Kind.RESULT, Kind.SERVER_CALL, Kind.SERVER_RESULT))
        found = np.ones(self.messages + 1, dtype=bool)
        found[self.owner[busy]] = False
        return found

    @cached_property
    def safe(self) -> NDArray[np.bool_]:
        """Mask of the cuts behind the head that split no group."""
        safe = self.ledger.safe
        safe[: self.head] = False
        return safe

    @cached_property
    def opener(self) -> tuple[int, ...]:
        """The group that opens the open tool loop with thinking; it stays where a later step has none.

        Anthropic refuses a loop whose first message has no thinking. A model that binds thinking does not need it,
        because an edit removes all of it.
        """
        requests = self.requests
        if self.binds_thinking or self.ledger.provider not in ("anthropic", "bedrock") or not len(requests):
            return ()
        start = int(requests[-1]) + 1
        first = self.ledger.first[start:].astype(np.int64)  # rows of the loop's messages alone
        filled = first[:-1] < first[1:]
        thinks = np.zeros(len(first) - 1, dtype=bool)
        thinks[filled] = self.kind[first[:-1][filled]] == Kind.THINKING
        if start >= self.messages or not thinks[0] or self.answered:
            return ()
        return self.closed([start]) if (self.safe[start + 1 : self.messages] & ~thinks[1:]).any() else ()

    @cached_property
    def answered(self) -> bool:
        """Whether the last message is the assistant's, without an open call."""
        ends = self.role[-1] == Role.ASSISTANT
        return bool(ends and not (self.kind[int(self.ledger.first[-2]) :] == Kind.CALL).any())

    @cached_property
    def cuts(self) -> NDArray[np.int64]:
        """The safe cuts, ascending."""
        return np.flatnonzero(self.safe)

    @cached_property
    def last_group(self) -> int:
        """Start of the last group: the last safe cut in front of a message."""
        before = self.cuts[self.cuts < self.messages]
        return int(before[-1]) if len(before) else self.head

    def group(self, message: int) -> range:
        """Return the messages of the group of ``message``."""
        start = int(self.cuts[np.searchsorted(self.cuts, message, side="right") - 1])
        behind = int(np.searchsorted(self.cuts, message + 1))
        return range(start, int(self.cuts[behind]) if behind < len(self.cuts) else self.messages)

    def closed(self, messages: Iterable[int]) -> tuple[int, ...]:
        """Return the messages with their whole groups, ascending, without the head."""
        groups = (self.group(m) for m in messages if m >= self.head)
        return tuple(sorted({member for group in groups for member in group}))

    @cached_property
    def requests(self) -> NDArray[np.int64]:
        """Messages with the user's own text or images, ascending, without what earlier compactions put there."""
        kind = self.kind
        rows = (kind == Kind.TEXT) & ((self.flags & RowFlag.BLANK) == 0)
        rows |= (kind == Kind.IMAGE) | (kind == Kind.DOCUMENT)
        spoken = np.zeros(self.messages, dtype=bool)
        spoken[self.owner[rows]] = True
        found = np.flatnonzero(spoken & (self.role == Role.USER))
        own = {*self.summaries, *self.fillers}
        return found[~np.isin(found, list(own))] if own else found

    @cached_property
    def spoken(self) -> NDArray[np.int64]:
        """Tokens of each message that are the user's text, or an earlier summary."""
        rows = np.flatnonzero((self.kind == Kind.TEXT) & (self.role == Role.USER)[self.owner])
        found = np.zeros(self.messages, dtype=np.int64)
        np.add.at(found, self.owner[rows], self.tokens[rows])
        return found

    @cached_property
    def floor(self) -> tuple[int, ...]:
        """Messages that no policy removes: pins, the last request, open calls, and thinking that opens their loop."""
        opened = () if self.safe[self.messages] else range(self.last_group, self.messages)
        return self.closed([*self.pins, *(int(m) for m in self.requests[-1:]), *self.opener, *opened])

    def instructions(self) -> NDArray[np.int64]:
        """Return the system messages behind the head, without summaries."""
        found = np.flatnonzero((self.role == Role.SYSTEM) & ~self.summarized)
        return found[found >= self.head]

    def results(self, start: int, stop: int, *, at_least: int, without: Iterable[int] = ()) -> NDArray[np.int64]:
        """Return rows of editable results in messages ``start`` to ``stop`` with more than ``at_least`` tokens."""
        fits = (self.kind == Kind.RESULT) & ((self.flags & (RowFlag.PRUNED | RowFlag.WHOLE)) == 0)
        return self._among(fits, start, stop, at_least=at_least, without=without)

    def freed(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tokens that pruning each of the rows saves."""
        left = np.full(len(rows), self.placeholder, dtype=np.int64)
        if self.calls:
            for place in np.flatnonzero(self.called[rows]).tolist():
                left[place] = self.calls[int(rows[place])]
        return np.asarray(self.tokens[rows] - left)

    def saved(self, edit: Prune | Truncate | Cut) -> NDArray[np.int64]:
        """Return the tokens that an edit saves of each of its rows."""
        rows = self.array(edit.rows)
        match edit:
            case Prune():
                return self.freed(rows)
            case Truncate(_, most):
                return np.asarray((self.tokens[rows] - most).clip(min=0))
            case Cut(_, most, unit):
                length = getattr(self.ledger, unit)[rows]
                return np.asarray(self.tokens[rows] * (length - most).clip(min=0) // length.clip(min=1))

    def after(self, edits: Iterable[Prune | Truncate | Cut]) -> Costs:
        """Return the costs that the edits leave for other stages."""
        edited = dict(self.edited)
        for edit in edits:
            for row, tokens in zip(edit.rows, self.saved(edit).tolist(), strict=True):
                edited[row] = edited.get(row, 0) + tokens
        return replace(self, edited=edited)

    @cached_property
    def called(self) -> NDArray[np.bool_]:
        """Mask of the calls with long arguments."""
        found = np.zeros(len(self.kind), dtype=bool)
        found[list(self.calls)] = True
        return found

    def prunable(self, start: int, stop: int, *, at_least: int, without: Iterable[int] = ()) -> NDArray[np.int64]:
        """Return rows of editable results, and of calls with long arguments, like ``results``."""
        rows = self.results(start, stop, at_least=at_least, without=without)
        if not self.calls:
            return rows
        return self.merged(rows, self._among(self.called.copy(), start, stop, at_least=at_least, without=without))

    def images(self, start: int, stop: int, *, at_least: int, without: Iterable[int] = ()) -> NDArray[np.int64]:
        """Return rows of the user's images in messages ``start`` to ``stop`` with more than ``at_least`` tokens."""
        fits = (self.kind == Kind.IMAGE) & (self.role[self.owner] == Role.USER)
        return self._among(fits, start, stop, at_least=at_least, without=without)

    def _among(
        self, fits: NDArray[np.bool_], start: int, stop: int, *, at_least: int, without: Iterable[int]
    ) -> NDArray[np.int64]:
        fits &= (self.tokens > at_least) & (self.owner >= start) & (self.owner < stop)
        if without := tuple(without):
            fits &= ~self.mask(without)[self.owner]
        fits[list(self.edited)] = False
        return np.flatnonzero(fits)

    @cached_property
    def pictured(self) -> NDArray[np.bool_]:
        """Mask of the rows with an image."""
        found = np.zeros(len(self.kind), dtype=bool)
        found[self.ledger.pictured] = True
        return found

    @cached_property
    def superseded(self) -> NDArray[np.bool_]:
        """Mask of the results of reads of a file that was read again later."""
        found: NDArray[np.bool_] = self.ledger.superseded >= 0
        return found

    @staticmethod
    def merged(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of both, ascending."""
        return np.sort(np.concatenate([one, other]))

    def inside(self, rows: NDArray[np.int64], cut: int, also: Iterable[int]) -> NDArray[np.int64]:
        """Return the ``rows`` behind ``cut`` or in the messages ``also``."""
        owner = self.owner[rows]
        return rows[(owner >= cut) | self.mask(tuple(also))[owner]]

    def may_follow(self, stop: int, start: int) -> bool:
        """Return whether message ``start`` may follow message ``stop - 1``: not if both are the assistant's."""
        both = start < self.messages and self.role[stop - 1] == Role.ASSISTANT == self.role[start]
        return stop == start or not both

    def cost_without(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tokens of each message after ``rows`` are pruned."""
        cost = self.per_message.copy()
        np.subtract.at(cost, self.owner[rows], self.freed(rows))
        return cost


def prunable_calls(ledger: Ledger) -> NDArray[np.bool_]:
    """Return the mask of the answered calls whose arguments may change: unsigned, and not of running code."""
    kept = RowFlag.SIGNED | RowFlag.FROM_CODE | RowFlag.INCOMPLETE
    return np.asarray((ledger.kind == Kind.CALL) & (ledger.pair >= 0) & ((ledger.flags & kept) == 0))


def pruned_calls(messages: Sequence[Message], ledger: Ledger, counter: Counter, chars: int) -> dict[int, int]:
    """Return the rows of answered calls with long arguments, and at most how many tokens each has without them.

    Calls that the provider has signed, and those of running code, are not among them.

    Args:
        messages: the transcript.
        ledger: of the messages.
        counter: counts the texts, as it counted the ledger.
        chars: characters of a text in the arguments that stays.
    """
    rows = (prunable_calls(ledger) & (ledger.tokens > chars // BYTES_A_TOKEN)).nonzero()[0].tolist()
    if not rows:
        return {}
    found, tokens = {}, ledger.tokens
    for row, texts in zip(rows, long_texts(ledger.calls(messages[:], rows), chars), strict=True):
        if texts:
            freed = sum(map(counter.count, texts)) - len(texts) * (JOINTS + PLACEHOLDER_TEXT)
            if freed > 0:
                found[row] = max(int(tokens[row]) - freed, 0)
    return found
