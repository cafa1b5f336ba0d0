"""Access to a policy by path: names of fields, or a keeper's type among the keepers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any


def get(of: Any, path: tuple[str | type, ...]) -> Any:
    """Return the value at a path; None if a stage or keeper on the way is missing."""
    for step in path:
        if of is None:
            return None
        of = getattr(of, step) if isinstance(step, str) else next((k for k in of.keepers if isinstance(k, step)), None)
    return of


def replace_at(of: Any, path: tuple[str | type, ...], entry: Any) -> Any:
    """Return a copy with another value at a path; a missing stage stays missing."""
    if not path:
        return entry
    if of is None:
        return None
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        return replace(of, **{step: replace_at(getattr(of, step), rest, entry)})
    return replace(of, keepers=tuple(replace_at(k, rest, entry) if isinstance(k, step) else k for k in of.keepers))
