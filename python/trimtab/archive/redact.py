"""What is neither to be stored nor summarized, taken out of a message."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ..messages.types import Message

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
"""Secrets that tell what they are: private keys, the tokens of well-known services, passwords in an address."""


def secrets(text: str) -> str:
    """The text without the secrets that tell what they are; ``Compactor(redact=secrets)``.

    Example:
        >>> secrets("postgresql://me:pass@host/db")
        'postgresql://[REDACTED]@host/db'
    """
    return _SECRETS.sub("[REDACTED]", text)


def redacted(message: Message, redact: Callable[[str], str]) -> Message:
    """The message with every text in it redacted; the same object where nothing was taken out."""
    return cast("Message", _redacted(message, redact))


def _redacted(value: object, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        new: Any = {key: _redacted(part, redact) for key, part in value.items()}
        same = all(new[key] is part for key, part in value.items())
    elif isinstance(value, list | tuple):
        new = [_redacted(part, redact) for part in value]
        same = all(a is b for a, b in zip(new, value, strict=True))
    else:
        return value
    return value if same else new
