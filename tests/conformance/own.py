"""Our own cases: an operation, what goes in, what must come of it, and the requirements that it shows.

They stand beside the published ones and go through the same adapter; each is worked out by hand from its document.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Want = Any | Callable[[Any], bool]


@dataclass(frozen=True)
class Own:
    """A case: a sentence, the requirements that it shows, the operation, its input, and its result.

    ``want`` is the whole result, some keys of it, or a question about it.
    """

    says: str
    shows: str
    op: str
    given: dict[str, Any]
    want: Want


def text(n: int, role: str = "user", letter: str = "x") -> dict[str, Any]:
    """A message of 100 tokens and four where ``n`` is 400."""
    return {"role": role, "content": letter * n}


def row(id: str, n: int = 400, role: str = "user", **more: Any) -> dict[str, Any]:
    """Return a message in agentpg's shape."""
    return {"id": id, "role": role, "content": [{"type": "text", "text": "x" * n}], **more}


def talk(n: int) -> list[dict[str, Any]]:
    return [text(400, ("user", "assistant")[i % 2], "abcdefghij"[i]) for i in range(n)]


def rows(n: int) -> list[dict[str, Any]]:
    return [row(str(i), role=("user", "assistant")[i % 2]) for i in range(n)]


def order_of(*parts: str) -> Callable[[str], bool]:
    """Whether a text has these in this order."""

    def has(found: str) -> bool:
        places = [found.find(part) for part in parts]
        return -1 not in places and places == sorted(places)

    return has


def lines(n: int, of: str = "line {}") -> str:
    return "\n".join(of.format(i) for i in range(n))


def stored(id: str, *parts: dict[str, Any], role: str = "user", **more: Any) -> dict[str, Any]:
    """A message as opencode stores it."""
    return {"id": id, "role": role, "parts": list(parts) or [{"type": "text", "text": id}], **more}


def ran(id: str, n: int, tool: str = "bash", **more: Any) -> dict[str, Any]:
    return {"type": "tool", "call_id": id, "tool": tool, "status": "completed", "output": "x" * n, **more}


MARKER = {"type": "compaction", "auto": True}
CUT = {"text": "half", "finish": "length", "tool_calls": [{"id": "c", "name": "Bash", "arguments": '{"command":"l'}]}
TOOL = {"tool_calls": [{"id": "c", "name": "Bash", "arguments": "{}"}]}
DONE = {"text": "done", "finish": "stop"}
NINE = (
    "Primary Request and Intent, Key Technical Concepts, Files and Code Sections, Errors and Fixes, Problem Solving, "
    "User Preferences and Constraints, Pending Tasks, Current Work, Next Step"
).split(", ")
SIX = (
    "## Active Task",
    "## Key Decisions & Rationale",
    "## Files & Artifacts",
    "## Constraints & Requirements",
    "## Pending Items",
    "## Session Narrative",
)
