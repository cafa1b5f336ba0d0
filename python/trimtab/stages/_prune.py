"""Old tool results lose their content first: they are the largest, and can be had again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._plan import Prune, Truncate
from ._sizes import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from .._plan import Edit
    from ._draft import Draft


@dataclass(frozen=True, slots=True)
class PruneResults:
    """Oldest first, no more than needed; the one that tips the scale is truncated instead.

    Attributes:
        min_tokens: results up to this size stay: a placeholder would hardly be smaller.
    """

    min_tokens: int

    def candidates(self, draft: Draft, *, before: int, without: tuple[int, ...]) -> NDArray[np.int64]:
        """Rows that may be pruned, oldest first."""
        return draft.results(0, before, at_least=self.min_tokens, without=without)

    def enough(self, draft: Draft, rows: NDArray[np.int64], need: int) -> Iterator[Edit]:
        """Edits of ``rows`` that take off at least ``need`` tokens, and hardly more."""
        gains = (draft.tokens[rows] - PLACEHOLDER).cumsum()
        last = int(gains.searchsorted(need))
        before = int(gains[last - 1]) if last else 0
        tipping = int(rows[last])
        rest = int(draft.tokens[tipping]) - (need - before)
        whole = [int(row) for row in rows[:last]]
        if rest > 2 * self.min_tokens:
            yield Truncate((tipping,), rest)
        else:
            whole.append(tipping)
        if whole:
            yield Prune(tuple(whole))
