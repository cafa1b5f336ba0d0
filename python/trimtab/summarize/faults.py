"""Classifies a failed call: its reason, and whether and when to retry it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import NoMessageError, SummaryError
from .text import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

AGAIN = {408, 409, 429}
"""HTTP statuses below 500 that may pass later."""

_MEANING = {
    400: "the request was refused",
    401: "the key is missing or not accepted",
    403: "the key may not do this",
    404: "there is no such model or address",
    413: "the request is too large",
    429: "too many requests",
    503: "the service is not available",
    504: "the service took too long",
    529: "the service is overloaded",
}
_SECRET = {401, 403}
"""HTTP statuses whose message may repeat a part of the key."""


@dataclass(frozen=True, slots=True)
class ModelFault:
    """A classified failure.

    Attributes:
        reason: one line for people.
        again: whether a retry may succeed.
        after: seconds that the provider asks to wait; None if it states none.
        loud: whether the failure repeats until somebody changes the settings.
    """

    reason: str
    again: bool
    after: float | None = None
    loud: bool = False


def fault(error: BaseException, known: Iterable[object] = ()) -> ModelFault:
    """Classify an exception of a call; the errors of the SDKs are known by name, so that none is imported.

    Args:
        error: the exception.
        known: the credentials in use, which are masked.
    """
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _by_status(status, error, known)
    names = {cls.__name__ for cls in type(error).__mro__}
    if "APIConnectionError" in names and isinstance(error.__cause__, SummaryError):
        return fault(error.__cause__, known)  # an error of ours, wrapped by the SDK
    detail = quote(_text(error), known)
    if names & {"APITimeoutError", "TimeoutException", "TimeoutError"}:
        return ModelFault("no answer in time", again=True)
    if names & {"APIConnectionError", "TransportError", "ConnectionError"}:
        cause = error.__cause__ if "APIConnectionError" in names and error.__cause__ else error
        return ModelFault(f"no connection ({quote(f'{type(cause).__name__}: {_text(cause)}', known)})", again=True)
    if names & {"JSONDecodeError", "APIResponseValidationError"}:
        return ModelFault("the answer is not JSON", again=True)
    if isinstance(error, NoMessageError):
        return ModelFault(detail, again=True)
    if isinstance(error, SummaryError):
        return ModelFault(detail, again=False)
    return ModelFault(f"{type(error).__name__}: {detail}" if detail else type(error).__name__, again=False)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception's own text may raise
        return ""


def _by_status(status: int, error: BaseException, known: Iterable[object]) -> ModelFault:
    again = status in AGAIN or status >= 500
    meaning = _MEANING.get(status, "the service failed" if status >= 500 else "the request was refused")
    message = "; ".join(getattr(error, "__notes__", ())) if status in _SECRET else _message(error)
    detail = "" if again else quote(message, known)
    reason = f"{status}: {meaning}{f' ({detail})' if detail else ''}"
    response = getattr(error, "response", None)
    after = retry_after(getattr(response, "headers", None) or {}, time.time()) if again else None
    return ModelFault(reason, again, after, loud=status in _SECRET)


def _message(error: BaseException) -> str:
    """Return the provider's message in the body that its SDK kept."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    words = inner.get("message") if isinstance(inner, dict) else None
    return words if isinstance(words, str) else ""


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds of ``Retry-After``, a number or a date (RFC 9110, 10.2.3); None for anything else."""
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(headers.get("retry-after-ms", "")) / 1000
    except ValueError:
        try:
            seconds = float(text)
        except ValueError:
            seconds = _date(text) - now
    return max(seconds, 0.0) if seconds == seconds else None  # noqa: PLR0124 - a NaN is no number of seconds


def _date(text: str) -> float:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - 10 ms, rarely used

    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return float("nan")
