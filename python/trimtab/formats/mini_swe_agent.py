"""Trajectories of mini-swe-agent: ``<instance>.traj.json``, versions 1 and 2.

The file is one object. ``messages`` has the prompt's messages in OpenAI Chat's shape, or a Responses model's responses
and the outputs of their calls, which keep that shape. Read are all of them without ``extra``, which is never sent, and
each response's usage. Left out are the closing message of role ``exit`` and fields that are null. There are no
compactions.
"""

from __future__ import annotations

from typing import Any

from ..messages.usage import Usage
from ._builder import Builder, FileRecords
from ._parts import dict_of, parts_of, text_of

_ROLES = ("system", "developer", "user", "assistant", "tool")


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether this is a trajectory of mini-swe-agent; the first versions do not name their format."""
    info = value.get("info")
    is_named = text_of(value.get("trajectory_format")).startswith("mini-swe-agent")
    return isinstance(value.get("messages"), list) and (is_named or (isinstance(info, dict) and "mini_version" in info))


def read(records: FileRecords, *, whole: bool) -> Builder:
    """Return the messages as they were sent; `whole` has no effect.

    Raises:
        MessageError: the file holds several trajectories.
    """
    session = _Session(whole=whole)
    for record in session.single(records, recognizes):
        config = dict_of(dict_of(record.value.get("info")).get("config"))
        session.model = text_of(dict_of(config.get("model")).get("model_name")) or None
        for i, message in enumerate(record.value["messages"]):
            if not isinstance(message, dict) or not session.add(message):
                session.skip(record, f"messages[{i}]: no message")
    return session


class _Session(Builder):
    """The messages of the prompt, or the items of the Responses API."""

    def add(self, message: dict[str, Any]) -> bool:
        """Add a message or response; return False if it is none."""
        if message.get("object") == "response":
            self._add_response(message)
            return True
        if message.get("role") == "exit":
            self.leave("exit")
            return True
        is_output = isinstance(message.get("type"), str) and isinstance(message.get("call_id"), str)
        if not is_output and (message.get("role") not in _ROLES or not _has_content(message)):
            return False
        if "call_id" in message:
            self.provider = "openai_responses"
        if message.get("role") == "assistant":
            self.charge(Usage.recorded(dict_of(dict_of(message.get("extra")).get("response")).get("usage")))
        self.messages.append(_plain(message))
        return True

    def _add_response(self, response: dict[str, Any]) -> None:
        """Add the items of a response."""
        self.provider = "openai_responses"
        made = self.objects(response.get("output"), "response")
        items = [_plain(item) for item in made if isinstance(item.get("type"), str)]
        self.leave("response", "without a type", count=len(made) - len(items))
        if items:
            self.charge(Usage.recorded(response.get("usage")))
        self.messages += items


def _has_content(message: dict[str, Any]) -> bool:
    """Return whether a message has a content, or may lack one."""
    content = message.get("content")
    if isinstance(content, list):
        return len(parts_of(content)) == len(content)
    return isinstance(content, str) or (content is None and message.get("role") == "assistant")


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without fields that are never sent; keep a null content where the shape requires one."""
    kept = {name: value for name, value in message.items() if name != "extra" and value is not None}
    return kept if "content" in kept or message.get("role") != "assistant" else {**kept, "content": None}
