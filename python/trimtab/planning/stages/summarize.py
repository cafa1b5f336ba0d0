"""The stages that replace the oldest messages: by a summary, or in an emergency by a notice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ... import _core
from ..._repr import short
from ..edits import Summarize, Truncate, dropped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from ..edits import Drop, Edit, Prune
    from .costs import Costs
    from .keep import Keep
    from .template import Template

    Prunes: TypeAlias = Callable[[Costs, NDArray[np.int64]], Iterator[Prune]]

SMALLEST = 48
"""Least tokens of a truncated result: room for the notice and one line."""

YIELDS = 400
"""Target in tokens below which, with ``words``, the last answer may leave too."""

SHORT_YIELDS = 1_000, 40
"""Target in tokens below which, with ``words``, a last answer may leave too, and the most tokens of it: one so short
only acknowledges."""

RECENT = 3, 300
"""With ``words``, the newest messages have at least a third of the target, less 300 tokens: in a short list, the user's
words are worth more than what followed them."""


@dataclass(frozen=True, slots=True)
class SummarizeZone:
    """Cuts where the tail with its old results pruned just fits, then returns content for the free tokens.

    Attributes:
        share: share of the target for the summary.
        min_tokens: lower bound of the summary's limit.
        max_tokens: upper bound of the summary's limit; tokens that no message can use are added to it.
        spare: share of the target that may stay free before older groups are kept.
        if_needed: summarize only if pruning does not reach the target (agentpg, "Hybrid Strategy", phase 2).
        template: the words of the request; None uses those of the summarizer.
        model: the model to ask; None asks the session's model, or the summarizer's.
        words: give the summary room for the user's words in the zone, before more of the newest messages stay.
        by_price: if neither the policy nor the caller names a model, ask the cheapest: the summarizer's own, the
            session's, or the session's with the cached prompt.
    """

    __repr__ = short

    share: float
    min_tokens: int
    max_tokens: int
    spare: float = 0.05
    if_needed: bool = False
    template: Template | None = None
    model: str | None = None
    by_price: bool = False
    words: bool = False

    def zone(self, costs: Costs, leaving: NDArray[np.bool_], *, whole: bool) -> Summarize | None:
        """Return a summary in place of the messages that are ``leaving``, or None if there are none.

        Its limit is ``max_tokens``; unless ``whole``, at most a third of the replaced tokens and at least
        ``min_tokens``, so that a summary that cannot shrink the transcript is refused before a model is asked. An
        earlier summary leaves with other messages, not alone, and the new one may have as many tokens: each of a chain
        would lose two thirds of what the one before told.
        """
        if whole:
            return zone(costs, leaving, self.max_tokens)
        if not (leaving & ~costs.summarized & ~costs.filled).any():
            return None
        replaced = int(costs.per_message[leaving].sum())
        earlier = int(costs.per_message[leaving & costs.summarized].sum())
        return zone(costs, leaving, min(self.max_tokens, max(replaced // 3, self.min_tokens, earlier)))

    def limit(self, target: int) -> int:
        """Return the most tokens of the summary: at most a third of the target."""
        return min(max(int(self.share * target), self.min_tokens), self.max_tokens, target // 3)

    def _wanted(self, costs: Costs, target: int, verbatim: tuple[int, ...]) -> int:
        """Return the tokens that a summary needs for the user's words, and the lines of earlier summaries."""
        if not self.words:
            return self.limit(target)
        spoken = int(costs.spoken.sum() - costs.spoken[list(verbatim)].sum())
        return min(max(int(self.share * target), self.min_tokens) + spoken, max(self.max_tokens, target // 3))

    def _answer_yields(self, costs: Costs, target: int) -> bool:
        """Return whether the last answer may leave too, for the user's words."""
        if not self.words or not costs.answered:
            return False
        least, few = SHORT_YIELDS
        return target < YIELDS or (target < least and int(costs.per_message[-1]) <= few)

    def edits(
        self, costs: Costs, target: int, *, verbatim: tuple[int, ...], prunable: NDArray[np.int64], prune: Prunes
    ) -> Iterator[Edit]:
        """Yield the edits that bring the transcript to ``target``, or as near as possible.

        Args:
            costs: costs of the transcript.
            target: tokens to reach.
            verbatim: messages that never leave.
            prunable: rows that may be pruned, in pruning order.
            prune: returns the edits that prune rows.
        """
        cost = costs.cost_without(prunable)
        fixed = int(costs.per_message[: costs.head].sum() + costs.per_message[list(verbatim)].sum())
        cost[: costs.head] = 0
        cost[list(verbatim)] = 0
        free = target - costs.frame - fixed
        limit, wanted = self.limit(target), self._wanted(costs, target, verbatim)
        if self.words:
            last = 0 if self._answer_yields(costs, target) else int(cost[costs.last_group :].sum())
            recent = max(target // RECENT[0] - RECENT[1], last)
            limit = max(min(wanted, free - recent), min(limit, free), min(limit, SMALLEST))
        free -= limit
        cut = _core.split(cost.astype("uint32"), costs.safe, keep=max(free, 0))
        last = costs.messages if self._answer_yields(costs, target) else costs.last_group
        cut = last if cut is None else min(cut, last)
        left = free - int(cost[cut:].sum())
        if left < 0:  # large last group: shrink the summary to half of its limit at most, then truncate results
            inside = costs.results(cut, costs.messages, at_least=SMALLEST, without=verbatim)
            words_alone = self.words and not len(inside)
            least = min(limit, SMALLEST) if words_alone else max(limit // 2, min(limit, self.min_tokens))
            limit, left = max(limit + left, least), min(left + limit - least, 0)
            yield from squeeze(costs, inside, -left)
            left = 0
        more = max(min(left, wanted - limit), 0)
        limit, left = limit + more, left - more
        also, left = self._older_groups(costs, cost, cut, left, target)
        staying = tuple(sorted({*(m for m in verbatim if m < cut), *also} - {*costs.fillers}))
        pruned = costs.inside(prunable, cut, also)
        returned, left, part = unpruned(costs, pruned, costs.freed(pruned), left)
        if part is not None:
            yield Truncate((part,), left + costs.placeholder)
            left = 0
        yield from prune(costs, pruned[: len(pruned) - returned - (part is not None)])
        stop, staying = _with_summaries(costs, cut, staying)
        leaves = costs.mask(range(costs.head, stop)) & ~costs.filled
        leaves[list(staying)] = False
        again = (
            int(costs.per_message[leaves].sum()) <= limit + left + costs.frame
        )  # it would not make a summary smaller
        if (leaves & ~costs.summarized).any() or (leaves.any() and not again):
            yield Summarize(costs.head, stop, limit + left, staying)

    def _older_groups(
        self, costs: Costs, cost: NDArray[np.int64], cut: int, left: int, target: int
    ) -> tuple[list[int], int]:
        """Return older groups that fit the tokens left free by a large group in front of the tail, and the rest."""
        also: list[int] = []
        own = costs.summarized | costs.filled
        before = costs.cuts[costs.cuts <= cut]
        follows = cut
        for start, stop in zip(before[-2::-1], before[:0:-1], strict=False):
            if left <= target * self.spare:
                break
            group = int(cost[start:stop].sum())
            if 0 < group <= left and not own[start] and costs.may_follow(int(stop), follows):
                also.extend(range(int(start), int(stop)))
                left -= group
                follows = int(start)
        return also, left


def squeeze(costs: Costs, rows: NDArray[np.int64], over: int) -> Iterator[Truncate]:
    """Truncate the largest of these results to one cap, so that ``over`` tokens leave, or as many as can."""
    sizes = costs.tokens[rows]
    if over <= 0 or not len(sizes):
        return
    cap = cap_within(sizes, int(sizes.sum()) - over)
    if large := tuple(int(row) for row in rows[sizes > cap]):
        yield Truncate(large, cap)


def cap_within(sizes: NDArray[np.int64], most: int) -> int:
    """Return the largest cap, and at least ``SMALLEST``, at which results of these tokens have at most so many."""
    low, high = SMALLEST, int(sizes.max())
    while low < high:
        cap = (low + high + 1) // 2
        low, high = (cap, high) if int(sizes.clip(max=cap).sum()) <= most else (low, cap - 1)
    return low


def zone(costs: Costs, leaving: NDArray[np.bool_], limit: int) -> Summarize | None:
    """Return a summary of at most ``limit`` tokens for the messages that are ``leaving``, or None without any."""
    gone = leaving.nonzero()[0]
    if not len(gone):
        return None
    start, stop = costs.head, int(gone[-1]) + 1
    stays = ~leaving & ~costs.filled
    return Summarize(start, stop, limit, tuple((stays[start:stop].nonzero()[0] + start).tolist()))


@dataclass(frozen=True, slots=True)
class Emergency:
    """Drops all but the newest messages behind a notice; it succeeds at any size.

    Attributes:
        keep: the messages that stay.
        notice: the text in place of the others.
    """

    __repr__ = short

    keep: Keep
    notice: str

    def edit(self, costs: Costs, leaving: NDArray[np.bool_]) -> Drop | None:
        """Return the drop of the messages that are ``leaving``, or None if there are none."""
        found = zone(costs, leaving, 0)
        return None if found is None else dropped(found, self.notice)


def _with_summaries(costs: Costs, cut: int, staying: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Return the end of the zone and what stays in it, so that earlier summaries in the tail leave too."""
    late = [message for message in costs.summaries if message >= cut and message not in costs.pins]
    if not late:
        return cut, staying
    own, stop = {*late, *costs.fillers}, late[-1] + 1
    return stop, (*staying, *(message for message in range(cut, stop) if message not in own))


def unpruned(
    costs: Costs, pruned: NDArray[np.int64], gains: NDArray[np.int64], left: int
) -> tuple[int, int, int | None]:
    """Return how many rows fit unpruned, the last pruned first, the tokens left, and the row that may have these.

    Args:
        costs: the transcript.
        pruned: the rows, in pruning order.
        gains: tokens that each takes more unpruned.
        left: free tokens.

    Returns:
        The row is None where no further one is of use in part.
    """
    taken = gains[::-1].cumsum()
    returned = int(taken.searchsorted(left, side="right"))
    if returned:
        left -= int(taken[returned - 1])
    if returned == len(pruned) or left <= 2 * SMALLEST:
        return returned, left, None
    row = int(pruned[-returned - 1])
    return returned, left, None if costs.pictured[row] or costs.called[row] else row
