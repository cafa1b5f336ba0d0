"""The emergency stage: compaction without a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..._repr import short
from ..edits import dropped
from .summarize import zone

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..edits import Drop
    from .costs import Costs
    from .keep import Keep


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
