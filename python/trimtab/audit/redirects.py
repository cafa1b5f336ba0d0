"""The files that commands of a shell or a terminal wrote by redirecting a text into them."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_COMMANDS = ("command", "cmd", "keystrokes", "script")
"""Arguments of a call that hold commands."""

_WRITES = re.compile(
    r"(?:^|[;&|\n])[^\S\n]*(?:echo|printf|cat|tee)\b(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\n;|&'\">])*>{1,2} *"
    r"(?!/(?:dev|tmp|proc)/)([\w./~+-]*\w\.\w+)"
)
"""A text that goes into a file with a suffix; files for the moment, in ``/tmp``, are none."""

_REMOVES = re.compile(r"(?:^|[;&|\n])[^\S\n]*rm (?:-\w+ )*([\w./~+-]+)")


def redirected(calls: Iterable[str]) -> list[str]:
    """Return the paths that calls wrote so and did not remove afterwards, oldest first.

    Args:
        calls: the arguments of calls, as JSON text.
    """
    paths: dict[str, None] = {}
    for command in (command for text in calls if ">" in text or "rm " in text for command in _commands(text)):
        for removed in _REMOVES.findall(command):
            paths.pop(removed, None)
        paths |= dict.fromkeys(_WRITES.findall(command))
    return list(paths)


def _commands(text: str) -> Iterator[str]:
    """Yield the commands in the arguments of a call."""
    with suppress(ValueError, RecursionError):
        given = json.loads(text)
        for name in _COMMANDS if isinstance(given, dict) else ():
            if isinstance(command := given.get(name), str):
                yield command
