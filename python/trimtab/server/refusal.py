"""Reads a provider's error: whether it refused what a request asked of its server, and which part."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..validity.parameters import CLEAR_THINKING

MOST_TEXT = 20_000
"""Characters of an error's text that are read."""

_PARAMETER = r"(?:context_management|compaction|compact_threshold)"
_SAYS = r"(?:extra inputs are not permitted|unknown parameter|unrecognized|unsupported|not supported|not available)"
_REFUSED = re.compile(
    "|".join(
        (
            rf"{_PARAMETER}\b.{{0,200}}{_SAYS}|{_SAYS}.{{0,200}}{_PARAMETER}\b",  # gateways, regions, older models
            rf"unexpected (?:keyword argument|value)s?\W.{{0,200}}\b{_PARAMETER}\b",
            r"unexpected value\(s\) .{0,400}(?:compact-|context-management-).{0,200}`?anthropic-beta`? header",
            r"context_management\.edits\b",
            rf"`?{CLEAR_THINKING}`? strategy requires",
            r"invalid (?:input )?(?:type|value)\W{1,4}compaction",
            r"does not support (?:context editing|context management|compaction)",
        )
    ),
    re.IGNORECASE | re.DOTALL,
)
"""Words of the refusals: Anthropic's own, OpenAI's, and those of servers in front of them."""


def refused(error: object) -> str:
    """Return the words with which a provider refuses what was asked of its server; empty for another error."""
    status = status_of(error)
    if isinstance(status, int) and status not in {400, 404, 422}:
        return ""
    text = _text(error)
    found = _REFUSED.search(text[:MOST_TEXT])
    return " ".join(text[max(found.start() - 60, 0) : found.end() + 60].split()) if found else ""


def status_of(error: object) -> object:
    """Return the HTTP status of an SDK's error, if it has one."""
    return getattr(error, "status_code", getattr(error, "status", None))


def refuses_thinking(words: str) -> bool:
    """Return whether a refusal is about the edit of thinking alone: it is taken while thinking is switched on."""
    return CLEAR_THINKING in words and "requires" in words


def _text(error: object) -> str:
    body = error.get("error", error) if isinstance(error, Mapping) else error
    if isinstance(body, Mapping):
        return str(body.get("message", body))
    return str(body)
