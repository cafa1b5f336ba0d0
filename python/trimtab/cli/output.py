"""Printing to stdout and stderr."""

from __future__ import annotations

import json
import sys
from typing import Any


def say(text: str) -> None:
    """Print a line to stdout."""
    print(printable(text))


def warn(text: str) -> None:
    """Print a note to stderr."""
    print(printable(text), file=sys.stderr)


def answer(value: Any) -> None:
    """Print a value as JSON to stdout."""
    print(json.dumps(value, indent=2))


def printable(text: str) -> str:
    """Escape control characters and lone surrogates, so that a session cannot control the terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)
