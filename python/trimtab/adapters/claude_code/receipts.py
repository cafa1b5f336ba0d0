"""What the hooks did, a line each in a file, until the process that archives puts it into the archive's log.

A hook that Claude Code waits for appends a line in 0.1 ms; to open the archive takes 20.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress

from .store import folder

TYPE_CHECKING = False  # `typing` takes long to import

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NAME = "log.jsonl"
LONGEST = 400
"""Characters of a value in a line, so that lines of several hooks do not mix."""


def note(session: object, what: str, outcome: str, why: str) -> None:
    """Note what a hook did; without a session's name, or where it cannot be written, nothing is noted."""
    if not isinstance(session, str) or not session.strip() or not session.isprintable() or len(session) > LONGEST:
        return
    entry = {"id": os.urandom(10).hex(), "session": session, "what": what, "outcome": outcome, "why": why}
    line = json.dumps({**entry, "at": time.time()}) + "\n"
    with suppress(OSError):
        path = os.path.join(folder("receipts"), NAME)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def waiting() -> list[str]:
    """Return the files of the entries that are not in the archive yet."""
    place = folder("receipts")
    return [os.path.join(place, name) for name in sorted(os.listdir(place)) if ".jsonl" in name]


def take() -> list[str]:
    """Set the entries of now apart, so that hooks begin a new file; return the files that are apart."""
    place = folder("receipts")
    with suppress(FileNotFoundError):
        os.replace(os.path.join(place, NAME), os.path.join(place, f"{time.time_ns():020}.jsonl"))
    return [path for path in waiting() if os.path.basename(path) != NAME]


def entries(path: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a file; what is none is left out."""
    with suppress(OSError), open(path, "rb") as file:
        for line in file:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict) and _is_whole(found):
                yield found


def _is_whole(found: dict[str, Any]) -> bool:
    texts = (found.get(name) for name in ("id", "session", "what", "outcome", "why"))
    at = found.get("at")
    return all(isinstance(text, str) for text in texts) and isinstance(at, float) and 0 <= at < 2**33
