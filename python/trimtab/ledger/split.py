"""Where a list can be cut in two, found from its end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import _core
from ..counting.counter import read_with
from ..errors import MessageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..counting.counter import Counter
    from ..messages.types import Message
    from ..models.provider import Provider

AHEAD = 512
"""Messages that are read in front of those that stay, in which a cut is looked for."""


def split(
    messages: Sequence[Message],
    *,
    keep_last: int | None = None,
    keep: int | None = None,
    counter: Counter | None = None,
    provider: Provider | None = None,
) -> int | None:
    """The place where a list can be cut in two, so that no call is parted from its result.

    Read from the end, and no further than the answer needs: of a million messages some more than those that stay. What
    stands in front is not looked at. A call without a result in front of the assistant's last turn is not waited for.

    Args:
        messages: a list or tuple of messages in any provider's shape; not changed.
        keep_last: messages that stay at least: the latest cut that leaves them.
        keep: tokens that stay at most, by ``counter``: the earliest cut that fits.
        counter: counts the messages; given with ``keep``, and not without.
        provider: the shape; found from the messages where it is None.

    Returns:
        The first message that stays, 0 where all do; None where no cut fits in ``keep``: an open call is not cut off.

    Raises:
        MessageError: a message that was read cannot be; says where, why and what to do.
        ValueError: not one of ``keep_last`` and ``keep``, one below 0, or no counter for tokens.
        TypeError: messages is no list or tuple.

    Example:
        >>> split([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], keep_last=1)
        1
    """
    if not isinstance(messages, list | tuple):
        raise TypeError(f"messages must be a list or a tuple, got {type(messages).__name__}")
    given = keep if keep_last is None else keep_last
    if given is None or (keep_last is not None and keep is not None) or (keep is None) != (counter is None):
        raise ValueError("give keep_last, or keep with a counter")
    if given < 0:
        raise ValueError(f"what stays is at least 0, got {given}")
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
            raise _behind(start, error) from None
        if known:
            return None if cut is None else start + cut
        need = size * (keep or 0) // max(tokens, 1)  # as dear as those that were read
        size = max(2 * size, need + need // 4)


def _behind(start: int, error: MessageError) -> MessageError:
    """The error of a list's end, with its place in the whole."""
    index = start + (error.index or 0)
    path = re.sub(r"^messages\[\d+\]", f"messages[{index}]", error.path)
    return MessageError(error.args[0], path=path, index=index, hint=error.hint)
