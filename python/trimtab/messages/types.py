"""What goes in: a caller's messages, and what a session file gave."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from .._repr import short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..models.provider import Provider

Message: TypeAlias = "Mapping[str, Any]"
"""One message or item, in its provider's own shape. Never mutated."""


@dataclass(frozen=True, slots=True)
class Charged:
    """What a provider charged for one call that a session file records.

    Only calls whose prompt was the beginning of the transcript have one: where compacted messages stand before their
    summary (``whole=True``), the calls behind the summary have none.

    Attributes:
        before: number of messages of the transcript that the call's prompt held: ``messages[:before]``.
        prompt: input tokens, with those read from and written to a cache.
        output: output tokens; 0 where the file does not say.
    """

    before: int
    prompt: int
    output: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of a file that could not be read.

    Attributes:
        line: line number, from 1.
        offset: byte offset of the line's start.
        reason: what is wrong with it.
    """

    line: int
    offset: int
    reason: str


@dataclass(frozen=True, slots=True)
class Repaired:
    """A change that makes a list sendable.

    Attributes:
        index: position in ``messages`` of the message that was changed or added; of one that was removed, the position
            where it would stand.
        code: what was done.

            - ``interrupted_result``: an open call got a result that says so; a call of the computer tool went.
            - ``orphan_result``: a result without its call became text.
            - ``duplicate_call``, ``duplicate_result``: a second one became text, an exact copy went.
            - ``result_order``: results moved before the text of their turn.
            - ``first_role``: a user message was put before an assistant's.
            - ``blank_text``: text of white space went, with its message if there was nothing else.
            - ``bare_thinking``, ``bare_reasoning``: thinking went that led to nothing, or whose turn begins without it.
            - ``server_half``: a server's call without its result went, or the other way round.
            - ``empty_field``: an empty list of calls went, or missing content became an empty string.
            - ``unknown_role``: a message of a role that there is not became the user's.
            - ``misplaced``: what the other role alone may say became text; thinking and a server's results went.
            - ``incomplete``: a call got the fields that it needs, or became text; a picture without a source went.
            - ``unsigned_thinking``, ``bound_thinking``: thinking went that nobody signed, or that an edit broke.
            - ``merged``: a message became part of the one in front of it, whose role it has.
            - ``prefill``, ``loop_ended``: the user asks to go on, where the model may not go on by itself.
            - ``picture``: a picture went that the request may not hold.
            - ``cache_marker``: the oldest of more than four markers went, or one on thinking.
            - ``stored_id``: a call lost the id under which it is stored, as its reasoning is not there.
            - ``trailing_space``: white space behind the assistant's last word went.
        id: the call's id, empty if there is none.
    """

    index: int
    code: str
    id: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """What ``read`` found in a session file.

    Attributes:
        messages: the prompt's messages, in the provider's shape.
        provider: that shape.
        format: the kind of file, one of ``trimtab.formats.FORMATS``: an agent's log, or a list in a provider's shape.
        model: the model that was used last, None if the file does not say.
        system: the system prompt, where the file has it apart from the messages.
        tools: tool definitions, where the file has them.
        usage: what calls were charged, oldest first.
        skipped: lines that could not be read.
        repaired: changes made so that a provider accepts the list.
        lines: number of lines, or list entries, that hold something; a value that spans lines counts once.
        compactions: with ``whole``, where the session was compacted, oldest first: ``messages[:n]`` is what the model
            no longer saw as it stands, ``messages[n]`` what came in its place, where the file has that as a message.
        left_out: what the file holds besides and no message has, as numbers by kind: entries and blocks that are never
            sent, unknown ones, other branches, and what a compaction replaced. A kind is named as the file names it, an
            entry's type before what is in it, such as ``user/weird_block``. So are unknown fields of a message in which
            there are words, at least three; others (names, numbers, times, settings) are passed over. Entries that gave
            the model, the system prompt, the tools, usage or a compaction are not in it, nor copies of what is in the
            messages.
    """

    __repr__ = short

    messages: list[dict[str, Any]]
    provider: Provider
    format: str
    model: str | None = None
    system: str | list[dict[str, Any]] | None = None
    tools: list[dict[str, Any]] | None = None
    usage: list[Charged] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    repaired: list[Repaired] = field(default_factory=list)
    lines: int = 0
    compactions: list[int] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)


def text_of(content: object) -> str:
    """The words of a message's content: a string as it is, of blocks the texts, joined.

    Example:
        >>> text_of([{"type": "text", "text": "one "}, {"type": "image"}, {"type": "text", "text": "two"}])
        'one two'
    """
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list | tuple) else ()
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "".join(text for text in texts if isinstance(text, str))


def whole_calls(message: Message) -> Message:
    """The message without calls whose arguments end in the middle, as an answer that was cut at its limit has them.

    Arguments that are still text, as they came (``input_raw``, or a string), are whole if they are JSON; arguments that
    are parsed already are. The same object where every call is whole.
    """
    changed: dict[str, Any] = {}
    for key in ("content", "tool_calls"):
        blocks = message.get(key)
        if isinstance(blocks, list):
            kept = [block for block in blocks if _is_whole(block)]
            if len(kept) < len(blocks):
                changed[key] = kept
    if changed.get("tool_calls") == []:
        return {name: value for name, value in {**message, **changed}.items() if name != "tool_calls"}
    return {**message, **changed} if changed else message


def _is_whole(block: Any) -> bool:
    if not isinstance(block, dict) or block.get("type") not in {"tool_use", "server_tool_use", "function"}:
        return True
    function = block.get("function")
    raw = function.get("arguments") if isinstance(function, dict) else block.get("input_raw", block.get("input"))
    if not isinstance(raw, str):
        return True
    try:
        json.loads(raw)
    except ValueError:
        return False
    return True
