"""The form in which messages lie in an archive: the JSON that comes back, packed where that makes it smaller."""

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
    from collections.abc import Sequence

WORTH_PACKING = 256
"""Characters below which packing gains nothing: its own header and dictionary take more."""

_APART = re.compile(r"(\\\\)|\\u(D[89A-F][0-9A-F]{2})")
"""An escape in capitals: half of a pair of surrogates that is no character. Escaped backslashes are read over."""


def dumped(values: Sequence[object]) -> tuple[list[str], list[str]]:
    """Each value as the JSON that comes back, and its address, the SHA-256 of that.

    It is what ``json.dumps`` gives, but for two surrogates that stand apart: they come back apart.

    Raises:
        ArchiveError: JSON cannot say one of them.
    """
    try:
        try:
            return _core.dumps(list(values))
        except TypeError:  # a mapping of another type, a tuple, an enum: or something that is not JSON
            return _core.dumps([_plain(value) for value in values])
    except (TypeError, ValueError, RecursionError) as error:
        raise ArchiveError(f"a message cannot be archived as JSON: {error}") from error


def _plain(value: object) -> object:
    """The value as ``json`` writes it: any mapping is a dict, a tuple is a list, an enum is its text or number."""
    if isinstance(value, Mapping):
        return {_plain(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else value


def loaded(text: str) -> Any:
    """The value of ``dumped``'s JSON."""
    if "\\uD" in text:
        text = _APART.sub(lambda found: found[1] or chr(int(found[2], 16)), text)
    return json.loads(text)


def digest_of(text: str) -> str:
    """The address of a message's JSON: SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()


def pack(text: str) -> str | bytes:
    """A message's JSON as it is stored."""
    if len(text) < WORTH_PACKING:
        return text
    packed = zlib.compress(text.encode(), 1)
    return packed if len(packed) < len(text) else text


def unpack(body: str | bytes) -> str:
    """A message's JSON as it was.

    Raises:
        ArchiveError: it cannot be read.
    """
    if isinstance(body, str):
        return body
    try:
        return zlib.decompress(body).decode()
    except (zlib.error, ValueError, TypeError) as error:
        raise ArchiveError(f"a stored message cannot be unpacked: {error}") from error


def load(body: str | bytes, digest: str) -> dict[str, Any]:
    """A stored message.

    Raises:
        ArchiveError: it is not the one that was stored.
    """
    text = unpack(body)
    if digest_of(text) != digest:
        raise ArchiveError(f"a stored message does not fit its digest {digest[:16]}")
    message: dict[str, Any] = loaded(text)
    return message
