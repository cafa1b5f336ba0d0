"""The lists before and after a compaction, of which is computed what was kept when somebody asks."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..messages.types import Message
    from .kept import Kept


class Lists:
    """The lists before and after a compaction.

    Args:
        before: the plain messages before.
        after: the plain messages after.
    """

    def __init__(self, before: Sequence[Message] = (), after: Sequence[Message] = ()) -> None:
        self.before, self.after = before, after

    @cached_property
    def kept(self) -> Kept:
        """What the second list keeps of the rules, requests, tasks and files of the first."""
        from .kept import OWN, Kept  # noqa: PLC0415 - a compaction of which nobody asks loads nothing

        return Kept.of(self.before, self.after, OWN)
