"""Printing to stdout and stderr: whatever a text holds, a terminal shows it and does not obey it."""

from __future__ import annotations

import sys

from .terminal import shown

TYPE_CHECKING = False  # `typing` takes long to import

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable
    from typing import Any


def print_answer(options: argparse.Namespace, value: Any, lines: Iterable[str]) -> None:
    """Print an answer: with ``--json`` the value, otherwise the lines."""
    if options.json:
        print_json(value)
        return
    for line in lines:
        print_line(line)


def print_line(text: str) -> None:
    """Print a line to stdout."""
    print(shown(text, sys.stdout))


def print_note(text: str) -> None:
    """Print a note to stderr."""
    print(shown(text, sys.stderr), file=sys.stderr)


def many(number: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def print_json(value: Any) -> None:
    """Print a value as JSON to stdout."""
    print(to_json(value, indent=2))


def to_json(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON of printable ASCII: all other characters are escaped."""
    import json  # a usage error needs none

    return json.dumps(value, indent=indent, default=plain).replace("\x7f", "\\u007f")


def plain(value: Any) -> Any:
    """Return a dataclass as a dict, and a time as text, for ``json.dumps``."""
    from dataclasses import asdict
    from datetime import datetime

    return value.isoformat() if isinstance(value, datetime) else asdict(value)
