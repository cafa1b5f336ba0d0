"""What a message is found by: its words, the same for every database."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"[^\W_]{1,64}")
"""Letters and digits: the parts of ``snake_case`` and of a path are words. A longer run is data, not a word."""

_LONG = re.compile(r"[^\W_]{65,}")
_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")
"""Scripts that write no spaces: each sign is a word."""

_SILENT = frozenset({"signature", "data", "encrypted_content", "id", "tool_use_id", "tool_call_id", "call_id", "type"})
"""Fields that say nothing: ids, signatures and pictures."""

MOST = 500_000
"""Bytes of words of one message that are indexed; PostgreSQL takes less than a megabyte."""


def words(text: str) -> list[str]:
    """The words of a text, small, each once, in order."""
    if not text.isascii():
        text = _UNSPACED.sub(r" \1 ", text)
    return list(dict.fromkeys(_WORD.findall(_LONG.sub(" ", text.lower()))))


def words_of(body: str) -> str:
    """The words of a message's JSON, with a space between."""
    found = " ".join(words(" ".join(says(json.loads(body))))).encode("utf-8", "replace")
    if len(found) > MOST:
        found = found[:MOST].rpartition(b" ")[0]
    return found.decode()


def says(value: object) -> Iterator[str]:
    """All texts in a message, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            if key not in _SILENT:
                yield from says(part)
    elif isinstance(value, list):
        for part in value:
            yield from says(part)
