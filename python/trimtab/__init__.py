"""Keeps an LLM agent's transcript inside its model's context window: counted, planned, cut safely, archived."""

from __future__ import annotations

import importlib
from types import FunctionType

from ._core import __version__

TYPE_CHECKING = False  # as type checkers know it: to import `typing` is a tenth of what a command may take

if TYPE_CHECKING:
    from . import (
        adapters,
        archive,
        compaction,
        config,
        counting,
        errors,
        events,
        formats,
        hooks,
        ledger,
        messages,
        models,
        planning,
        policies,
        report,
        session,
        summarize,
        validity,
    )
    from .archive import Archive
    from .compaction.result import Compaction
    from .counting.counter import Counter, count
    from .counting.estimate import Calibration, Estimate
    from .counting.truncate import truncate
    from .errors import (
        ArchiveError,
        BusyError,
        ConfigError,
        ConflictError,
        CountError,
        Error,
        InternalError,
        MessageError,
        NoMessageError,
        NothingToCompactError,
        OverflowedError,
        PlanError,
        RedirectError,
        SessionError,
        SummaryError,
    )
    from .events import (
        BackedOff,
        CompactBoundary,
        Compacted,
        ContextCompacted,
        FellBack,
        Refused,
        SessionStart,
        UsageIgnored,
    )
    from .formats import example, read
    from .hooks import Review, Verdict
    from .ledger.columns import Kind, Ledger, Role
    from .ledger.split import split
    from .messages.types import Message, Transcript
    from .messages.usage import Usage
    from .models.model import Model
    from .models.provider import Provider
    from .planning.budget import Budget, Terms, Trigger
    from .planning.edits import Drop, Prune, StripThinking, Summarize, Truncate
    from .planning.plan import Plan
    from .planning.policy import Policy
    from .planning.stages import (
        Emergency,
        Ingest,
        Keep,
        Messages,
        Pins,
        Place,
        PruneResults,
        Summaries,
        SummarizeZone,
        Template,
        Tokens,
        Turns,
    )
    from .planning.zones import Stats
    from .session.call import Fitted
    from .session.compactor import Compactor
    from .session.overflow import is_overflow
    from .session.provider_count import ProviderCount
    from .session.queue import CompactionQueue
    from .session.session import Session
    from .summarize import Answer, Ask, Limits, Summarizer, Writer
    from .validity.repair import Repair, repair
    from .validity.validate import Problem, RequestOptions, validate

__all__ = [
    "Answer",
    "Archive",
    "ArchiveError",
    "Ask",
    "BackedOff",
    "Budget",
    "BusyError",
    "Calibration",
    "CompactBoundary",
    "Compacted",
    "Compaction",
    "CompactionQueue",
    "Compactor",
    "ConfigError",
    "ConflictError",
    "ContextCompacted",
    "CountError",
    "Counter",
    "Drop",
    "Emergency",
    "Error",
    "Estimate",
    "FellBack",
    "Fitted",
    "Ingest",
    "InternalError",
    "Keep",
    "Kind",
    "Ledger",
    "Limits",
    "Message",
    "MessageError",
    "Messages",
    "Model",
    "NoMessageError",
    "NothingToCompactError",
    "OverflowedError",
    "Pins",
    "Place",
    "Plan",
    "PlanError",
    "Policy",
    "Problem",
    "Provider",
    "ProviderCount",
    "Prune",
    "PruneResults",
    "RedirectError",
    "Refused",
    "Repair",
    "RequestOptions",
    "Review",
    "Role",
    "Session",
    "SessionError",
    "SessionStart",
    "Stats",
    "StripThinking",
    "Summaries",
    "Summarize",
    "SummarizeZone",
    "Summarizer",
    "SummaryError",
    "Template",
    "Terms",
    "Tokens",
    "Transcript",
    "Trigger",
    "Truncate",
    "Turns",
    "Usage",
    "UsageIgnored",
    "Verdict",
    "Writer",
    "__version__",
    "adapters",
    "archive",
    "compaction",
    "config",
    "count",
    "counting",
    "errors",
    "events",
    "example",
    "formats",
    "hooks",
    "is_overflow",
    "ledger",
    "messages",
    "models",
    "planning",
    "policies",
    "read",
    "repair",
    "report",
    "session",
    "split",
    "summarize",
    "truncate",
    "validate",
    "validity",
]

# Names and packages are loaded when they are first used: counting does not pay for archives and formats.
_PACKAGES = frozenset(
    (
        "adapters",
        "archive",
        "compaction",
        "config",
        "counting",
        "errors",
        "events",
        "formats",
        "hooks",
        "ledger",
        "messages",
        "models",
        "planning",
        "policies",
        "report",
        "session",
        "summarize",
        "validity",
    )
)
_HOMES = {
    "archive": ("Archive",),
    "compaction.result": ("Compaction",),
    "counting.counter": (
        "Counter",
        "count",
    ),
    "counting.estimate": (
        "Calibration",
        "Estimate",
    ),
    "counting.truncate": ("truncate",),
    "errors": (
        "ArchiveError",
        "BusyError",
        "ConfigError",
        "ConflictError",
        "CountError",
        "Error",
        "InternalError",
        "MessageError",
        "NoMessageError",
        "NothingToCompactError",
        "OverflowedError",
        "PlanError",
        "RedirectError",
        "SessionError",
        "SummaryError",
    ),
    "events": (
        "BackedOff",
        "CompactBoundary",
        "Compacted",
        "ContextCompacted",
        "FellBack",
        "Refused",
        "SessionStart",
        "UsageIgnored",
    ),
    "formats": (
        "example",
        "read",
    ),
    "hooks": (
        "Review",
        "Verdict",
    ),
    "ledger.columns": (
        "Kind",
        "Ledger",
        "Role",
    ),
    "ledger.split": ("split",),
    "messages.types": (
        "Message",
        "Transcript",
    ),
    "messages.usage": ("Usage",),
    "models.model": ("Model",),
    "models.provider": ("Provider",),
    "planning.budget": (
        "Budget",
        "Terms",
        "Trigger",
    ),
    "planning.edits": (
        "Drop",
        "Prune",
        "StripThinking",
        "Summarize",
        "Truncate",
    ),
    "planning.plan": ("Plan",),
    "planning.policy": ("Policy",),
    "planning.stages": (
        "Emergency",
        "Ingest",
        "Keep",
        "Messages",
        "Pins",
        "Place",
        "PruneResults",
        "Summaries",
        "SummarizeZone",
        "Template",
        "Tokens",
        "Turns",
    ),
    "planning.zones": ("Stats",),
    "session.compactor": ("Compactor",),
    "session.call": ("Fitted",),
    "session.overflow": ("is_overflow",),
    "session.provider_count": ("ProviderCount",),
    "session.queue": ("CompactionQueue",),
    "session.session": ("Session",),
    "summarize": (
        "Answer",
        "Ask",
        "Limits",
        "Summarizer",
        "Writer",
    ),
    "validity.repair": (
        "Repair",
        "repair",
    ),
    "validity.validate": (
        "RequestOptions",
        "Problem",
        "validate",
    ),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """A public name or package, loaded."""
    if name in _PACKAGES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOME:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value: object = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    if isinstance(value, type | FunctionType) and value.__module__.startswith(f"{__name__}."):
        value.__module__ = __name__
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(__all__)
