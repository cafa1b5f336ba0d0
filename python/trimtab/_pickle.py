"""Errors that say why a value cannot go to another process, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_fields(what: str, fields: Iterable[tuple[str, object]]) -> None:
    """Raise an error that names the first field that ``pickle`` refuses.

    Raises:
        TypeError: it refuses one, such as a lambda, a client or an archive in memory.
    """
    from pickle import dumps  # noqa: PLC0415 - loaded with the first value that goes to another process

    for name, value in fields:
        try:
            dumps(value)
        except Exception as error:
            advice = f"make the {what} where it is used, or name a value that pickle takes"
            raise TypeError(f"cannot pickle a {what} with {name}={value!r}: {advice} ({error})") from error
