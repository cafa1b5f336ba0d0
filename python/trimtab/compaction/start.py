"""Starts a compaction: what plans, stores and rebuilds a list is loaded with the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .effects import Flow
    from .request import CompactionRequest
    from .result import Compaction


def compaction(request: CompactionRequest) -> Flow[Compaction[Any]]:
    """Return the flow of a compaction."""
    from .flow import compaction as flow  # noqa: PLC0415 - a session that compacts nothing needs none of it

    return flow(request)
