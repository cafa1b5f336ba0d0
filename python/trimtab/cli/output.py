"""What is printed, and where."""

from __future__ import annotations

import json
import sys
from typing import Any


def say(text: str) -> None:
    """A line of the answer."""
    print(printable(text))


def warn(text: str) -> None:
    """A note beside the answer."""
    print(printable(text), file=sys.stderr)


def answer(value: Any) -> None:
    """The answer as one JSON document."""
    print(json.dumps(value, indent=2))


def printable(text: str) -> str:
    """The text with control characters and lone surrogates escaped: a session cannot drive the terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)
