"""The prune stage: old images and tool results lose their content; a tool can be called again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..._repr import short
from ...ledger.columns import Kind, RowFlag
from ..edits import Cut, Prune, Reason, Truncate

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from ..edits import Edit
    from ..savings import Rates
    from .costs import Costs


@dataclass(frozen=True, slots=True)
class PruneResults:
    """The results that lose their content, and their replacement.

    Attributes:
        min_tokens: results up to this size stay.
        compactable_only: prune only results in messages that may be compacted.
        min_length: results up to this length stay, in ``unit``.
        keep_length: length of the kept beginning, in ``unit``, followed by ``marker``; None leaves a placeholder.
        unit: unit of both lengths.
        marker: the text at the end of a cut result.
        placeholder: the text in place of a result; empty states the number of removed tokens.
        keep_messages: number of newest messages that are not pruned.
        keep_turns: number of newest turns that are not pruned.
        protect_tokens: tokens of the newest results that stay.
        min_gain: prune nothing unless more tokens than this can go.
        pays: at the moments of ``when``, prune nothing until that costs less than to go on sending it: by the model's
            prices and by what the calls' usage tells of the provider's cache. ``min_gain`` is the least even then, and
            alone decides where the prices are unknown. Nothing is pruned while no usage tells of a cache. The last
            group of messages stays.
        argument_chars: characters of a text in a call's arguments, such as a file that it writes, that stays; a longer
            one is pruned where a result would be. None prunes no arguments.
        skip: names of tools whose results and arguments stay.
        skip_errors: results that report an error stay.
        stop_at_pruned: results older than the latest summary or the latest pruned result stay.
        when: moments at which pruning runs without the trigger.
        order: kinds that are pruned first: ``images`` (the user's images and results with an image), ``superseded``
            (reads of a file that was read again later) and ``arguments`` (of calls).
    """

    __repr__ = short

    min_tokens: int = 0
    compactable_only: bool = False
    min_length: int = 0
    keep_length: int | None = None
    unit: Literal["bytes", "chars", "utf16"] = "bytes"
    marker: str = ""
    placeholder: str = ""
    keep_messages: int | None = None
    keep_turns: int = 0
    protect_tokens: int = 0
    min_gain: int = 0
    pays: bool = False
    argument_chars: int | None = None
    skip: tuple[str, ...] = ()
    skip_errors: bool = False
    stop_at_pruned: bool = False
    when: tuple[str, ...] = ()
    order: tuple[Reason, ...] = ()

    def candidates(self, costs: Costs, *, before: int, without: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the rows that may be pruned, in pruning order: by ``order``, then oldest first."""
        rows = costs.prunable(0, before, at_least=self.min_tokens, without=without)
        if "images" in self.order:
            rows = costs.merged(rows, costs.images(0, before, at_least=self.min_tokens, without=without))
        if self.skip:
            rows = rows[~costs.ledger.named(self.skip)[rows]]
        return rows[self._ranks(costs, rows).argsort(kind="stable")]

    def _ranks(self, costs: Costs, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each row its place in ``order``, or the length of ``order`` for other rows."""
        held = {"images": costs.pictured, "superseded": costs.superseded, "arguments": costs.called}
        ranks = costs.array((len(self.order),)).repeat(len(rows))
        for place, reason in reversed(tuple(enumerate(self.order))):
            ranks[held[reason][rows]] = place
        return ranks

    def pruned(self, costs: Costs, rows: NDArray[np.int64]) -> Iterator[Prune]:
        """Yield the edits that prune these rows, one for each reason."""
        ranks = self._ranks(costs, rows)
        for place, why in enumerate((*self.order, "")):
            if len(found := rows[ranks == place]):
                found.sort()
                yield self._prune(found, why)

    def _prune(self, rows: NDArray[np.int64], why: str = "") -> Prune:
        return Prune(tuple(rows.tolist()), self.placeholder, why, keep_chars=self.argument_chars or 0)

    def select(self, costs: Costs, leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the rows to prune, oldest first, by all rules except the target and ``min_gain``; none of a pin."""
        rows = costs.prunable(0, self._before(costs), at_least=self.min_tokens, without=costs.pins)
        keep = getattr(costs.ledger, self.unit)[rows] > self.min_length
        if self.compactable_only:
            keep &= leaving[costs.owner[rows]]
        if self.skip_errors:
            keep &= (costs.flags[rows] & RowFlag.ERROR) == 0
        if self.skip:
            keep &= ~costs.ledger.named(self.skip)[rows]
        if self.stop_at_pruned:
            keep &= rows >= self._stop(costs)
        rows = rows[keep]
        if self.protect_tokens:
            newest_first = costs.tokens[rows[::-1]].cumsum()[::-1]
            rows = rows[newest_first > self.protect_tokens]
        found: NDArray[np.int64] = rows
        return found

    def worth(self, costs: Costs, rows: NDArray[np.int64], rates: Rates) -> NDArray[np.int64]:
        """Return the newest of the rows that it pays to prune at once; none if it does not pay yet.

        An old row in front of much that stays is left alone until the rows together save more than the rewrite costs.
        """
        if not len(rows) or rates.cold is None:
            return rows[:0]
        gains = costs.freed(rows)[::-1].cumsum()[::-1]
        edited = rows.clip(max=int(costs.thinking[0])) if len(costs.thinking) else rows
        rewrites = costs.tokens[::-1].cumsum()[::-1][edited] - gains
        start = 0
        if rates.known and rates.growth:
            # The tokens gather for half a cycle of gain / growth calls, in the mean.
            start = int((rates.kept * gains**2 / (2 * rates.growth) - rates.rewritten * rewrites).argmax())
        least = max(self.min_gain, rates.least(int(rewrites[start])))
        return rows[start:] if int(gains[start]) >= least else rows[:0]

    def gain(self, costs: Costs, rows: NDArray[np.int64]) -> int:
        """Return the tokens that pruning the rows saves; 0 if ``min_gain`` is not exceeded."""
        held = costs.tokens[rows]
        if not len(rows) or (self.min_gain and not self.pays and int(held.sum()) <= self.min_gain):
            return 0
        if self.keep_length is None:
            return int(costs.freed(rows).sum())
        length = getattr(costs.ledger, self.unit)[rows].astype("int64")
        return int((held * (length - self.keep_length).clip(min=0) // length.clip(min=1)).sum())

    def edits(self, costs: Costs, rows: NDArray[np.int64]) -> Iterator[Edit]:
        """Yield the edit that prunes or cuts the rows."""
        if not len(rows):
            return
        if self.keep_length is not None:
            yield Cut(tuple(rows.tolist()), self.keep_length, self.unit, self.marker)
            return
        for part, why in ((costs.called[rows], "arguments"), (~costs.called[rows], "")):
            if part.any():
                yield self._prune(rows[part], why)

    def enough_of(self, costs: Costs, rows: NDArray[np.int64], need: int) -> Iterator[Edit]:
        """Yield edits of ``rows`` that save just over ``need`` tokens; only a plain row is truncated."""
        gains = costs.freed(rows).cumsum()
        last = int(gains.searchsorted(need))
        before = int(gains[last - 1]) if last else 0
        tipping = int(rows[last])
        rest = int(costs.tokens[tipping]) - (need - before)
        plain = self._ranks(costs, rows[last : last + 1])[0] == len(self.order) and not costs.pictured[tipping]
        plain = plain and not costs.called[tipping]
        cuts = rest > 2 * self.min_tokens and plain
        if cuts:
            yield Truncate((tipping,), rest)
        yield from self.pruned(costs, rows[: last + (not cuts)])

    def _before(self, costs: Costs) -> int:
        """Return the first message that is not pruned."""
        before = costs.messages
        if self.keep_messages is not None:
            before = min(before, costs.messages - max(self.keep_messages, 0))
        if self.keep_turns:
            began = costs.requests
            before = min(before, int(began[-self.keep_turns]) if len(began) >= self.keep_turns else 0)
        if self.pays:
            before = min(before, costs.last_group)
        return max(before, 0)

    def _stop(self, costs: Costs) -> int:
        """Return the first row behind the latest summary and the latest pruned result."""
        done = (costs.kind == Kind.RESULT) & ((costs.flags & RowFlag.PRUNED) != 0)
        summaries = costs.summarized.nonzero()[0]
        behind = int(costs.ledger.first[summaries[-1] + 1]) if len(summaries) else 0
        return max(behind, int(done.nonzero()[0].max(initial=-1)) + 1)
