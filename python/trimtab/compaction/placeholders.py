"""The placeholders of pruned results and arguments: what was there, and how to get it back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import _core
from ..ledger.columns import Places
from ..messages.calls import described
from ..planning.arguments import is_long
from ..planning.stages.sizes import PLACEHOLDER_TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..counting.counter import Counter
    from ..ledger.columns import Ledger
    from ..messages.types import Message

NAME, ARGUMENT, SHORT = 48, 40, 20
"""Characters of a tool's name, of an argument, and of an argument where the placeholder gets too long with that."""


class Placeholders:
    """Makes the placeholders of one plan.

    Args:
        messages: the transcript.
        ledger: of the messages.
        counter: counts the removed texts and the placeholders.
        where: how to get the original back; empty if nothing is archived.
    """

    def __init__(self, messages: Sequence[Message], ledger: Ledger, counter: Counter, where: str) -> None:
        self.messages, self.counter, self.where = messages, counter, where
        self.places, self.pair, self.tokens = Places(ledger), ledger.pair, ledger.tokens

    def of_row(self, row: int) -> str:
        """Return the placeholder of a result, with its tool and the argument of its call, or of an image."""
        call = int(self.pair[row])
        tool, about = self._call(call) if call >= 0 else ("", "")
        return self._fitting(int(self.tokens[row]), tool, about)

    def _call(self, row: int) -> tuple[str, str]:
        """Return the tool of a call, and what it was about."""
        index, place, nth = self.places.of(row)
        return described(self.messages[index], place, nth)

    def of_argument(self, row: int, chars: int, words: str, name: str, text: str) -> str:
        """Return the placeholder of a text in a call's arguments, or the text itself if it is short.

        Args:
            row: the call's row.
            chars: characters of a text that stays.
            words: the policy's own placeholder; empty states what was there.
            name: the argument's name.
            text: its text.
        """
        if not is_long(text, chars):
            return text
        if words:
            return words
        tool, about = self._call(row)
        return self._fitting(self.counter.count(text), tool, name if about == text else f"{name} {about}".strip())

    def _fitting(self, tokens: int, tool: str, about: str) -> str:
        """Return the longest placeholder that has at most ``PLACEHOLDER_TEXT`` tokens."""
        tool = _plain(tool, NAME)
        names = [f"{tool} {_plain(about, ARGUMENT)}".strip(), f"{tool} {_plain(about, SHORT)}".strip(), tool, ""]
        texts = (
            f"{_core.PRUNED}{tokens:,} tokens{f' of {name}' if name else ''}{f'; {self.where}' if self.where else ''}]"
            for name in dict.fromkeys(names)
        )
        fits = (text for text in texts if self.counter.count(text) <= PLACEHOLDER_TEXT)
        return next(fits, f"{_core.PRUNED}{tokens:,} tokens]")


def _plain(text: str, most: int) -> str:
    """Return a text in one line of at most ``most`` characters: the end of a path, the beginning of anything else."""
    line = re.sub(r"[\s\[\]]+", " ", text.encode("utf-8", "replace").decode()).strip()
    if len(line) <= most:
        return line
    return f"...{line[-most:]}" if " " not in line and "/" in line else f"{line[:most]}..."
