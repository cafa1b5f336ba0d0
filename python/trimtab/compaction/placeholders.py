"""The placeholders of pruned results and arguments: what was there, and how to get it back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .. import _core
from ..messages.calls import described, with_arguments
from ..planning.stages.sizes import PLACEHOLDER_TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..counting.counter import Counter
    from ..ledger.columns import Ledger
    from ..messages.calls import Call
    from ..messages.types import Message


class Placeholders:
    """Makes the placeholders of one plan.

    Args:
        messages: the transcript.
        ledger: of the messages.
        counter: counts the removed texts and the placeholders.
        where: how to get the original back; empty if nothing is archived.
    """

    def __init__(self, messages: Sequence[Message], ledger: Ledger, counter: Counter, where: str) -> None:
        self.messages, self.ledger, self.counter, self.where = messages, ledger, counter, where

    def of_rows(self, rows: Sequence[int]) -> list[str]:
        """Return the placeholders of results, with the tool and the argument of each one's call, or of images."""
        pair, tokens = self.ledger.pair.tolist(), self.ledger.tokens.tolist()
        paired = [pair[row] for row in rows]
        calls = iter(self.ledger.calls(self.messages, [call for call in paired if call >= 0]))
        told = [described(next(calls)) if call >= 0 else ("", "") for call in paired]
        return self._written([(tokens[row], *about) for row, about in zip(rows, told, strict=True)])

    def in_arguments(self, message: Message, call: Call | None, chars: int, words: str) -> Message:
        """Return a message with placeholders in place of the long texts in a call's arguments.

        Args:
            message: the message with the call.
            call: where it is.
            chars: characters of a text that stays.
            words: the policy's own placeholder; empty states what was there.
        """
        return with_arguments(message, call, partial(self._of_argument, described(call), chars, words))

    def _of_argument(self, call: tuple[str, str], chars: int, words: str, name: str, text: str) -> str:
        """Return the placeholder of a text in a call's arguments, or the text itself if it is short."""
        if len(text) <= chars or text.startswith(_core.PRUNED):
            return text
        if words:
            return words
        tool, about = call
        return self._written([(self.counter.count(text), tool, name if about == text else f"{name} {about}".strip())])[
            0
        ]

    def _written(self, removed: list[tuple[int, str, str]]) -> list[str]:
        """Return the longest placeholder of each that has at most ``PLACEHOLDER_TEXT`` tokens."""
        return _core.placeholders(removed, back=self.where, limit=PLACEHOLDER_TEXT, counter=self.counter)
