"""The way out that needs no model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..._repr import short
from ..plan import Summarize, dropped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..plan import Drop
    from .draft import Draft
    from .keep import Keep


@dataclass(frozen=True, slots=True)
class Emergency:
    """Drops all but the newest messages behind a notice: always succeeds, whatever the size.

    Attributes:
        keep: what stays.
        notice: what stands in the place of the rest.
    """

    __repr__ = short

    keep: Keep
    notice: str

    def edit(self, draft: Draft, leaving: NDArray[np.bool_]) -> Drop | None:
        """The drop of the messages that are ``leaving``; None where there are none."""
        gone = leaving.nonzero()[0]
        if not len(gone):
            return None
        start, stop = draft.head, int(gone[-1]) + 1
        keep = tuple(int(m) for m in (~leaving[start:stop]).nonzero()[0] + start)
        return dropped(Summarize(start, stop, 0, keep), self.notice)
