"""The summary without a model: what is most likely needed again, taken out of the messages word by word."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from .ask import Ask


def offline(ask: Ask, /) -> str:
    """Requests, decisions, files, commands, errors, names and open items of the messages, most needed first.

    Takes sentences, lines and names as they stand and ranks them by the evidence that they will be needed again: late,
    in several messages, in the user's words, in a call's arguments, in an error, asked for in the instructions. An
    earlier summary is updated. What stays behind the zone is looked at: a failure that went well there is resolved,
    what it goes on with is not open, and what it takes back falls in rank, which is a guess from the words. The same
    request gives the same text; it asks no model and costs at most ``ask.max_tokens`` by ``ask.count``.
    """
    return _core.offline(
        ask.messages,
        ask.after,
        (ask.previous or "", ask.instructions or ""),
        max(0, min(ask.max_tokens, sys.maxsize)),
        ask.count,
    )
