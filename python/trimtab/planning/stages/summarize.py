"""The oldest messages leave; a summary stands in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ... import _core
from ..._repr import short
from ..plan import Summarize, Truncate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from ..plan import Edit, Prune
    from .draft import Draft
    from .template import Template

    Prunes: TypeAlias = Callable[[Draft, NDArray[np.int64]], Iterator[Prune]]

SMALLEST = 48
"""A truncated result keeps at least this: less would not hold the notice and a line."""


@dataclass(frozen=True, slots=True)
class SummarizeZone:
    """Cuts where the tail, its old results pruned, just fits; then gives back what room is left.

    Attributes:
        share: of the target, for the summary.
        min_tokens: least limit of a summary.
        max_tokens: most of one, but for room that nothing else can use.
        spare: share of the target that may be left over before older groups are let in.
        if_needed: asked for only where what was pruned does not reach the target (seed 002, phase 2).
        template: how a model is asked; None asks as the summarizer does by itself.
        model: who is asked; None is the session's own model, or the summarizer's.
        by_price: where neither the policy nor the caller names who is asked, it is who costs least: the summarizer's
            own model, the session's, or the session's with all that its provider has in its cache.
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

    def zone(self, draft: Draft, leaving: NDArray[np.bool_], *, whole: bool) -> Summarize | None:
        """A summary in the place of the messages that are ``leaving``; None where there are none.

        Its limit is ``max_tokens``; unless ``whole``, no more than a third of what it replaces, and never less than
        ``min_tokens``: where that is not smaller than what it replaces, nobody need be asked to find out.
        """
        gone = leaving.nonzero()[0]
        if not len(gone):
            return None
        start, stop = draft.head, int(gone[-1]) + 1
        keep = tuple(((~leaving[start:stop]).nonzero()[0] + start).tolist())
        replaced = int(draft.cost[gone].sum())
        limit = self.max_tokens if whole else min(self.max_tokens, max(replaced // 3, self.min_tokens))
        return Summarize(start, stop, limit, keep)

    def asked(self, session: str) -> str:
        """Who is asked: the stage's own model, or the session's."""
        return self.model or session

    def limit(self, target: int) -> int:
        """Most tokens of the summary; never more than a third of the target."""
        return min(max(int(self.share * target), self.min_tokens), self.max_tokens, target // 3)

    def edits(
        self, draft: Draft, target: int, *, verbatim: tuple[int, ...], prunable: NDArray[np.int64], prune: Prunes
    ) -> Iterator[Edit]:
        """Summary, pruned and truncated results that bring the transcript to ``target``, or as near as can be.

        Args:
            draft: the transcript.
            target: tokens that are aimed at.
            verbatim: messages that never leave.
            prunable: rows that may be pruned, in the order in which they go.
            prune: makes the edits of rows that are.
        """
        limit = self.limit(target)
        cost = draft.cost_without(prunable)
        fixed = int(draft.cost[: draft.head].sum() + draft.cost[list(verbatim)].sum())
        cost[: draft.head] = 0
        cost[list(verbatim)] = 0
        room = target - limit - draft.frame - fixed
        cut = _core.split(cost.astype("uint32"), draft.safe, keep=max(room, 0))
        cut = draft.last_group if cut is None else min(cut, draft.last_group)
        left = room - int(cost[cut:].sum())
        if left < 0:  # the last group is large: the summary gives up to half of its room, then results lose some
            least = max(limit // 2, min(limit, self.min_tokens))
            limit, left = max(limit + left, least), min(left + limit - least, 0)
            yield from self._squeeze(draft, cut, -left, verbatim)
            left = 0
        also, left = self._also(draft, cost, cut, left, target)
        staying = tuple(sorted({*(m for m in verbatim if m < cut), *also}))
        pruned = draft.inside(prunable, cut, also)
        returned, part, left = _give_back(draft, pruned, left)
        if part:
            yield Truncate((int(pruned[-returned - 1]),), part)
        yield from prune(draft, pruned[: len(pruned) - returned - bool(part)])
        if cut > draft.head:
            yield Summarize(draft.head, cut, limit + left, staying)

    def _also(self, draft: Draft, cost: NDArray[np.int64], cut: int, left: int, target: int) -> tuple[list[int], int]:
        """Older groups for which there is room where a large one in front of the tail left much of it unused."""
        also: list[int] = []
        before = draft.cuts[draft.cuts <= cut]
        follows = cut
        for start, stop in zip(before[-2::-1], before[:0:-1], strict=False):
            if left <= target * self.spare:
                break
            group = int(cost[start:stop].sum())
            if 0 < group <= left and draft.may_follow(int(stop), follows):
                also.extend(range(int(start), int(stop)))
                left -= group
                follows = int(start)
        return also, left

    def _squeeze(self, draft: Draft, cut: int, over: int, verbatim: tuple[int, ...]) -> Iterator[Edit]:
        """Truncates the tail's largest results alike until ``over`` tokens are gone."""
        if not over:
            return
        rows = draft.results(cut, draft.messages, at_least=SMALLEST, without=verbatim)
        sizes = draft.tokens[rows]
        wanted = int(sizes.sum()) - over
        low, high = SMALLEST, int(sizes.max()) if len(sizes) else SMALLEST
        while low < high:  # the largest cap whose sum fits
            cap = (low + high + 1) // 2
            low, high = (cap, high) if int(sizes.clip(max=cap).sum()) <= wanted else (low, cap - 1)
        if large := tuple(int(row) for row in rows[sizes > low]):
            yield Truncate(large, low)


def _give_back(draft: Draft, pruned: NDArray[np.int64], left: int) -> tuple[int, int, int]:
    """How many of the rows pruned last fit whole, what part of the next one does, and what is left then."""
    gains = (draft.tokens[pruned[::-1]] - draft.placeholder).cumsum()
    returned = int(gains.searchsorted(left, side="right"))
    if returned:
        left -= int(gains[returned - 1])
    if returned < len(pruned) and left > 2 * SMALLEST and not draft.pictured[pruned[-returned - 1]]:
        return returned, left + draft.placeholder, 0
    return returned, 0, left
