"""The words by which a message is found, equal for all databases."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"[^\W_]{1,64}")
"""Letters and digits: the parts of ``snake_case`` and of paths are words. Longer runs are data."""

_LONG = re.compile(r"[^\W_]{65,}")
_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")
"""Characters of scripts without spaces: each is a word."""

_NO_TEXT = frozenset({"signature", "data", "encrypted_content", "id", "tool_use_id", "tool_call_id", "call_id", "type"})
"""Fields without words: ids, signatures and images."""

MAX_BYTES = 500_000
"""Bytes of indexed words of one message; PostgreSQL allows less than 1 MB."""


def words(text: str) -> list[str]:
    """Return the distinct words of a text in lower case, in order."""
    if not text.isascii():
        text = _UNSPACED.sub(r" \1 ", text)
    return list(dict.fromkeys(_WORD.findall(_LONG.sub(" ", text.lower()))))


def index_words(body: str) -> str:
    """Return the words of a message's JSON, separated by spaces."""
    found = " ".join(words(" ".join(texts_in(json.loads(body))))).encode("utf-8", "replace")
    if len(found) > MAX_BYTES:
        found = found[:MAX_BYTES].rpartition(b" ")[0]
    return found.decode()


def texts_in(value: object) -> Iterator[str]:
    """Yield all texts in a message, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            if key not in _NO_TEXT:
                yield from texts_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts_in(part)
