"""The lists before and after a compaction, of which is computed what was kept when somebody asks."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..messages.types import Message
    from .kept import Kept


class Lists:
    """The lists before and after a compaction.

    Args:
        before: the plain messages before.
        after: the plain messages after.
        tag: name of the tag that keeps a span; empty for none.
    """

    def __init__(self, before: Sequence[Message] = (), after: Sequence[Message] = (), tag: str = "") -> None:
        self.before, self.after, self.tag = before, after, tag

    @cached_property
    def kept(self) -> Kept:
        """What the second list keeps of the rules, requests, tasks and files of the first."""
        from .kept import OWN, Kept  # noqa: PLC0415 - a compaction of which nobody asks loads nothing

        return Kept.of(_without_tags(self.before, self.tag), _without_tags(self.after, self.tag), OWN)


def _without_tags(messages: Sequence[Message], tag: str) -> Sequence[Message]:
    """Return the messages with each kept span in lines of its own, as a summary has it."""
    from ..archive.redact import redact_message  # noqa: PLC0415

    found = {at for at, _ in _core.kept_spans(messages, tag)} if tag else set()

    def opened(text: str) -> str:
        return text.replace(f"<{tag}>", "\n").replace(f"</{tag}>", "\n")

    return [redact_message(one, opened) if at in found else one for at, one in enumerate(messages)]
