"""Whether JSON can hold messages, so that an archive takes them; the first other one is named with its place."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING

from .. import _core
from ..errors import ArchiveError, MessageError
from ..messages.objects import HINT, plain
from .sql.codec import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..messages.types import AnyMessage

NO_NUMBERS = ("NaN", "Infinity")
"""Words that Python writes for floats which JSON does not have."""

_DEEPEST = 60
"""Levels at which the search for a place ends: a value deeper than that is named by the field that holds it."""


def check_json(messages: Sequence[AnyMessage], start: int = 0) -> bool:
    """Reject messages that JSON cannot hold; return whether they are JSON as they are, without objects inside.

    Args:
        messages: the messages to look at.
        start: position of the first in its list.

    Raises:
        MessageError: names the first, the place in it and the fault.
    """
    doubtful = _core.not_json(list(messages))
    for index in doubtful:
        if found := _fault(plain([messages[index]])[0], "", 0):
            place, what = found
            path = f"messages[{start + index}]{place}"
            raise MessageError(f"not_json: {what}", path=path, index=start + index, hint=HINT)
    return not doubtful


def _fault(value: object, path: str, depth: int) -> tuple[str, str] | None:
    """Return the place and the fault of what JSON cannot hold; None if it holds the value."""
    if isinstance(value, float) and not isfinite(value):
        return path, f"{value} is no number of JSON"
    try:
        (text,), _ = encode([value])
        if not any(word in text for word in NO_NUMBERS):
            return None
        what = ""
    except ArchiveError as error:
        what = str(error.__cause__ or error)
    parts: list[tuple[str, object]] = []
    if isinstance(value, Mapping) and depth < _DEEPEST:
        if other := next((key for key in value if not isinstance(key, str)), None):
            return path, f"a key is {type(other).__name__}: JSON has no keys but strings"
        parts = [(f"{path}.{key}", part) for key, part in value.items()]
    elif isinstance(value, list | tuple) and depth < _DEEPEST:
        parts = [(f"{path}[{index}]", part) for index, part in enumerate(value)]
    found = next((found for place, part in parts if (found := _fault(part, place, depth + 1))), None)
    return found or ((path, what) if what else None)
