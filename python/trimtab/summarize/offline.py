"""The summary without a model: what is most likely needed again, taken out of the messages word by word."""

from __future__ import annotations

import sys
from types import BuiltinMethodType
from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from .ask import Ask


def offline(ask: Ask, /) -> str:
    """Requests, decisions, files, commands, errors, names and open items of the messages, most needed first.

    Takes sentences, lines and names as they stand and ranks them by the evidence that they will be needed again: late,
    in several messages, in the user's words, in a call's arguments, in an error, asked for in the instructions. An
    earlier summary is updated. What stays behind the zone is looked at: a failure that went well there is resolved,
    what it goes on with is not open, and what it takes back falls in rank, which is a guess from the words. The same
    request gives the same text; it asks no model and costs at most ``ask.max_tokens`` by ``ask.count``.
    """
    texts, most = (ask.previous or "", ask.instructions or ""), max(0, min(ask.max_tokens, sys.maxsize))
    return _core.offline((ask.messages, ask.after), texts, most, _counter(ask.count))


def _counter(count: Callable[[str], int]) -> _core.Counter | Callable[[str], int]:
    """Return the counter whose own method counts, which needs no interpreter; any other function as it is."""
    counter = count.__self__ if isinstance(count, BuiltinMethodType) and count.__name__ == "count" else None
    return counter if isinstance(counter, _core.Counter) else count
