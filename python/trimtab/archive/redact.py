"""Remove secrets from messages before they are stored or summarized."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ..messages.types import Message
    from .values import Record

_SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\b(?:gh[pousr]|github_pat)_[A-Za-z0-9_]{20,}"
    r"|\bxox[abeprs]-[A-Za-z0-9-]{10,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}"
    r"|\bAIza[A-Za-z0-9_-]{35}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)",
    re.DOTALL,
)
"""Secrets with a known form: private keys, tokens of well-known services, passwords in URLs."""


def secrets(text: str) -> str:
    """Replace secrets of a known form; use it as ``Compactor(redact=secrets)``.

    Example:
        >>> secrets("postgresql://me:pass@host/db")
        'postgresql://[REDACTED]@host/db'
    """
    return _SECRETS.sub("[REDACTED]", text)


def redact_message(message: Message, redact: Callable[[str], str]) -> Message:
    """Apply ``redact`` to each text and each key of a message; return the same object where nothing changed."""
    return cast("Message", _redact_value(message, redact))


def redact_record(record: Record, redact: Callable[[str], str]) -> Record:
    """Apply ``redact`` to the texts of a record.

    A plan's reason may repeat an error, and a summarizer's name the key that its program takes.
    """
    return replace(
        record,
        strategy=redact(record.strategy),
        plan=json.dumps(_redact_value(json.loads(record.plan), redact), ensure_ascii=False),
        summary=record.summary and redact(record.summary),
        summarizer=record.summarizer and redact(record.summarizer),
    )


def _redact_value(value: object, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        new: Any = {}
        for key, part in value.items():
            new[_free(redact(key) if isinstance(key, str) else key, new)] = _redact_value(part, redact)
        same = all(a is b for a, b in zip(new, value, strict=True)) and all(new[key] is value[key] for key in new)
    elif isinstance(value, list | tuple):
        new = [_redact_value(part, redact) for part in value]
        same = all(a is b for a, b in zip(new, value, strict=True))
    else:
        return value
    return value if same else new


def _free(key: str, taken: Mapping[str, object]) -> str:
    """Return the key, with a number where another key became the same, so that no value is lost."""
    number, free = 2, key
    while free in taken:
        free, number = f"{key} {number}", number + 1
    return free
