"""Claude Agent SDK: hooks that archive a session before Claude Code compacts it, and cut large outputs of tools."""

from __future__ import annotations

from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from claude_agent_sdk import HookMatcher

from .._home import archive_url
from .._log import log
from .claude_code import events

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

SECONDS = 30.0
"""A hook that takes longer is left alone by Claude Code."""

TOOLS = ("Bash", "Grep", "WebFetch")
"""Tools whose outputs are cut: a model that edits from a file which was cut when it was read edits blind."""


def hooks(
    *, archive: str | None = None, truncate: int | None = None, tools: Collection[str] = TOOLS
) -> dict[str, list[HookMatcher]]:
    """Return hooks for ``ClaudeAgentOptions(hooks=)``; they refuse nothing, raise nothing and work in threads.

    ``PreCompact`` copies the session, and a process of its own archives the copy: ``trimtab archive search`` finds it.
    The SDK has no event after a compaction, so that nothing is given back; ``trimtab hook install`` does that in Claude
    Code itself. ``PostToolUse`` is there with ``truncate``: each text of an output keeps its last lines, in the tool's
    own keys and types, and names the file with the whole of it.

    Args:
        archive: URL of the archive, ``sqlite:///`` and a path; None is the command line's.
        truncate: most tokens of a text in an output, by Claude's vocabulary; None cuts nothing.
        tools: names of the tools whose outputs are cut.

    Raises:
        ValueError: ``truncate`` is below 1.
    """
    if truncate is not None and truncate < 1:
        msg = f"truncate must be at least 1, got {truncate}"
        raise ValueError(msg)
    found = {"PreCompact": [_matcher(partial(_archived, archive=archive_url(archive)))]}
    if truncate is not None:
        found["PostToolUse"] = [_matcher(partial(events.post_tool_use, limit=truncate, tools=tools))]
    return found


def _archived(event: Any, archive: str) -> None:
    process = events.pre_compact(event, archive)
    Thread(target=process.wait, daemon=True).start()  # so that the ended process does not stay in the system's table


def _matcher(answer: Callable[[Any], dict[str, Any] | None]) -> HookMatcher:
    async def hook(event: Any, *_: Any) -> dict[str, Any]:
        try:
            return await to_thread.run_sync(answer, event) or {}
        except Exception as error:  # noqa: BLE001 - the agent goes on
            log.warning("a hook failed: %s", error)
            return {}

    return HookMatcher(hooks=[hook], timeout=SECONDS)
