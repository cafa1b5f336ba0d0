"""Messages, and the contents of a session file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from .._repr import as_html, short

if TYPE_CHECKING:
    from ..models.provider import Provider
    from .usage import Usage

Message: TypeAlias = Mapping[str, Any]
"""One message or item, in its provider's own shape. Never mutated."""


class ModelObject(Protocol):
    """A pydantic model, as SDKs answer with."""

    def model_dump(self) -> dict[str, Any]:
        """Return the fields as a dict."""


class DataObject(Protocol):
    """An object of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


AnyMessage: TypeAlias = Mapping[str, Any] | ModelObject | DataObject
"""One message or item in any kind that is read: a dict, a typed dict, another mapping, or an object."""

MessageT = TypeVar("MessageT", bound=AnyMessage)
"""The kind of the caller's messages, which comes back."""


@dataclass(frozen=True, slots=True)
class Charged:
    """Billed tokens of one call that a session file records.

    Only for calls whose prompt was the beginning of the transcript: if compacted messages precede their summary
    (``whole=True``), calls after the summary have none.

    Attributes:
        before: number of messages in the call's prompt, which was ``messages[:before]``.
        prompt: input tokens, including cache reads and writes.
        output: output tokens; 0 if the file has no number.
        earlier: output tokens of the answer that the prompt holds already, as in ``Usage``.
    """

    before: int
    prompt: int
    output: int
    earlier: int = 0


@dataclass(frozen=True, slots=True)
class BilledCall:
    """A billed call of a session file, whatever its prompt was.

    Attributes:
        before: number of messages in front of its answer.
        usage: its usage.
        model: its model; empty if the file names none.
        at: its time in seconds since 1970; None if the file has none.
        compactions: number of compactions in front of it.
    """

    __repr__ = short

    before: int
    usage: Usage
    model: str = ""
    at: float | None = None
    compactions: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A fault of a file.

    Attributes:
        line: line number, from 1.
        offset: byte offset of the line's start.
        reason: the error.
        is_read: whether the record was read nevertheless: with the line breaks of its strings as they stand, or without
            the NUL bytes in front of it. The others are not in the transcript.
    """

    line: int
    offset: int
    reason: str
    is_read: bool = False


@dataclass(frozen=True, slots=True)
class Repaired:
    """A change that a repair made.

    Attributes:
        index: position in ``messages`` of the changed or added message; for a removed message, the position where it
            would stand.
        code: the kind of change.

            - ``interrupted_result``: an open call got a result that says so; a call of the computer tool was dropped.
            - ``orphan_result``: a result without its call became text.
            - ``duplicate_call``, ``duplicate_result``: a second one became text, an exact copy was dropped.
            - ``result_order``: results were moved before the text of their turn.
            - ``first_role``: a user message was added before a leading assistant.
            - ``blank_text``: blank text was dropped, and its message if nothing else was in it.
            - ``bare_thinking``, ``bare_reasoning``: thinking was dropped that nothing follows, or whose turn begins
              without thinking.
            - ``server_half``: a server call without its result was dropped, or a server result without its call.
            - ``ended_code``: a code execution was dropped that waits for its calls, because the request names no
              container; the calls became the model's own.
            - ``empty_field``: an empty list of calls was dropped, or missing content became an empty string.
            - ``unknown_role``: a message of an unknown role became the user's.
            - ``system_position``, ``system_role``: a system message between Anthropic's others was moved, or became the
              user's.
            - ``skipped_signature``: a call of Gemini's got the stand-in for its missing signature.
            - ``output_type``: an output got the type that answers its call.
            - ``compaction_trigger``, ``configuration_update``: an item of that type was moved, or a second one dropped.
            - ``misplaced``: a block of the other role became text; thinking and server results were dropped.
            - ``incomplete``: a call got its required fields, or became text; a picture without a source was dropped.
            - ``unsigned_thinking``, ``bound_thinking``: thinking was dropped without a signature, or with one that an
              edit broke.
            - ``merged``: a message was merged into the one before it, which has the same role.
            - ``prefill``, ``loop_ended``: a user text was added where the model cannot continue by itself.
            - ``picture``: a picture beyond the request's limits was replaced by a notice.
            - ``cache_marker``: the oldest of more than four markers was dropped, or a marker on thinking or on an empty
              text.
            - ``stored_id``: a call lost its storage id, because its reasoning is missing.
            - ``lone_surrogate``: each half of a character, which no request can hold, became U+FFFD.
            - ``trailing_space``: white space was dropped at the end of the assistant's last text.
        id: the call's id, empty if there is none.
    """

    index: int
    code: str
    id: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """The contents of a session file, as ``read`` returns them.

    Attributes:
        messages: the prompt's messages, in the provider's shape.
        provider: that shape.
        format: the file's format, one of ``trimtab.formats.FORMATS``: an agent's log, or a list in a provider's shape.
        model: the model of the last call, None if the file has none.
        system: the system prompt, if the file has it apart from the messages.
        tools: tool definitions, if the file has them.
        window: the agent's own context window in tokens, input and output together, if the file names or shows it.
        usage: billed tokens of calls, oldest first.
        skipped: lines that could not be read, or only after a repair.
        repaired: changes made so that a provider accepts the list.
        lines: number of lines, or list entries, with content; a value that spans lines counts once.
        compactions: with ``whole``, positions of the session's compactions, oldest first: ``messages[:n]`` were
            replaced for the model, by ``messages[n]`` if the file has the replacement as a message.
        left_out: numbers, by kind, of parts of the file that are in no message: entries and blocks that are never sent,
            unknown ones, other branches, and messages that a compaction replaced. A kind has the file's own name, an
            entry's type first, such as ``user/weird_block``. Unknown fields of a message count if they hold at least
            three words; others (names, numbers, times, settings) are ignored. Entries that gave the model, the system
            prompt, the tools, usage or a compaction do not count, nor copies of messages.
        contexts: with ``whole``, of each compaction the positions of the messages that the prompt had right after it:
            its replacement, and the messages that it kept.
        default_window: the window that the agent gives any model unless it is told otherwise, where the file does not
            show which one it has; the smaller of this and the model's is assumed.
        calls: with ``whole``, all billed calls of the session, oldest first; else those since the last compaction.
    """

    __repr__ = short
    _repr_html_ = as_html

    messages: list[dict[str, Any]]
    provider: Provider
    format: str
    model: str | None = None
    system: str | list[dict[str, Any]] | None = None
    tools: list[dict[str, Any]] | None = None
    window: int | None = None
    usage: list[Charged] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    repaired: list[Repaired] = field(default_factory=list)
    lines: int = 0
    compactions: list[int] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    default_window: int | None = None
    calls: list[BilledCall] = field(default_factory=list, compare=False)
    contexts: list[list[int]] = field(default_factory=list)


def text_of(content: object) -> str:
    """Return the text of a message's content: a string itself, or the joined texts of blocks.

    Examples:
        >>> text_of([{"type": "text", "text": "one "}, {"type": "image"}, {"type": "text", "text": "two"}])
        'one two'
    """
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list | tuple) else ()
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "".join(text for text in texts if isinstance(text, str))


def whole_calls(message: Message) -> Message:
    """Return the message without calls whose arguments are cut off, as in an answer that reached its output limit.

    Arguments that are still text (``input_raw``, or a string) are whole if they are JSON; parsed arguments are always
    whole. Returns the same object if every call is whole.
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
    except (ValueError, RecursionError):
        return False
    return True


def is_medium(block: Any) -> bool:
    """Return whether a block is a picture, or a document that is no text."""
    if not isinstance(block, dict) or block.get("type") not in {"image", "document"}:
        return False
    source = block.get("source")
    is_text = isinstance(source, dict) and (source.get("type") in {"text", "content"} or "content" in source)
    return block["type"] == "image" or not is_text
