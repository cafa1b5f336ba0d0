"""Messages as stored in an archive: JSON that decodes to an equal one, compressed where that is smaller; its words."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ... import _core
from ...errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MIN_CHARS = 256
"""Characters below which compression gains nothing over its header and dictionary."""

_LONE = re.compile(r"(\\\\)|\\u(D[89A-F][0-9A-F]{2})")
"""Escaped backslashes, and escapes in capitals: lone surrogates, even two in a row."""


def encode(values: Sequence[object]) -> tuple[list[str], list[str]]:
    """Return the JSON of each value, and its SHA-256 digest.

    The JSON is that of ``json.dumps``, except for two adjacent lone surrogates, which stay two when decoded.

    Raises:
        ArchiveError: a value is not JSON; names its position.
    """
    try:
        try:
            return _core.dumps(list(values))
        except TypeError:  # a mapping, a tuple, an enum, or a value that is not JSON
            return _core.dumps([_plain(value) for value in values])
    except (TypeError, ValueError, RecursionError) as error:
        place = "a message" if len(values) == 1 else f"messages[{_first_refused(values)}]"
        raise ArchiveError(f"{place} cannot be archived as JSON: {error}") from error


def _first_refused(values: Sequence[object]) -> int:
    """Return the position of the first value that is not JSON."""
    for index, value in enumerate(values):
        try:
            encode([value])
        except ArchiveError:
            return index
    return len(values)


def _plain(value: object) -> object:
    """Return the value in plain types: a mapping becomes a dict, a tuple a list, an enum its text or number."""
    if isinstance(value, Mapping):
        return {_plain(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else value


def decode(text: str) -> Any:
    """Return the value of ``encode``'s JSON."""
    if "\\uD" in text:
        text = _LONE.sub(lambda found: found[1] or chr(int(found[2], 16)), text)
    return json.loads(text)


def compress(text: str) -> str | bytes:
    """Compress a message's JSON if that is smaller."""
    if len(text) < MIN_CHARS:
        return text
    packed = zlib.compress(text.encode(), 1)
    return packed if len(packed) < len(text) else text


def decompress(body: str | bytes) -> str:
    """Return the JSON of a stored body.

    Raises:
        ArchiveError: the body is damaged.
    """
    if isinstance(body, str):
        return body
    try:
        return zlib.decompress(body).decode()
    except (zlib.error, ValueError, TypeError) as error:
        raise ArchiveError(f"a stored message cannot be unpacked: {error}") from error


def load(body: str | bytes, digest: str) -> dict[str, Any]:
    """Return a stored message.

    Raises:
        ArchiveError: the body does not match its digest.
    """
    text = decompress(body)
    if hashlib.sha256(text.encode()).hexdigest() != digest:
        raise ArchiveError(f"a stored message does not match its digest {digest[:16]}")
    message: dict[str, Any] = decode(text)
    return message


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
