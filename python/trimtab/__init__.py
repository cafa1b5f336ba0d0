"""Keeps an LLM agent's transcript inside its model's context window: counted, planned, cut safely, archived."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ._core import __version__

if TYPE_CHECKING:
    from ._budget import Budget
    from ._compaction import Compaction
    from ._compactor import Compactor
    from ._counter import Counter, count
    from ._errors import ArchiveError, ConflictError, Error, InternalError, MessageError, PlanError, SummaryError
    from ._gate import Fitted
    from ._ledger import Kind, Ledger, Role
    from ._messages import Message, Provider, Transcript
    from ._models import Model
    from ._plan import Plan
    from ._policy import Policy
    from ._repair import Repair, repair
    from ._split import split
    from ._truncate import truncate
    from ._validate import Moment, Problem, validate
    from .formats import read
    from .summarize import Ask

__all__ = [
    "ArchiveError",
    "Ask",
    "Budget",
    "Compaction",
    "Compactor",
    "ConflictError",
    "Counter",
    "Error",
    "Fitted",
    "InternalError",
    "Kind",
    "Ledger",
    "Message",
    "MessageError",
    "Model",
    "Moment",
    "Plan",
    "PlanError",
    "Policy",
    "Problem",
    "Provider",
    "Repair",
    "Role",
    "SummaryError",
    "Transcript",
    "__version__",
    "count",
    "read",
    "repair",
    "split",
    "truncate",
    "validate",
]

# Names are loaded when they are first used: an agent that only counts does not pay for archives and formats.
_HOMES = {
    "_budget": ("Budget",),
    "_compactor": ("Compactor",),
    "_counter": ("Counter", "count"),
    "_errors": ("ArchiveError", "ConflictError", "Error", "InternalError", "MessageError", "PlanError", "SummaryError"),
    "_compaction": ("Compaction",),
    "_gate": ("Fitted",),
    "_ledger": ("Kind", "Ledger", "Role"),
    "_messages": ("Message", "Provider", "Transcript"),
    "_models": ("Model",),
    "_plan": ("Plan",),
    "_policy": ("Policy",),
    "_repair": ("Repair", "repair"),
    "_split": ("split",),
    "_truncate": ("truncate",),
    "_validate": ("Moment", "Problem", "validate"),
    "formats": ("read",),
    "summarize": ("Ask",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """A public name, from the module that has it."""
    if name not in _HOME:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value: object = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(__all__)
