"""Remove secrets from messages before they are stored or summarized."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from ..messages.surrogates import changed

if TYPE_CHECKING:
    from collections.abc import Callable

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
    # A password that holds an @ reaches to the last one.
    r"|(?<=://)[^\s/@:]*:[^\s/]*(?=@)"
    r"|(?<=://)[^\s/@:]{16,}(?=@)",
    re.DOTALL,
)
"""Secrets with a known form: private keys, tokens of well-known services, passwords in URLs."""


def secrets(text: str) -> str:
    """Replace secrets of a known form; use it as ``Compactor(redact=secrets)``.

    Examples:
        >>> secrets("postgresql://me:pass@host/db")
        'postgresql://[REDACTED]@host/db'
    """
    return _SECRETS.sub("[REDACTED]", text)


def returning_text(redact: Callable[[str], str]) -> Callable[[str], str]:
    """Return the function, which raises a TypeError where it returns no text: nothing is stored unredacted."""

    def redacted(text: str) -> str:
        found: object = redact(text)
        if not isinstance(found, str):
            raise TypeError(f"redact must return the text that may be stored, got {type(found).__name__}")
        return found

    return redacted


def redact_message(message: Message, redact: Callable[[str], str]) -> Message:
    """Apply ``redact`` to each text and each key of a message; return the same object where nothing changed."""
    return cast("Message", changed(message, redact))


def redact_record(record: Record, redact: Callable[[str], str]) -> Record:
    """Apply ``redact`` to the texts of a record.

    A plan's reason may repeat an error, and a summarizer's name the key that its program takes.
    """
    return replace(
        record,
        strategy=redact(record.strategy),
        plan=json.dumps(changed(json.loads(record.plan), redact), ensure_ascii=False),
        summary=record.summary and redact(record.summary),
        summarizer=record.summarizer and redact(record.summarizer),
    )
