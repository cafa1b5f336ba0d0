"""LangChain's messages as messages of Chat Completions, one for one, and back."""

from __future__ import annotations

import json
from importlib import import_module
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from .frameworks import Origin, origin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..models.provider import Provider

PROVIDER: Provider = "openai_chat"

_ROLES = {
    "system": "system",
    "human": "user",
    "ai": "assistant",
    "tool": "tool",
    "function": "function",
    "SystemMessageChunk": "system",
    "HumanMessageChunk": "user",
    "AIMessageChunk": "assistant",
    "ToolMessageChunk": "tool",
    "FunctionMessageChunk": "function",
}
_CALLS = frozenset(
    {"tool_use", "tool_call", "invalid_tool_call", "function_call", "tool_call_chunk", "input_json_delta"}
)
"""Types of blocks that repeat ``tool_calls`` and ``invalid_tool_calls``."""

_THINKING = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""Types of blocks that are read as one text, ``reasoning_content``: it is kept whole or stripped."""

_AS_THEY_ARE = frozenset({"image_url", "file", "input_audio", "refusal"})
"""Types of blocks that stand in messages of Chat Completions."""


def role(message: Any) -> str | None:
    """Return the role of a message in its plain form; None where it is for no model."""
    is_chat = message.type in {"chat", "ChatMessageChunk"}
    return message.role if is_chat else _ROLES.get(message.type)


def read(message: Any, *, is_first: bool) -> dict[str, Any]:  # noqa: ARG001 - system text is a message of its own
    """Return a message as one of Chat Completions.

    Raises:
        ValueError: the message is none that a model is sent, as ``RemoveMessage``.
    """
    name = role(message)
    if name is None:
        msg = f"a message of type {message.type!r} is not for a model"
        raise ValueError(msg)
    content = message.content
    blocks = [] if isinstance(content, str) else content
    if not isinstance(content, str):
        content = [_block(part) for part in blocks if _kind(part) not in _CALLS | _THINKING] or ""
    plain: dict[str, Any] = {"role": Origin(name, message), "content": content}
    if thinking := "".join(_thought(part) for part in blocks if _kind(part) in _THINKING):
        plain["reasoning_content"] = thinking
    if message.name and name not in {"tool", "function"}:
        plain["name"] = message.name
    if name == "tool":
        plain["tool_call_id"] = message.tool_call_id
    elif name == "function":
        plain["name"] = message.name
    calls = [_call(call) for call in getattr(message, "tool_calls", ())]
    if calls := calls + [_unread_call(call) for call in _unread(message)]:
        plain["tool_calls"] = calls
    return plain


def change(original: Any, message: Mapping[str, Any]) -> Any:
    """Return the original with other content and other calls."""
    before = read(original, is_first=False)
    update: dict[str, Any] = {}
    calls, given = message.get("tool_calls") or [], before.get("tool_calls", [])
    if calls != given:
        update = _changed_calls(original, calls)
    content, is_stripped = message.get("content"), "reasoning_content" in before and "reasoning_content" not in message
    if content != before["content"] or update or is_stripped:
        # Thinking without a text, as of encrypted reasoning, is in no plain message: it goes with all the rest.
        thinks = not is_stripped and bool("reasoning_content" in before or content or calls)
        stay = {call["id"]: None if call in given else call["function"]["arguments"] for call in calls}
        update["content"] = _content(content, original.content, stay, thinks=thinks)
    return original.model_copy(update=update)


def make(message: Mapping[str, Any], given: Sequence[Any]) -> Any:  # noqa: ARG001 - LangChain's know nothing of the others
    """Return a new message of the class of its role; one of the user's role has LangChain's mark of a summary."""
    kinds = import_module("langchain_core.messages")
    content = message.get("content") or ""
    match str(message["role"]):
        case "system" | "developer":
            return kinds.SystemMessage(content)
        case "assistant":
            return kinds.AIMessage(content, tool_calls=[_made_call(call) for call in message.get("tool_calls") or []])
        case "tool":
            return kinds.ToolMessage(content, tool_call_id=message["tool_call_id"])
        case _:
            return kinds.HumanMessage(content, additional_kwargs={"lc_source": "summarization"})


def settle(messages: list[Any], given: Sequence[Any]) -> list[Any]:  # noqa: ARG001 - nothing has a place of its own
    """Return the messages."""
    return messages


def system(messages: Sequence[Any]) -> str:  # noqa: ARG001 - a message of its own
    """Return nothing: system text is a message of its own."""
    return ""


def _kind(part: Any) -> Any:
    return part.get("type") if isinstance(part, dict) else "text"


def _thought(part: Mapping[str, Any]) -> str:
    """Return the text of a block of thinking; a redacted one has none that can be read."""
    summary = "".join(str(each.get("text", "")) for each in part.get("summary") or ())
    return part.get("thinking") or part.get("reasoning") or summary or part.get("data") or ""


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(call["args"], ensure_ascii=False, default=str)
    return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": arguments}}


def _unread(message: Any) -> list[Any]:
    """Return the calls whose arguments are no JSON: an answer to one refers to its id, and providers are sent them."""
    return [call for call in getattr(message, "invalid_tool_calls", ()) if call["id"] and call["name"]]


def _unread_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": call["args"] or ""}
    return {"id": call["id"], "type": "function", "function": function}


def _changed_calls(original: Any, calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of a message with other calls: those that nothing changed are the same objects."""
    known, unread = {call["id"]: call for call in original.tool_calls}, _unread(original)
    stay, apart = {call["id"] for call in calls}, {call["id"] for call in unread}
    pairs = [(known.get(call["id"]), _made_call(call)) for call in calls if call["id"] not in apart]
    update = {"tool_calls": [old if old and old["args"] == new["args"] else new for old, new in pairs]}
    if unread:  # no edit changes arguments that are no JSON
        update["invalid_tool_calls"] = [call for call in unread if call["id"] in stay]
    return update


def _made_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    args = json.loads(function["arguments"] or "{}")
    return {"name": function["name"], "args": args, "id": call["id"], "type": "tool_call"}


def _block(part: Any) -> dict[str, Any]:
    """Return a block of content as one of Chat Completions; others as text, so that they count."""
    if isinstance(part, str):
        return {"type": Origin("text", part), "text": part}
    kind = part.get("type")
    if kind in {"text", "output_text"}:
        kept = {key: part[key] for key in ("cache_control",) if key in part}
        return {"type": Origin("text", part), "text": part.get("text") or "", **kept}
    if kind in _AS_THEY_ARE and not ("base64" in part or "source_type" in part):
        return {**part, "type": Origin(kind, part)}
    if kind == "image":
        return {"type": Origin("image_url", part), "image_url": {"url": _url(part)}}
    if "base64" in part or "data" in part:
        media = part.get("mime_type", "application/octet-stream")
        file = {"file_data": f"data:{media};base64,{part.get('base64') or part.get('data')}"}
        return {"type": Origin("file", part), "file": file}
    return {"type": Origin("text", part), "text": json.dumps(part, ensure_ascii=False, default=str)}


def _url(part: Mapping[str, Any]) -> str:
    """Return a picture of LangChain's or Anthropic's block as a URL."""
    source = part.get("source") if isinstance(part.get("source"), dict) else part
    assert source is not None  # noqa: S101 - for mypy
    if data := source.get("base64") or source.get("data"):
        return f"data:{source.get('mime_type') or source.get('media_type') or 'image/png'};base64,{data}"
    return str(source.get("url") or source.get("file_id") or source.get("id") or "")


def _content(content: Any, original: Any, calls: Mapping[Any, str | None], *, thinks: bool) -> Any:
    """Return edited content in LangChain's form, its blocks in the order of the original.

    Args:
        content: plain content after the edit.
        original: the message's content before it.
        calls: the calls that stay: by id, the arguments where they were edited.
        thinks: whether thinking stays.
    """
    blocks = original if isinstance(original, list) else []
    named = [_id(part, calls) if _kind(part) in _CALLS else None for part in blocks]
    stay = [
        (place, _repeated(part, edit) if name and (edit := calls[name]) is not None else part)
        for place, (part, name) in enumerate(zip(blocks, named, strict=True))
        if name or (thinks and _kind(part) in _THINKING)
    ]
    if not isinstance(content, list) and not stay:
        return content or ""
    texts = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    places = {id(part): place for place, part in enumerate(blocks)}
    first = next((place for place, part in enumerate(blocks) if _kind(part) not in _THINKING), len(blocks))
    placed = [(places.get(id(origin(text["type"])), first), _written(text)) for text in texts]
    return [part for _, part in sorted(placed + stay, key=itemgetter(0))]


def _id(part: Mapping[str, Any], calls: Mapping[Any, object]) -> Any:
    """Return the id of the call that a block repeats, if it is one of these."""
    return next((part[key] for key in ("call_id", "id") if part.get(key) and part[key] in calls), None)


def _repeated(part: Mapping[str, Any], arguments: str) -> dict[str, Any]:
    """Return a block that repeats a call with other arguments: providers are sent those of the block."""
    kept = {key: value for key, value in part.items() if key != "partial_json"}
    if part["type"] == "function_call":
        return {**kept, "arguments": arguments}
    if part["type"] == "tool_use":
        return {**kept, "input": json.loads(arguments)}
    if isinstance(extras := part.get("extras"), dict):
        kept["extras"] = {key: value for key, value in extras.items() if key != "arguments"}
    return {**kept, "args": json.loads(arguments) if part["type"] == "tool_call" else arguments}


def _written(block: Mapping[str, Any]) -> Any:
    """Return the block of LangChain's that a plain one was read from; one that was edited, as it is."""
    part = origin(block.get("type"))
    if part is not None and _block(part) == block:
        return part
    return {**block, "type": str(block["type"])}
