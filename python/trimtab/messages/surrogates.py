"""Lone surrogates: halves of characters, which harnesses leave where they cut a text.

No UTF-8 holds one, so that an SDK raises ``UnicodeEncodeError``, or the provider refuses the request. They are kept
where a list is read and archived, and replaced where it goes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from .. import _core

T = TypeVar("T")

CODE = "lone_surrogate"
"""Name of the problem and of its repair."""


def sendable(text: str) -> str:
    """Return a text with U+FFFD for each lone surrogate and one character for a pair; the same text without any."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def mended(messages: Sequence[T]) -> tuple[Sequence[T], list[int]]:
    """Return plain messages without lone surrogates, and the positions of the changed ones; else the given list.

    Messages that have none are the same objects.
    """
    found = _core.surrogates(messages) if isinstance(messages, list | tuple) else []
    if not found:
        return messages, found
    out = [*messages]
    for index in found:
        out[index] = cast("T", changed(out[index], sendable))
    return out, found


def mend(value: T) -> T:
    """Return a value of dicts, lists and texts without lone surrogates; the same object if it has none."""
    return mended([value])[0][0]


def changed(value: object, change: Callable[[str], str]) -> Any:
    """Apply ``change`` to each text and each key of a value; return the same object where nothing changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        new: Any = {}
        for key, part in value.items():
            new[_free(change(key) if isinstance(key, str) else key, new)] = changed(part, change)
        same = all(a is b for a, b in zip(new, value, strict=True)) and all(new[key] is value[key] for key in new)
    elif isinstance(value, list | tuple):
        new = [changed(part, change) for part in value]
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
