"""Parts of a job over many files, done in this process: what the engines' tests have done by Daft and Ray."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from trimtab.adapters.batch.task import Task


def query(task: Task, parts: dict[int, Any], engine: str, workers: int) -> Iterator[dict[str, Any]]:
    """Do the parts one after the other, each by a worker of its own, handed over as JSON."""
    from trimtab.adapters.batch.work import Worker

    for number, units in parts.items():
        yield json.loads(Worker(task)(number, json.dumps(units)))


def without_engine(patch: pytest.MonkeyPatch) -> None:
    """Have no engine do a job's parts."""
    patch.setattr(import_module("trimtab.adapters.batch.run"), "_query", query)
