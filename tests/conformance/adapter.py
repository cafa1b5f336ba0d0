"""Runs the operations of the conformance cases; ``ops`` has them, a file a group."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]  # whoever imports it, from wherever

from ops.table import OPS  # noqa: E402

FILES = list(Path(__file__).parent.joinpath("ops").glob("*.py"))
for path in FILES:
    import_module(f"ops.{path.stem}")  # puts its operations into the table


def run(name: str, given: Mapping[str, Any]) -> Any:
    """The result of an operation."""
    return OPS[name](**given)
