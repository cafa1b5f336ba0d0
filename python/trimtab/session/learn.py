"""Learns from a session file what its agent was told: the window, and what billed calls say of the count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..counting.counter import read_with
from ..messages.usage import HELD, LARGEST, Usage, is_proven
from ..models.ids import ModelId
from ..models.model import encoding_of
from .call import ReadCall

if TYPE_CHECKING:
    from ..messages.types import Charged, Transcript
    from .memory import Memory

_TABLES = {"table", "public", "assumed"}
"""Sources of a window above which an agent's smaller default stands."""

CHARGES = 64
"""Newest billed calls of a session file that a session learns from: each one reads the messages before it, so that all
would take time quadratic in the file's length. The rules of a forecast look at 15 turns at most."""


def learn(memory: Memory, transcript: Transcript) -> None:
    """Learn from a session file: its window, and its newest ``CHARGES`` billed calls as ``record`` does from each.

    A billed prompt above the window shows that the model has another one, where another charge or the messages say so
    too: it is assumed to be as large as that. So is the agent's default, where the file does not show its window and
    the tables have a larger one. Calls of a model with another vocabulary teach nothing: their tokens are others.
    """
    settings, model = memory.settings, memory.settings.model
    is_same = transcript.model and ModelId.of(transcript.model).key == ModelId.of(settings.model_id).key
    if not is_same and model.template is not None:
        return  # another model was charged, and each prompt would be rendered
    if not is_same and transcript.model and encoding_of(transcript.model) not in {None, model.prompt.encoding}:
        return  # its bills would decide for its own vocabulary, and be taken for what this model's calls have beside
    if is_same:
        if transcript.window:
            memory.learn_window(transcript.window, "file")
        elif model.source != "argument" and (most := _billed_last(memory, transcript)) > model.window:
            memory.limit(settings.limited(most, settings.limits.output, "assumed"))
        elif (default := transcript.default_window or 0) and default < model.window and model.source in _TABLES:
            memory.limit(settings.limited(default, min(settings.limits.output, default // 2), "assumed"))
    ledger = None
    for charged in transcript.usage[-CHARGES:]:
        messages = transcript.messages[: charged.before]
        extends = ledger is not None and len(ledger) <= len(messages)
        ledger = read_with(messages[len(ledger) :], ledger.extend) if ledger and extends else memory.scan(messages)
        call = ReadCall(messages, transcript.system, transcript.tools, ledger=ledger, origin=ledger)
        memory.sizes.size(memory.settings, call)
        memory.record(Usage(charged.prompt, charged.output, earlier=charged.earlier), past=True)
    for each in transcript.calls[-CHARGES:]:
        memory.sizes.forecast.readings.learn_life(each.usage)


def _billed_last(memory: Memory, transcript: Transcript) -> int:
    """Return the prompt of the newest billed call that shows how large a window is; 0 if none is above the window.

    One alone, in a file that lacks most of its prompt, has nothing that speaks against it.
    """

    def count(charged: Charged) -> int:
        return memory.scan(transcript.messages[: charged.before]).total

    usage = transcript.usage
    newest = range(len(usage) - 1, max(len(usage) - CHARGES, 0) - 1, -1)
    known = [index for index in newest if usage[index].prompt <= LARGEST * memory.window]
    if all(usage[index].prompt <= memory.window for index in known):
        return 0
    if len(usage) == 1 and not transcript.default_window and HELD * count(usage[0]) < usage[0].prompt:
        return usage[0].prompt
    return next((usage[index].prompt for index in known if is_proven(usage, index, count)), 0)
