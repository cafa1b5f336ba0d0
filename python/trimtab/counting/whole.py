"""Whole prompts of models with a chat template: a ledger with the tokens that the template's prompt has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .._log import details
from ..errors import CountError
from ..messages.objects import sendable
from ..templates.rendered import estimated_tools, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import _core
    from ..messages.types import AnyMessage
    from .counter import Counter


def framed(
    ledger: _core.Ledger, messages: Sequence[AnyMessage], counter: Counter, system: object = None, tools: object = None
) -> tuple[_core.Ledger, tuple[int, int] | None]:
    """Return a ledger with the tokens that each message has in the rendered prompt, and those of system text and tools.

    What stands in front of the messages and behind them belongs to the system text. Without a template, and where it
    refuses the messages, the ledger is returned as it is, and None; the latter is warned of once.

    Args:
        ledger: of the messages, by this counter.
        messages: the transcript.
        counter: the model's.
        system: system text beside the messages.
        tools: tool definitions.
    """
    template = counter.template
    if template is None or not len(ledger):
        return ledger, None
    try:
        found = counter.rendered(messages, ledger.provider, system, tools)
    except (CountError, ImportError) as error:
        warn(template, error)
        details.warning("%s", error)
        return ledger, None
    beside = found.head + found.tail
    own = estimated_tools(template, counter, json.dumps(tools, default=sendable)) if tools else 0
    own = min(own, beside)  # a template may write them inside of a message
    return ledger.framed(found.messages), (beside - own, own)
