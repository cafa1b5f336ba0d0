"""Keeps an LLM agent's transcript inside its model's context window: counted, planned, cut safely, archived."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ._core import __version__

if TYPE_CHECKING:
    from .compaction.result import Compaction
    from .counting.counter import Counter, count
    from .counting.truncate import truncate
    from .errors import ArchiveError, ConflictError, Error, InternalError, MessageError, PlanError, SummaryError
    from .formats import read
    from .ledger.columns import Kind, Ledger, Role
    from .ledger.split import split
    from .messages.types import Message, Transcript
    from .models.model import Model
    from .models.provider import Provider
    from .planning.budget import Budget
    from .planning.plan import Plan
    from .planning.policy import Policy
    from .session.compactor import Compactor
    from .session.session import Fitted
    from .summarize import Ask
    from .validity.repair import Repair, repair
    from .validity.validate import Moment, Problem, validate

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
    "planning.budget": ("Budget",),
    "session.compactor": ("Compactor",),
    "counting.counter": ("Counter", "count"),
    "errors": ("ArchiveError", "ConflictError", "Error", "InternalError", "MessageError", "PlanError", "SummaryError"),
    "compaction.result": ("Compaction",),
    "session.session": ("Fitted",),
    "ledger.columns": ("Kind", "Ledger", "Role"),
    "messages.types": ("Message", "Transcript"),
    "models.model": ("Model",),
    "models.provider": ("Provider",),
    "planning.plan": ("Plan",),
    "planning.policy": ("Policy",),
    "validity.repair": ("Repair", "repair"),
    "ledger.split": ("split",),
    "counting.truncate": ("truncate",),
    "validity.validate": ("Moment", "Problem", "validate"),
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
