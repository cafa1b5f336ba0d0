"""Keeps an LLM agent's transcript inside its model's context window: counted, planned, cut safely, archived."""

from __future__ import annotations

from importlib import import_module
from types import FunctionType

from ._core import __version__ as __version__
from ._lazy import loader

PACKAGES = frozenset(
    (
        "adapters",
        "arrow",
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
        "server",
        "session",
        "summarize",
        "templates",
        "validity",
    )
)
"""Packages that are loaded when they are first used: counting does not pay for archives and formats."""

ALIASES = {"arrow": "adapters.arrow"}
"""Packages that have their place elsewhere."""

HOMES = {
    "archive": "Archive",
    "compaction.result": "Compaction",
    "counting.counter": "Counter count",
    "counting.truncate": "truncate",
    "errors": (
        "ArchiveError BusyError ConfigError ConflictError CountError Error InternalError MessageError NoMessageError "
        "NothingToCompactError OverflowedError PlanError RedirectError SessionError SummaryError"
    ),
    "formats": "example read",
    "hooks": "Review Verdict",
    "ledger.columns": "Kind Ledger Role",
    "ledger.split": "split",
    "messages.types": "Message Transcript",
    "messages.usage": "Usage",
    "models.model": "Model",
    "planning.plan": "Plan",
    "planning.policy": "Policy",
    "session.call": "Fitted",
    "session.compactor": "Compactor",
    "session.overflow": "is_overflow",
    "session.queue": "CompactionQueue",
    "session.session": "Session",
    "validity.repair": "Repair repair",
    "validity.validate": "Problem RequestOptions validate",
}
"""The public names, by the module that has them. ``__init__.pyi`` has the same list for type checkers."""

MORE = (
    "counting",
    "events",
    "ledger",
    "messages",
    "models",
    "planning",
    "server",
    "session",
    "summarize",
    "templates",
    "validity",
)
"""Packages whose own names may be written without the package, too; they stand in no list here."""

__all__ = ["__version__", *(name for names in HOMES.values() for name in names.split())]  # noqa: PLE0604 - all are strings
__all__.sort()

_load = loader(__name__, HOMES)


def __getattr__(name: str) -> object:
    """A public name or package, loaded."""
    if name in PACKAGES:
        return import_module(f".{ALIASES.get(name, name)}", __name__)
    try:
        value = _load(name)
    except AttributeError:
        packages = (import_module(f".{package}", __name__) for package in MORE)
        home = next((package for package in packages if name in package.__all__), None)
        if home is None:
            raise
        value = getattr(home, name)
    if isinstance(value, type | FunctionType) and value.__module__.startswith(f"{__name__}."):
        value.__module__ = __name__
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return __all__
