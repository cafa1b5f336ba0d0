"""Messages that edits change: each is copied once, however many of its blocks change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..ledger.columns import Ledger
    from ..messages.types import Message

TEXT_TYPE = {"anthropic": "text", "openai_chat": "text", "openai_responses": "input_text"}
"""Type of a text block in a tool's result, by provider; the others have untyped blocks."""


class Edited:
    """The changed messages of a transcript.

    Attributes:
        made: the changed messages, by position; None for a message that is left empty.
    """

    def __init__(self, messages: Sequence[Message], ledger: Ledger) -> None:
        self.made: dict[int, Message | None] = {}
        self._originals, self._owner, self._first = messages, ledger.owner.tolist(), ledger.first.tolist()
        self._lists: dict[int, list[Any]] = {}

    def now(self, index: int) -> Message | None:
        """Return a message with the edits so far."""
        return self.made.get(index, self._originals[index])

    def message(self, row: int, change: Callable[[Message], Message]) -> None:
        """Change the message of a row as a whole."""
        index = self._owner[row]
        if (message := self.now(index)) is not None:
            self.made[index] = change(message)

    def block(self, row: int, change: Callable[[Message, int], Message]) -> None:
        """Change the block of a row, in a message that has it alone; or its message, if that is no list of blocks."""
        index, place = self._owner[row], row - self._first[self._owner[row]]
        if (message := self.now(index)) is None:
            return
        blocks = self._blocks(index, message)
        if blocks is None:
            self.made[index] = change(message, place)
        else:
            key = key_of(message)
            blocks[place] = change({**message, key: [blocks[place]]}, 0)[key][0]

    def results(self, texts: dict[int, str], content: Callable[..., Any]) -> None:
        """Change the contents of results.

        Args:
            texts: new text by row.
            content: returns the new content, given the old one and ``text=``.
        """
        for row, text in texts.items():
            index = self._owner[row]
            if (message := self.made.get(index, self._originals[index])) is None:
                continue
            place, blocks = row - self._first[index], self._blocks(index, message)
            if blocks is None:
                self.made[index] = with_result(message, place, partial(content, text=text))
            else:
                blocks[place] = _changed(blocks[place], partial(content, text=text))

    def _blocks(self, index: int, message: Message) -> list[Any] | None:
        """Return a message's blocks in a list of its own; None where it has none, or is a result itself."""
        key = "parts" if "parts" in message else "content"
        blocks = message.get(key)
        if "tool_calls" in message or not isinstance(blocks, list) or not has_blocks(message):
            return None
        if blocks is not self._lists.get(index):
            self._lists[index] = blocks = [*blocks]
            self.made[index] = {**message, key: blocks}
        return blocks


def has_blocks(message: Message) -> bool:
    """Return whether the results of a message are blocks of it, not its whole content."""
    return message.get("role") not in {"tool", "function"} and "output" not in message


def key_of(message: Message) -> str:
    """Return the field with a message's blocks."""
    return "parts" if "parts" in message else "content"


def with_text(message: Message, block: int, text: str, provider: str) -> Message:
    """Return the message with a text in place of one of its images; a cache marker stays."""
    key = key_of(message)
    blocks = list(message[key])
    kept = {"cache_control": marker} if (marker := blocks[block].get("cache_control")) else {}
    typed = {"type": TEXT_TYPE[provider]} if provider in TEXT_TYPE else {}
    blocks[block] = {**typed, "text": text, **kept}
    return {**message, key: blocks}


def with_result(message: Message, block: int, content: Callable[[Any], Any]) -> Message:
    """Return the message with the content of one result changed: of a tool message, an output item or a block."""
    if not has_blocks(message):
        key = "output" if "output" in message else "content"
        return {**message, key: content(message.get(key))}
    key = key_of(message)
    blocks = list(message[key])
    blocks[block] = _changed(blocks[block], content)
    return {**message, key: blocks}


def _changed(block: Message, content: Callable[[Any], Any]) -> Message:
    """Return a result's block with other content and no files beside it: in the block itself, or under its one key."""
    for key, inner in (("toolResult", "content"), ("functionResponse", "response"), ("function_response", "response")):
        if isinstance(result := block.get(key), dict):
            alone = {name: value for name, value in result.items() if name != "parts"}
            return {**block, key: {**alone, inner: content(result.get(inner))}}
    return {**block, "content": content(block.get("content"))}
