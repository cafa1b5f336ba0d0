"""The form in which messages lie in an archive: the JSON that comes back, packed where that makes it smaller."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._messages import Message

WORTH_PACKING = 256
"""Characters below which packing gains nothing: its own header and dictionary take more."""


def _mapping(value: object) -> object:
    """What ``json`` cannot write, as what it can: any mapping is a dict."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


_encode = json.JSONEncoder(default=_mapping).encode
_decode = json.JSONDecoder().raw_decode


def dumped(messages: Sequence[Message]) -> list[str]:
    """Each message as the JSON that comes back: loading and dumping it again gives the same text.

    All are written in one go, and read back one by one: that tells where each begins, and what it will be.

    Raises:
        ArchiveError: JSON cannot say one of them.
    """
    try:
        text = _encode(list(messages))
        texts: list[str] = []
        back: list[object] = []
        at = 1
        while len(back) < len(messages):
            message, end = _decode(text, at)
            texts.append(text[at:end])
            back.append(message)
            at = end + 2
        same = back == list(messages) or (_encode(back) == text and _named(messages))
    except (TypeError, ValueError, RecursionError) as error:
        raise ArchiveError(f"a message cannot be archived as JSON: {error}") from error
    if not same:
        raise ArchiveError("a message would not come back as it is: JSON has no keys but strings")
    return texts


def _named(value: object) -> bool:
    """Whether all keys are strings: the others would come back as strings."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _named(part) for key, part in value.items())
    return not isinstance(value, list | tuple) or all(map(_named, value))


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
    message: dict[str, Any] = json.loads(text)
    return message
