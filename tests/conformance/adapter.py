"""Runs the operations of the conformance cases; ``ops`` has them, a file a group."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ops.table import OPS

FILES = list(Path(__file__).parent.joinpath("ops").glob("*.py"))
for path in FILES:
    import_module(f"ops.{path.stem}")  # puts its operations into the table


def run(name: str, given: Mapping[str, Any]) -> Any:
    """The result of an operation."""
    return OPS[name](**given)
