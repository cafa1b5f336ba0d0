"""Files for ``benches/batch.py``: cut from the shared sessions, no text twice.

A file is a window of lines of a session of Claude Code or Codex, behind the session's first request; no window parts a
call from its result. In each file the lines of every text stand in another order, behind a number of its own: words
repeat as they do in a project's sessions, texts do not.
"""

from __future__ import annotations

import json
import random
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from _corpora import SESSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMATS = ("claude-code", "codex")
SHORT = 40
"""Characters below which a text is left as it is: names, ids, kinds."""


class Texts:
    """Makes texts that were not there before."""

    def __init__(self, random: random.Random) -> None:
        self.random, self.number = random, 0

    def anew(self, value: Any) -> Any:
        """Return a value whose texts have their lines in another order, behind a number."""
        if isinstance(value, dict):
            return {name: self.anew(field) for name, field in value.items()}
        if isinstance(value, list):
            return [self.anew(entry) for entry in value]
        if not isinstance(value, str) or len(value) < SHORT or not any(map(str.isspace, value)):
            return value
        if value[0] in "{[":  # arguments of a call
            with suppress(ValueError):
                return json.dumps(self.anew(json.loads(value)))
        lines = value.split("\n")
        self.random.shuffle(lines)
        self.number += 1
        return f"{self.number} " + "\n".join(lines)


def windows(random: random.Random, size: int) -> Iterator[list[Any]]:
    """Yield windows of the lines of sessions, of about so many bytes each, without end."""
    files = [path for name in FORMATS for path in sorted((SESSIONS / name).rglob("*.jsonl"))]
    sessions = [behind_request([*values(path)]) for path in files]
    sessions = [lines for lines in sessions if len(lines) > 2]
    while True:
        random.shuffle(sessions)
        for (_, first), *lines in sessions:
            window, held, wanted, open_calls = [first], 0, random.lognormvariate(-0.125, 0.5) * size, 0
            for length, value in lines:
                window.append(
                    {**value, "parentUuid": first["uuid"]} if window == [first] and "uuid" in first else value
                )
                held += length
                open_calls += calls_in(value)
                if held >= wanted and open_calls <= 0:
                    yield window
                    window, held, wanted, open_calls = [first], 0, random.lognormvariate(-0.125, 0.5) * size, 0
            yield window


def values(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the values of a file's lines, with their bytes; recorded sessions have a few lines that have none."""
    for line in path.read_bytes().splitlines():
        with suppress(ValueError):
            yield len(line), json.loads(line)


def behind_request(lines: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Return a session's lines from its first request on; of Codex from its first line."""
    of_user = (at for at, (_, value) in enumerate(lines) if (value.get("message") or {}).get("role") == "user")
    return lines if any("payload" in value for _, value in lines) else lines[next(of_user, len(lines)) :]


def calls_in(value: dict[str, Any]) -> int:
    """Return how many calls a line opens, less those that it answers."""
    inner = value.get("payload") or value.get("message") or {}
    kind = inner.get("type") or ""
    content = inner.get("content")
    kinds = [block.get("type") for block in content if isinstance(block, dict)] if isinstance(content, list) else [kind]
    opened = sum(kind in {"tool_use", "function_call", "custom_tool_call"} for kind in kinds)
    return opened - sum(kind in {"tool_result", "function_call_output", "custom_tool_call_output"} for kind in kinds)


def write(folder: Path, files: int, size: int, seed: int = 26) -> str:
    """Write files of about so many bytes each; return the hash of their content."""
    random_of, digest = random.Random(seed), sha256()
    texts = Texts(random_of)
    for number, window in zip(range(files), windows(random_of, size), strict=False):
        text = "".join(f"{json.dumps(texts.anew(value))}\n" for value in window).encode()
        (folder / f"{number:05}.jsonl").write_bytes(text)
        digest.update(text)
    return digest.hexdigest()
