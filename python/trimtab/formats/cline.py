"""Sessions of Cline: ``tasks/<id>/api_conversation_history.json`` in its storage.

The file is a list of messages in Anthropic's shape. Beside an answer stand ``modelInfo`` and ``metrics``, whose
prompt holds what was cached; blocks have fields of Cline's own. These fields are read, and not sent. Older versions
write calls and results as text. Which messages a truncation leaves out of the prompt stands in another file: a prompt
that is half of the one before shows it, and usage from there on is not that of this list. Cline keeps the system
prompt and the tools nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..messages.usage import Usage, is_tokens
from ._builder import Builder, FileRecords
from ._parts import dict_of, text_of

_ROLES = ("user", "assistant")
_OWN = ("ts", "modelInfo", "metrics")
_BLOCK = ("call_id", "reasoning_details", "summary", "isPartial")
"""Fields of a block that Anthropic does not know."""

TRUNCATED = 0.5
"""Share of the prompt before below which messages were left out."""


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether only a Cline session has such a message."""
    return value.get("role") in _ROLES and ("modelInfo" in value or "metrics" in value)


def read(records: FileRecords, *, whole: bool) -> Builder:
    """Return the messages, all of which are in the file; `whole` changes nothing."""
    session = _Session(whole=whole, provider="anthropic")
    for record in records:
        value = record.value
        if isinstance(value, dict) and value.get("role") in _ROLES and isinstance(value.get("content"), (str, list)):
            session.add(value)
        else:
            session.skip(record, "no message")
    return session


@dataclass(slots=True)
class _Session(Builder):
    """The messages in Anthropic's shape.

    Attributes:
        last: tokens of the last prompt.
    """

    last: int = 0

    def add(self, value: dict[str, Any]) -> None:
        """Add a message and its usage."""
        self.model = text_of(dict_of(value.get("modelInfo")).get("modelId")) or self.model
        if value["role"] == "assistant":
            self._charge(dict_of(dict_of(value.get("metrics")).get("tokens")))
        message = {name: part for name, part in value.items() if name not in _OWN}
        if isinstance(value["content"], list):
            blocks = self.objects(value["content"], "content")
            typed = [block for block in blocks if isinstance(block.get("type"), str)]
            self.leave("content", count=len(blocks) - len(typed))
            message["content"] = [{k: part for k, part in block.items() if k not in _BLOCK} for block in typed]
        self.messages.append(message)

    def _charge(self, tokens: dict[str, Any]) -> None:
        """Record usage: its prompt includes what was read from a cache."""
        prompt, output, cached = (tokens.get(key) for key in ("prompt", "completion", "cached"))
        if not is_tokens(prompt):
            return
        self.is_prompt = self.is_prompt and prompt >= TRUNCATED * self.last
        self.last = prompt
        read = min(cached, prompt) if is_tokens(cached) else 0
        self.charge(Usage(input=prompt - read, output=output if is_tokens(output) else 0, cache_read=read))
