"""The calls with long texts in their arguments, such as a file that was written, and their tokens without these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ledger.columns import Kind, RowFlag
from ..messages.calls import long_texts
from .stages.sizes import PLACEHOLDER_TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..counting.counter import Counter
    from ..ledger.columns import Ledger
    from ..messages.types import Message

BYTES_A_TOKEN = 16
"""Bytes of a token at most, in the mean of a long text: a call with fewer tokens than this has no text to prune."""

JOINTS = 4
"""Tokens by which a text inside of JSON may count less than alone, at its two ends."""


def pruned_calls(messages: Sequence[Message], ledger: Ledger, counter: Counter, chars: int) -> dict[int, int]:
    """Return the rows of answered calls with long arguments, and at most how many tokens each has without them.

    Calls that the provider has signed, and those of running code, are not among them.

    Args:
        messages: the transcript.
        ledger: of the messages.
        counter: counts the texts, as it counted the ledger.
        chars: characters of a text in the arguments that stays.
    """
    kept = RowFlag.SIGNED | RowFlag.FROM_CODE | RowFlag.INCOMPLETE
    fits = (ledger.kind == Kind.CALL) & (ledger.pair >= 0) & ((ledger.flags & kept) == 0)
    fits &= ledger.tokens > chars // BYTES_A_TOKEN
    rows = fits.nonzero()[0].tolist()
    if not rows:
        return {}
    found, tokens = {}, ledger.tokens
    for row, texts in zip(rows, long_texts(ledger.calls(messages[:], rows), chars), strict=True):
        if texts:
            freed = sum(map(counter.count, texts)) - len(texts) * (JOINTS + PLACEHOLDER_TEXT)
            if freed > 0:
                found[row] = max(int(tokens[row]) - freed, 0)
    return found
