"""A summary that is given instead of asked for: by the caller, who may have edited one, or by a hook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CALLER: Literal["given"] = "given"
HOOK: Literal["pre_compact"] = "pre_compact"


@dataclass(frozen=True, slots=True)
class Given:
    """A given summary.

    Attributes:
        text: its text, as it was given.
        author: ``given`` by the caller, whose text stands as it is or is an error; or by the hook ``pre_compact``, in
            whose place the summarizer is asked if the text cannot be used.
    """

    text: object
    author: Literal["given", "pre_compact"]


def by_caller(summary: str | None) -> Given | None:
    """Return the caller's summary, or None without one.

    Raises:
        TypeError: it is no text.
    """
    if summary is not None and not isinstance(summary, str):
        msg = f"summary must be a str, got {type(summary).__name__}"
        raise TypeError(msg)
    return None if summary is None else Given(summary, CALLER)
