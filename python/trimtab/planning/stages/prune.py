"""Old pictures and tool results lose their content first: they are the largest, and can be had again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..._repr import short
from ...ledger.columns import Kind, RowFlag
from ..plan import Cut, Prune, Reason, Truncate

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from ..plan import Edit
    from .draft import Draft


@dataclass(frozen=True, slots=True)
class PruneResults:
    """Which results lose their content, and what stands in its place.

    Attributes:
        min_tokens: results up to this size stay: a placeholder would hardly be smaller.
        leaving: only results in messages that may be compacted.
        longer_than: results up to this length stay, in ``unit``.
        first: this much of the content stays, in ``unit``, with ``marker`` behind it; None leaves a placeholder.
        unit: of the two.
        marker: what stands where a result was cut.
        placeholder: what stands in the place of a result; empty says how many tokens were there.
        age: this many of the newest messages are not touched.
        turns: this many of the newest turns are not touched.
        protect: the newest results stay until there are more tokens of them than this.
        minimum: it is not done for less than this, in tokens.
        skip: results of these tools stay.
        completed: results that report an error stay.
        stops: what is older than the latest summary, or than a result already pruned, is not looked at.
        when: moments at which it is done whatever the trigger says.
        order: what goes before the rest, where no more goes than the target needs: ``images`` (pictures of the user's,
            and results that hold one) and ``superseded`` (results of reading a file that a newer read of it made old).
    """

    __repr__ = short

    min_tokens: int = 0
    leaving: bool = False
    longer_than: int = 0
    first: int | None = None
    unit: Literal["bytes", "chars", "utf16"] = "bytes"
    marker: str = ""
    placeholder: str = ""
    age: int | None = None
    turns: int = 0
    protect: int = 0
    minimum: int = 0
    skip: tuple[str, ...] = ()
    completed: bool = False
    stops: bool = False
    when: tuple[str, ...] = ()
    order: tuple[Reason, ...] = ()

    def candidates(self, draft: Draft, *, before: int, without: tuple[int, ...]) -> NDArray[np.int64]:
        """Rows that may be pruned, in the order in which they go: by ``order``, then oldest first."""
        rows = draft.results(0, before, at_least=self.min_tokens, without=without)
        if "images" in self.order:
            rows = draft.merged(rows, draft.pictures(0, before, at_least=self.min_tokens, without=without))
        return rows[self._ranks(draft, rows).argsort(kind="stable")]

    def _ranks(self, draft: Draft, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each row, the place in ``order`` of why it goes; behind them all where it is for no such reason."""
        held = {"images": draft.pictured, "superseded": draft.superseded}
        ranks = draft.array((len(self.order),)).repeat(len(rows))
        for place, reason in reversed(tuple(enumerate(self.order))):
            ranks[held[reason][rows]] = place
        return ranks

    def pruned(self, draft: Draft, rows: NDArray[np.int64]) -> Iterator[Prune]:
        """Placeholders in the place of these rows, an edit a reason."""
        ranks = self._ranks(draft, rows)
        for place, why in enumerate((*self.order, "")):
            if len(found := rows[ranks == place]):
                found.sort()
                yield Prune(tuple(found.tolist()), self.placeholder, why)

    def select(self, draft: Draft, leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Rows whose content goes, oldest first, by all rules but the target's and the minimum's."""
        rows = draft.results(0, self._before(draft), at_least=self.min_tokens)
        keep = getattr(draft.ledger, self.unit)[rows] > self.longer_than
        if self.leaving:
            keep &= leaving[draft.owner[rows]]
        if self.completed:
            keep &= (draft.flags[rows] & RowFlag.ERROR) == 0
        if self.skip:
            keep &= ~draft.ledger.named(self.skip)[rows]
        if self.stops:
            keep &= rows >= self._stop(draft)
        rows = rows[keep]
        if self.protect:
            newest_first = draft.tokens[rows[::-1]].cumsum()[::-1]
            rows = rows[newest_first > self.protect]
        found: NDArray[np.int64] = rows
        return found

    def gain(self, draft: Draft, rows: NDArray[np.int64]) -> int:
        """Tokens that the rows have less once it is done to them; 0 where that is below the minimum."""
        held = draft.tokens[rows]
        if not len(rows) or (self.minimum and int(held.sum()) <= self.minimum):
            return 0
        if self.first is None:
            return int((held - draft.placeholder).sum())
        length = getattr(draft.ledger, self.unit)[rows].astype("int64")
        return int((held * (length - self.first).clip(min=0) // length.clip(min=1)).sum())

    def edits(self, rows: NDArray[np.int64]) -> Iterator[Edit]:
        """What is done to the rows."""
        if not len(rows):
            return
        positions = tuple(rows.tolist())
        if self.first is None:
            yield Prune(positions, self.placeholder)
        else:
            yield Cut(positions, self.first, self.unit, self.marker)

    def enough_of(self, draft: Draft, rows: NDArray[np.int64], need: int) -> Iterator[Edit]:
        """Edits of ``rows`` that take off at least ``need`` tokens, and hardly more; what goes first goes whole."""
        gains = (draft.tokens[rows] - draft.placeholder).cumsum()
        last = int(gains.searchsorted(need))
        before = int(gains[last - 1]) if last else 0
        tipping = int(rows[last])
        rest = int(draft.tokens[tipping]) - (need - before)
        plain = self._ranks(draft, rows[last : last + 1])[0] == len(self.order) and not draft.pictured[tipping]
        cuts = rest > 2 * self.min_tokens and plain
        if cuts:
            yield Truncate((tipping,), rest)
        yield from self.pruned(draft, rows[: last + (not cuts)])

    def _before(self, draft: Draft) -> int:
        """The first message that is not touched."""
        before = draft.messages
        if self.age is not None:
            before = min(before, draft.messages - max(self.age, 0))
        if self.turns:
            began = draft.requests()
            before = min(before, int(began[-self.turns]) if len(began) >= self.turns else 0)
        return max(before, 0)

    def _stop(self, draft: Draft) -> int:
        """The first row behind the latest summary and the newest result already pruned."""
        done = (draft.kind == Kind.RESULT) & ((draft.flags & RowFlag.PRUNED) != 0)
        summaries = draft.summarized.nonzero()[0]
        behind = int(draft.ledger.first[summaries[-1] + 1]) if len(summaries) else 0
        return max(behind, int(done.nonzero()[0].max(initial=-1)) + 1)
