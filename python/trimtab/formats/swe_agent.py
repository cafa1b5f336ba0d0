"""SWE-agent trajectories: ``<instance>.traj``.

``history`` holds the prompt's messages, and its calls where the model could call functions; ``trajectory`` is the same
told for analysis. Mapped: role, content, calls, results and thinking of the agent that the history begins with. Left
out: messages of other agents, thoughts and actions (both stand in the content), demonstrations' marks. A history
processor may have shown the model less than the file holds, such as the last five observations: that is not recorded.
Nor is what a single call was charged, only totals, so there is no usage; and there are no compactions.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ._chat import Chat, calls_of, dict_of, list_of, parts_of, single, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..messages.types import Transcript
    from ._account import Account
    from ._records import Record

_NO_MODELS = ("human", "human_thought", "replay", "instant_empty_submit")  # stand-ins for a model

_TOLD = ("content", "tool_calls", "thinking_blocks", "thought", "action")  # the content repeats the last two


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether this is a trajectory of SWE-agent."""
    is_cut = "history" not in value and isinstance(value.get("environment"), str)  # cut off before the history
    return isinstance(value.get("trajectory"), list) and (is_cut or isinstance(value.get("history"), list))


def read(records: Iterable[Record], *, whole: bool) -> Transcript:
    """Return the messages of the history; `whole` has no effect.

    Raises:
        MessageError: the file holds several trajectories.
    """
    found, others = single(records, recognizes)
    chat = Chat(whole, skipped=others)
    for record in found:
        chat.model = _model(record.value.get("replay_config"))
        agent = None
        for i, entry in enumerate(record.value.get("history", ())):
            if not isinstance(entry, dict) or not _add(chat, entry, agent):
                chat.skip(record, f"history[{i}]: no message")
                continue
            agent = agent or entry.get("agent")
    return chat.transcript("swe_agent")


def _add(chat: Chat, entry: dict[str, Any], agent: Any) -> bool:
    """Add an entry of the history, unless it belongs to another agent; return False if it is no message."""
    role, content = entry.get("role"), entry.get("content")
    if not isinstance(content, (str, list)) and not (role == "assistant" and content is None):
        return False
    if agent and entry.get("agent") not in (None, agent):
        chat.account.leave("other agents", entry.get("agent"))
        return True
    chat.account.fields(entry, _TOLD, role)
    content = content if isinstance(content, str) else _parts(content, chat.account, role)
    if role == "assistant":
        thinking = [text_of(block.get("thinking")) for block in list_of(entry.get("thinking_blocks"))]
        words = content if isinstance(content, str) else "\n".join(text_of(part.get("text")) for part in content)
        for part in () if isinstance(content, str) else content:
            if not isinstance(part.get("text"), str):
                chat.account.leave(role, part["type"])
        chat.answer(words, calls_of(entry, chat.account), "\n".join(filter(None, thinking)))
    elif role == "tool":
        refs = entry.get("tool_call_ids")
        ref = refs[0] if isinstance(refs, list) and refs else entry.get("tool_call_id")
        chat.result(text_of(ref), content)
    elif role in ("system", "user"):
        chat.say(role, content)
    else:
        return False
    return True


def _parts(content: Any, account: Account, role: object) -> list[dict[str, Any]]:
    """Return the valid parts of a content."""
    parts = parts_of(content)
    account.leave(role, "no part", count=len(content or ()) - len(parts))
    return parts


def _model(config: Any) -> str | None:
    """Return the model's name from the replay configuration, an object or its JSON."""
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except (ValueError, RecursionError):
            return None
    name = text_of(dict_of(dict_of(dict_of(config).get("agent")).get("model")).get("name"))
    return name if name and name not in _NO_MODELS else None
