"""Errors: those of a compaction, and those of a provider."""

from __future__ import annotations

from typing import Any

from trimtab import errors as _errors
from trimtab import is_overflow

from .table import op


def kinds(error: type[_errors.Error]) -> dict[str, type[_errors.Error]]:
    found = {error.kind: error}
    for below in error.__subclasses__():
        found |= kinds(below)
    return found


def named(kind: str) -> _errors.Error:
    """An error by the name that the document has for its kind; any other text is the error's own."""
    known = kinds(_errors.Error)
    plain = kind.removeprefix("Err")
    return known[plain]() if plain in known else _errors.Error(kind)


@op
def error_text(kind: str) -> str:
    return str(named(kind))


@op
def format_error(op: str, session: str | None = None, err: str | None = None) -> str:
    return (named(err) if err else _errors.Error()).during(op, session).account


def failure(error: Exception | None) -> dict[str, Any] | None:
    """An error as a case looks at it."""
    if not isinstance(error, _errors.Error):
        return None
    return {"op": error.op, "kind": error.kind, "text": error.account, "context": error.context}


@op
def is_context_overflow(message: str | None) -> bool:
    return is_overflow(message or "")


@op
def classify_api_error(status: int | None = None, message: Any = None, body: Any = None) -> str:
    error = {key: value for key, value in (("message", message), ("body", body)) if value is not None}
    return "ContextOverflowError" if is_overflow(error, status) else "APIError"


@op
def classify_error(error: Any) -> str:
    return "ContextOverflowError" if is_overflow(error) else "APIError"
