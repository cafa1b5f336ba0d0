"""Printing to stdout and stderr."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
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
    print(printable(text))


def print_note(text: str) -> None:
    """Print a note to stderr."""
    print(printable(text), file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a value as JSON to stdout."""
    print(json.dumps(value, indent=2, default=plain))


def plain(value: Any) -> Any:
    """Return a dataclass as a dict, and a time as text, for ``json.dumps``."""
    return value.isoformat() if isinstance(value, datetime) else asdict(value)


def printable(text: str) -> str:
    """Escape control characters and lone surrogates, so that a session cannot control the terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)
