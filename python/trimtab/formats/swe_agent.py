"""Trajectories of SWE-agent: ``<instance>.traj``.

The file is one object. ``history`` has the prompt's messages, and their calls if the model could call functions;
``trajectory`` repeats them for analysis. Read are role, content, calls, results and thinking of the agent with which
the history begins. Left out are messages of other agents, thoughts and actions (the content repeats both) and marks of
demonstrations. The file does not contain the usage of a single call, only totals, so there is no usage. A history
processor may have sent less than the history, such as the last five observations; the file does not say so. There are
no compactions.
"""

from __future__ import annotations

import json
from typing import Any

from ._builder import Builder, FileRecords
from ._parts import dict_of, list_of, parts_of, text_of, text_part

_NO_MODELS = ("human", "human_thought", "replay", "instant_empty_submit")  # stand-ins for a model

_ENTRY = ("content", "tool_calls", "thinking_blocks", "thought", "action")  # the content repeats the last two


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether this is a trajectory of SWE-agent."""
    is_cut = "history" not in value and isinstance(value.get("environment"), str)  # cut off before the history
    return isinstance(value.get("trajectory"), list) and (is_cut or isinstance(value.get("history"), list))


def read(records: FileRecords, *, whole: bool) -> Builder:
    """Return the messages of the history; `whole` has no effect.

    Raises:
        MessageError: the file holds several trajectories.
    """
    session = _Session(whole=whole)
    for record in session.single(records, recognizes):
        session.model = _model(record.value.get("replay_config"))
        agent = None
        for i, entry in enumerate(record.value.get("history", ())):
            if not isinstance(entry, dict) or not session.add(entry, agent):
                session.skip(record, f"history[{i}]: no message")
                continue
            agent = agent or entry.get("agent")
    return session


class _Session(Builder):
    """The messages in Chat's shape."""

    def add(self, entry: dict[str, Any], agent: Any) -> bool:
        """Add an entry of the history, unless it belongs to another agent; return False if it is no message."""
        role, content = entry.get("role"), entry.get("content")
        if not isinstance(content, (str, list)) and not (role == "assistant" and content is None):
            return False
        if agent and entry.get("agent") not in (None, agent):
            self.leave("other agents", entry.get("agent"))
            return True
        self.leave_fields([entry], _ENTRY, role)
        if not isinstance(content, str):
            parts = parts_of(content)
            self.leave(role, "no part", count=len(content or ()) - len(parts))
            content = parts
        if role == "assistant":
            thinking = [text_of(block.get("thinking")) for block in list_of(entry.get("thinking_blocks"))]
            parts = [text_part(content)] if isinstance(content, str) else content
            for part in parts:
                self.leave(role, part["type"], count=int(not isinstance(part.get("text"), str)))
            text = "\n".join(text_of(part.get("text")) for part in parts)
            self.answer(text, self.calls_of(entry), "\n".join(filter(None, thinking)))
        elif role == "tool":
            refs = entry.get("tool_call_ids")
            self.result(refs[0] if isinstance(refs, list) and refs else entry.get("tool_call_id"), content)
        elif role in ("system", "user"):
            self.say(role, content)
        else:
            return False
        return True


def _model(config: Any) -> str | None:
    """Return the model's name from the replay configuration, an object or its JSON."""
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except (ValueError, RecursionError):
            return None
    name = text_of(dict_of(dict_of(dict_of(config).get("agent")).get("model")).get("name"))
    return name if name and name not in _NO_MODELS else None
