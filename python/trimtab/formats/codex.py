"""Rollouts of OpenAI's Codex: ``~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl``.

A line has a ``type`` and a ``payload``. A ``response_item`` is an item of the Responses API as it was sent or received;
a ``compacted`` line replaces all items before it; ``session_meta`` has the system prompt, ``turn_context`` the model.
``event_msg`` lines are for the screen, but for ``token_count``, a call's usage and the window, ``task_started``, the
window, and ``thread_rolled_back``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._builder import Builder
from ._prompt import FilePrompt

if TYPE_CHECKING:
    from ..models.provider import Provider
    from ._records import Records

PROVIDER: Provider = "openai_responses"
"""The shape of the items."""

_LINES = ("session_meta", "turn_context", "response_item", "compacted", "event_msg")


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether only a Codex rollout has such a line."""
    return value.get("type") in _LINES and isinstance(value.get("payload"), dict)


def read(records: Records, *, whole: bool) -> Builder:
    """Return the items of the prompt; `whole` keeps those that a compaction replaced.

    Raises:
        MessageError: the file changed.
    """
    return built(FilePrompt.of(records, "codex", whole=whole), whole=whole)


def built(prompt: FilePrompt, *, whole: bool) -> Builder:
    """Return the items of a prompt.

    Raises:
        MessageError: the file changed.
    """
    session = Builder(whole=whole, provider=PROVIDER)
    prompt.fill(session)
    model, system, session.window, _, _ = prompt.found.settings()
    session.model, session.system = model or None, system or None
    return session
