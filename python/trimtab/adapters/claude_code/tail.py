"""The end of a Claude Code session file: its last answer and what came since, or since the last compaction.

The file is read backwards, so that the time does not grow with it. ``formats.claude_code`` decides what a line means;
this module knows the lines at the end of a usual session, and raises ``UnknownEndError`` at any other.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False  # `typing` takes long to import

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from mmap import mmap
    from typing import Any

PROMPT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
"""Fields of a usage that add up to the prompt."""


class UnknownEndError(Exception):
    """The end of the file is none that this module knows."""


class Tail:
    """The end of a session.

    Attributes:
        messages: the last answer and what came since; or a compaction's summary, or the first message, and what came
            since.
        prompt: billed tokens of the prompt of that answer; 0 where the messages begin with no answer.
        output: billed tokens of that answer.
        model: its model; empty where there is none.
    """

    def __init__(self, messages: list[dict[str, Any]], answers: list[dict[str, Any]]) -> None:
        """Take the messages, and the messages of the answer's lines.

        Raises:
            UnknownEndError: the usage adds up several calls, or there is none.
        """
        usages = [answer.get("usage") for answer in answers]
        self.messages = messages
        if any(isinstance(usage, dict) and usage.get("iterations") for usage in usages):
            raise UnknownEndError("an answer of several calls")
        self.prompt = max(map(prompt_of, usages), default=0)
        if answers and not self.prompt:
            raise UnknownEndError("an answer without usage")
        self.output = max((_number(usage, "output_tokens") for usage in usages), default=0)
        self.model = next((str(answer.get("model") or "") for answer in answers), "")


def prompt_of(usage: object) -> int:
    """Return the tokens of a billed prompt; 0 for what is no usage."""
    return sum(_number(usage, name) for name in PROMPT)


def read_tail(text: mmap) -> Tail:
    """Return the end of a session.

    Raises:
        UnknownEndError: the last lines lead to no answer, no summary and no first message; or the answer has no
            usage, or that of several calls.
    """
    chain: list[dict[str, Any]] = []
    beside: list[dict[str, Any]] = []
    answer, wanted = "", None
    entries = _backwards(text)
    for entry in entries:
        is_sent = is_message(entry)
        if chain and entry.get("uuid") != wanted:
            if is_sent:
                beside.append(entry)
            continue
        if not is_sent and not chain:
            continue
        if is_sent:
            found = _answer_of(entry)
            if answer and found != answer and (found or not _answers(entry)):  # a result may part an answer's lines
                return _answered(answer, chain, beside)
            answer = answer or found
            chain.append(entry)
            if entry.get("isCompactSummary"):
                _check_boundary(next(entries, {}))
                return Tail([_plain(each) for each in reversed(chain)], [])
        wanted = entry.get("parentUuid")
        if not isinstance(wanted, str):
            return _answered(answer, chain, beside)
    raise UnknownEndError("the chain of the last line breaks")


def _check_boundary(entry: dict[str, Any]) -> None:
    """Check the line in front of a summary.

    Raises:
        UnknownEndError: the compaction kept messages, which stand in front of it.
    """
    found = entry.get("compactMetadata")
    kept = isinstance(found, dict) and (found.get("preservedSegment") or found.get("preservedMessages"))
    if entry.get("type") == "user" or kept:
        raise UnknownEndError("a compaction that kept messages")


def first_call(text: mmap) -> tuple[list[dict[str, Any]], int]:
    """Return the messages in front of a session's first answer, and the billed tokens of its prompt.

    The tokens are 0 without an answer, and where the file does not begin with the session.
    """
    messages: list[dict[str, Any]] = []
    root: object = None
    for entry in _forwards(text):
        if root is None and "parentUuid" in entry:
            root = entry.get("uuid")
            if entry["parentUuid"] is not None:
                break
        if not is_message(entry):
            continue
        if _answer_of(entry):
            return messages, prompt_of(entry["message"].get("usage"))
        messages.append(_plain(entry))
    return [], 0


def is_message(entry: dict[str, Any]) -> bool:
    """Return whether Claude Code sends a line's message to the model in the main conversation."""
    message = entry.get("message")
    if entry.get("type") not in ("user", "assistant") or not isinstance(message, dict) or entry.get("isSidechain"):
        return False
    if entry.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
        return False
    return bool(entry.get("isCompactSummary") or not entry.get("isVisibleInTranscriptOnly"))


def _answered(answer: str, chain: list[dict[str, Any]], beside: list[dict[str, Any]]) -> Tail:
    """Return the end of a session from its last answer on, or from its first message where there is no answer.

    Parallel calls and their results stand beside the chain.

    Args:
        answer: id of the answer; empty without one.
        chain: the lines of the chain, the last first.
        beside: other lines of the main conversation, the last first.
    """
    chain, beside = chain[::-1], beside[::-1]
    if not answer:
        return Tail([_plain(entry) for entry in chain], [])
    first = next(place for place, entry in enumerate(chain) if _answer_of(entry) == answer)
    chain, beside = chain[first:], beside + chain[:first]  # the results in front are those of the answer before
    parts: list[dict[str, Any]] = []
    for entry in sorted((*chain, *beside), key=lambda entry: entry["at"]):
        if _answer_of(entry) == answer and all(_blocks(entry) != _blocks(part) for part in parts):
            parts.append(entry)
    calls = {block.get("id") for part in parts for block in _blocks(part) if block.get("type") == "tool_use"}
    results = [entry for entry in chain if _answers(entry) & calls]
    answered = {ref for entry in results for ref in _answers(entry)}
    for entry in beside:
        found = _answers(entry) & calls
        if found and not found & answered:
            answered |= found
            results.append(entry)
    others = [entry for entry in chain if not _answer_of(entry) and entry not in results]
    results.sort(key=lambda entry: entry["at"])
    messages: list[dict[str, Any]]
    messages = [{"role": "assistant", "content": [block for part in parts for block in _blocks(part)]}]
    if results:
        blocks = [block for entry in results for block in _blocks(entry)]
        messages.append({"role": "user", "content": sorted(blocks, key=lambda block: block["type"] != "tool_result")})
    return Tail([*messages, *map(_plain, others)], [part["message"] for part in parts])


def _answer_of(entry: dict[str, Any]) -> str:
    """Return the id that the lines of one answer share; empty for another line."""
    return str(entry["message"].get("id") or entry.get("uuid")) if entry["type"] == "assistant" else ""


def _answers(entry: dict[str, Any]) -> set[Any]:
    """Return the ids of the calls that a line answers."""
    return {block.get("tool_use_id") for block in _blocks(entry) if block.get("type") == "tool_result"}


def _blocks(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of a message.

    Raises:
        UnknownEndError: it has other content.
    """
    content = entry["message"].get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list) and all(isinstance(block, dict) and "type" in block for block in content):
        return content
    raise UnknownEndError("a message without content")


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the message of a line as it is sent."""
    content = entry["message"].get("content")
    return {"role": entry["type"], "content": content if isinstance(content, str) else _blocks(entry)}


def _backwards(text: mmap) -> Iterator[dict[str, Any]]:
    """Yield the objects of the lines from the last to the first, each with its position as ``at``."""
    end = len(text)
    while end > 0:
        start = text.rfind(b"\n", 0, end) + 1
        if entry := _parsed(text[start:end]):
            entry["at"] = start
            yield entry
        end = start - 1


def _forwards(text: mmap) -> Iterator[dict[str, Any]]:
    """Yield the objects of the lines."""
    text.seek(0)
    while line := text.readline():
        if entry := _parsed(line):
            yield entry


def queued(line: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the attachment with a prompt that waited while Claude Code worked; None for any other line."""
    attachment = line.get("attachment") if line.get("type") == "attachment" else None
    is_one = isinstance(attachment, dict) and attachment.get("type") == "queued_command" and attachment.get("prompt")
    return attachment if is_one else None


def of_user(line: Mapping[str, Any], prompt: object) -> dict[str, Any]:
    """Return a line as one of the user with a prompt."""
    return {**line, "type": "user", "message": {"content": prompt}}


def _parsed(line: bytes) -> dict[str, Any]:
    """Return the object of a line; an empty one for a line that cannot be read, as one that is half written.

    A prompt that waited while the agent worked comes as a line of the user.
    """
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    attachment = queued(found)
    return found if attachment is None else of_user(found, attachment["prompt"])


def _number(usage: object, name: str) -> int:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if type(value) is int and value > 0 else 0
