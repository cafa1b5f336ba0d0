"""Masks credentials in texts of others: an exception, a provider's answer, a program's stderr."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK = "[REDACTED]"

_FORMS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    # A server may repeat only a key's ends, with asterisks or dots between.
    r"|(?<![A-Za-z0-9])(?:sk-|gsk_|xai-|hf_|gh[pousr]_|github_pat_|xox[abeprs]-|ya29\.|AIza|AKIA|ASIA)[\w.*…-]{6,}"
    r"|\beyJ[\w-]{4,}\.[\w.-]+"
    # A password that holds an @ reaches to the last one.
    r"|(?<=://)[^\s/@:]*:[^\s/]*(?=@)"
    r"|(?<=://)[^\s/@:]{16,}(?=@)",
    re.DOTALL,
)
"""Texts that look like a credential: private keys, keys of well-known services, JWTs, passwords in URLs."""

_NAMED = re.compile(
    r"""(?ix)
    (   \bbearer\s+
    |   (?:authorization|x-api-key|x-goog-api-key) \\?["']? \s*[:=,]\s* (?:b?\\?["'])? (?:(?:basic|bearer|token)\s+)?
    |   (?:password|passwd|pwd) \\?["']? \s*=\s* \\?["']?
    |   (?:password|passwd|pwd) \\?["']? \s*:\s* \\?["']? (?=\S*\d)
    |   (?:key|token|secret) \\?["']? \s*[:=]\s* \\?["']? (?=\S*\d)(?=\S{8})
    )
    (?!header\b) [^\s"'\\,;&<>(){}\[\]]{4,}
    """
)
"""Values behind the name of a header or a field for credentials; group 1 stays."""

_VARIABLE = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)$")
"""Names of environment variables that hold a credential."""

SHORTEST = 4
"""Characters of a credential in use; a shorter one would mask half of each text."""

SHORTEST_VARIABLE = 8
"""Characters of a credential in the environment, where a variable of such a name may hold ``true`` or a number."""

WHOLE_WORD = 12
"""Characters below which a credential in use is masked as a whole word alone: it may be part of another word."""


def mask(text: str, known: Iterable[object] = ()) -> str:
    """Replace credentials in a text: those in use, those of the environment, and texts that look like one.

    Args:
        text: an exception's text, a provider's answer, or a program's stderr.
        known: the credentials in use.

    Examples:
        >>> mask("no such key: sk-ant-api03-abcdef, at https://me:pass@host/v1")
        'no such key: [REDACTED], at https://[REDACTED]@host/v1'
    """
    variables = [value for name, value in os.environ.items() if _VARIABLE.search(name)]
    known = [*known, *(value for value in variables if len(value) >= SHORTEST_VARIABLE)]
    return _NAMED.sub(rf"\1{MASK}", _FORMS.sub(MASK, mask_known(text, known)))


def mask_known(text: str, known: Iterable[object]) -> str:
    """Replace the credentials in use, and nothing that only looks like one.

    Args:
        text: any text.
        known: the credentials; other types than str, and texts of fewer than 4 characters, are passed over.
    """
    stripped = (value.strip() for value in known if isinstance(value, str))  # of a variable's line end
    values = {value for value in stripped if len(value) >= SHORTEST}
    for value in sorted(values, key=len, reverse=True):
        if value in text:
            whole = re.escape(value)
            text = re.sub(whole if len(value) >= WHOLE_WORD else rf"(?<!\w){whole}(?!\w)", MASK, text)
    return text
