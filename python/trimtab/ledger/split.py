"""Find a safe cut from the end of a list."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from .. import _core
from ..counting.counter import read_with
from ..errors import MessageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..counting.counter import Counter
    from ..messages.types import AnyMessage
    from ..models.provider import Provider

AHEAD = 512
"""Messages to read before the kept ones at first; most cuts are found there without reading more."""


def split(
    messages: Sequence[AnyMessage],
    *,
    keep_last: int | None = None,
    keep: int | None = None,
    counter: Counter | None = None,
    provider: Provider | None = None,
) -> int | None:
    """Return the cut that keeps the end of a list, such that no call is separated from its result.

    Reads from the end, and only as many messages as the answer needs. A call without a result before the assistant's
    last turn counts as answered.

    Args:
        messages: a list or tuple of messages in any provider's shape; not changed.
        keep_last: minimum number of kept messages; the latest such cut is returned.
        keep: maximum tokens of the kept messages; the earliest such cut is returned.
        counter: counts the messages; required with ``keep``.
        provider: the shape; detected where it is None.

    Returns:
        The position of the first kept message, 0 to keep all; None if no cut fits in ``keep``, because an open call is
        never cut off.

    Raises:
        MessageError: a message cannot be read; says where, why and what to do.
        ValueError: none or both of ``keep_last`` and ``keep``, a negative value, or ``keep`` without a counter.
        TypeError: messages is no list or tuple, or a number is none.

    Examples:
        >>> split([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], keep_last=1)
        1
    """
    if not isinstance(messages, list | tuple):
        raise TypeError(f"messages must be a list or a tuple, got {type(messages).__name__}")
    given = keep if keep_last is None else keep_last
    if given is None or (keep_last is not None and keep is not None) or (keep is None) != (counter is None):
        raise ValueError("give keep_last, or keep with a counter")
    if not isinstance(given, int):
        raise TypeError(f"keep and keep_last must be integers, got {type(given).__name__}")
    if given < 0:
        raise ValueError(f"keep and keep_last must be at least 0, got {given}")
    keep_last = None if keep_last is None else min(keep_last, len(messages))
    keep = None if keep is None else min(keep, sys.maxsize)
    size = AHEAD + (keep_last or 0)
    while True:
        start = max(0, len(messages) - size)
        try:
            cut, known, tokens = read_with(
                messages[start:] if start else messages,
                lambda tail: _core.split_tail(
                    tail,
                    whole=len(tail) == len(messages),
                    keep=keep,
                    keep_last=keep_last or 0,
                    counter=counter,
                    provider=provider,
                ),
            )
        except MessageError as error:
            raise _moved(error, start) from None
        if known:
            return None if cut is None else start + cut
        need = size * (keep or 0) // max(tokens, 1)  # if earlier messages cost as much as those that were read
        size = max(2 * size, need + need // 4)


def _moved(error: MessageError, start: int) -> MessageError:
    """Return the error with positions of the whole list; ``start`` is the first message that was read."""
    index = start + (error.index or 0)
    path = re.sub(r"^messages\[\d+\]", f"messages[{index}]", error.path)
    return MessageError(error.args[0], path=path, index=index, hint=error.hint)
