"""Counters of Claude's prompts that start fast: a file keeps the grammar of a model, whose table loads slowly."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from ... import _core
from .store import folder, read_json, safe_name, write

TYPE_CHECKING = False  # `typing` takes long to import

if TYPE_CHECKING:
    from typing import Any

MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "models")


class Grammar:
    """A ``PromptGrammar`` from a file: the core reads its attributes."""

    encoding: str
    thought: int

    def __init__(self, fields: dict[str, Any]) -> None:
        """Take the fields."""
        self.__dict__.update(fields)


def counter_of(model: str) -> tuple[_core.Counter, Grammar]:
    """Return a model's counter, and the grammar of its prompts."""
    try:
        grammar = Grammar(_fields(model))
        return _counter(grammar), grammar
    except (AttributeError, TypeError, ValueError):  # of a file that somebody has changed
        grammar = Grammar(_from_table(model))
        return _counter(grammar), grammar


def _counter(grammar: Grammar) -> _core.Counter:
    return _core.Counter(grammar.encoding, prompt=grammar)  # type: ignore[arg-type]


def _fields(model: str) -> dict[str, Any]:
    """Return the fields of a model's grammar: from the file if this release wrote it, else from the table."""
    try:
        path = os.path.join(folder("grammars"), f"{safe_name(model)}.json")
    except OSError:
        return _from_table(model)
    key = [model, _core.__version__, *_stamps()]
    found = read_json(path)
    fields = found.get("fields")
    if found.get("key") == key and isinstance(fields, dict) and found.get("digest") == _digest(fields):
        return fields
    fields = _from_table(model)
    with suppress(OSError):
        write(path, json.dumps({"key": key, "fields": fields, "digest": _digest(fields)}).encode())
    return fields


def _from_table(model: str) -> dict[str, Any]:
    from dataclasses import asdict  # 50 ms with the table

    from ...models.model import Model

    return asdict(Model.named(model).prompt)


def _stamps() -> list[int]:
    """Return the times of the tables' files: a source checkout changes without its version."""
    return [os.stat(os.path.join(MODELS, name)).st_mtime_ns for name in sorted(os.listdir(MODELS)) if "." in name]


def _digest(fields: dict[str, Any]) -> str:
    return _core.digest(json.dumps(fields, sort_keys=True))
