"""pydantic-ai's messages as messages of Anthropic's shape, one for one, and back.

The system prompt stands as parts in the first request, which is the place where pydantic-ai looks for it. No plain
message holds it: it is system text beside the messages, and stays in the first request whatever leaves.
"""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .frameworks import Origin, origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..models.provider import Provider

PROVIDER: Provider = "anthropic"

EMPTY = "[empty]"
"""Content of a message without any: an answer, or the request of a run that has instructions alone."""

_THINKING = frozenset({"thinking", "redacted_thinking"})
"""Types of blocks that Anthropic wants in front of others."""

Blocks = list[dict[str, Any]]


def role(message: Any) -> str:
    """Return the role of a message in its plain form."""
    return "assistant" if message.kind == "response" else "user"


def read(message: Any, *, is_first: bool) -> dict[str, Any]:
    """Return a request as a message of the user, with results in front as Anthropic wants them, or a response."""
    if message.kind == "response":
        blocks = [block for part in message.parts for block in _of_response(part)]
        blocks.sort(key=lambda block: block["type"] not in _THINKING)
        if all(block["type"] in _THINKING for block in blocks):
            blocks.append(_text(EMPTY, None))  # the framework does not send an answer without content
        return {"role": Origin("assistant", message), "content": blocks}
    parts = [part for part in message.parts if not (is_first and part.part_kind == "system-prompt")]
    blocks = [block for part in parts for block in _of_request(part)]
    blocks.sort(key=lambda block: block["type"] != "tool_result")
    return {"role": Origin("user", message), "content": blocks or [_text(EMPTY, None)]}


def change(original: Any, message: Mapping[str, Any]) -> Any:
    """Return the original with other parts: those of unchanged blocks are the same objects."""
    content = message["content"]
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    by_part: dict[int, Blocks] = {}
    new = [block for block in blocks if origin(block["type"]) is None and block.get("text") != EMPTY]
    for block in blocks:
        if (part := origin(block["type"])) is not None:
            by_part.setdefault(id(part), []).append(block)
    parts: list[Any] = []
    for part in original.parts:
        before = _of_part(original, part)
        after = by_part.get(id(part), [])
        if after == before:
            parts.append(part)
        elif after:
            parts.append(_changed(part, before, after))
    kinds = import_module("pydantic_ai.messages")
    kind = kinds.TextPart if original.kind == "response" else kinds.UserPromptPart
    parts.extend(kind(block["text"]) for block in new if "text" in block)
    return replace(original, parts=parts)


def make(message: Mapping[str, Any], given: Sequence[Any]) -> Any:
    """Return a new request or response of one text, of the same conversation."""
    kinds = import_module("pydantic_ai.messages")
    content = message["content"]
    text = content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)
    belongs = {name: getattr(given[0], name, None) for name in ("run_id", "conversation_id")}
    if message["role"] == "assistant":
        return kinds.ModelResponse(parts=[kinds.TextPart(text)], **belongs)
    return kinds.ModelRequest(parts=[kinds.UserPromptPart(text)], **belongs)


def settle(messages: list[Any], given: Sequence[Any]) -> list[Any]:
    """Return the messages with the system prompt of the given first request in the first one of these."""
    prompts = _prompts(given)
    if not prompts or not messages or messages[0] is given[0] or messages[0].kind != "request":
        return messages
    ids = {id(part) for part in prompts}
    out = [_without(message, ids) for message in messages]
    return [replace(out[0], parts=[*prompts, *out[0].parts]), *out[1:]]


def system(messages: Sequence[Any]) -> str:
    """Return the system prompt of the first request and the instructions of the last one."""
    requests = (message for message in reversed(messages) if getattr(message, "kind", "") == "request")
    last = next(requests, None)
    texts = [part.content for part in _prompts(messages)]
    return "\n\n".join([*texts, *filter(None, [getattr(last, "instructions", None)])])


def _prompts(messages: Sequence[Any]) -> list[Any]:
    first: Any = messages[0] if messages else None
    parts = first.parts if getattr(first, "kind", "") == "request" else ()
    return [part for part in parts if part.part_kind == "system-prompt"]


def _without(message: Any, parts: set[int]) -> Any:
    if not any(id(part) in parts for part in message.parts):
        return message
    return replace(message, parts=[part for part in message.parts if id(part) not in parts])


def _of_part(message: Any, part: Any) -> Blocks:
    return list(_of_response(part) if message.kind == "response" else _of_request(part))


def _of_request(part: Any) -> Iterator[dict[str, Any]]:
    """Yield the blocks of a request's part."""
    match part.part_kind:
        case "user-prompt":
            items = [part.content] if isinstance(part.content, str) else part.content
            yield from (block for item in items for block in _of_item(item, part))
        case "tool-return":
            yield from _result(part, part.model_response_str(wrap_if_error=False), part.files)
        case "retry-prompt" if part.tool_name is not None:
            yield from _result(part, part.model_response(), ())
        case "system-prompt":
            yield _text(f"<system>{part.content}</system>", part)
        case _:
            text = part.model_response() if hasattr(part, "model_response") else _spoken(part)
            yield from ([_text(text, part)] if text.strip() else [])


def _of_response(part: Any) -> Iterator[dict[str, Any]]:
    """Yield the blocks of a response's part."""
    match part.part_kind:
        case "tool-call":
            call = {"id": part.tool_call_id, "name": part.tool_name, "input": _arguments(part.args)}
            yield {"type": Origin("tool_use", part), **call}
        case "thinking" if part.content:
            signature = part.signature or "unsigned"
            yield {"type": Origin("thinking", part), "thinking": part.content, "signature": signature}
        case "thinking":
            if part.signature:
                yield {"type": Origin("redacted_thinking", part), "data": part.signature}
        case "builtin-tool-call":
            yield _text(f"{part.tool_name} {json.dumps(_arguments(part.args), default=str)}", part)
        case "builtin-tool-return":
            yield _text(part.model_response_str(), part)
        case "file":
            yield from _of_item(part.content, part)
        case _:
            text = _spoken(part)
            yield from ([_text(text, part)] if text.strip() else [])


def _spoken(part: Any) -> str:
    """Return the text of a part: its content, or what was said."""
    content = getattr(part, "content", None) or getattr(part, "transcript", None) or ""
    return content if isinstance(content, str) else json.dumps(content, default=str)


def _text(text: str, part: Any) -> dict[str, Any]:
    return {"type": Origin("text", part) if part is not None else "text", "text": text}


def _result(part: Any, text: str, files: Sequence[Any]) -> Iterator[dict[str, Any]]:
    pictures = [block for file in files for block in _of_item(file, None)]
    content = [*([_text(text, None)] if text.strip() else []), *pictures] if pictures else text
    failed = getattr(part, "outcome", "retried") in {"failed", "retried"}
    error = {"is_error": True} if failed else {}
    yield {"type": Origin("tool_result", part), "tool_use_id": part.tool_call_id, "content": content, **error}


def _of_item(item: Any, part: Any) -> Iterator[dict[str, Any]]:
    """Yield the block of one item of a prompt: a text, a picture, a document; none for a cache marker."""
    kind = getattr(item, "kind", "text-content")
    text = item if isinstance(item, str) else getattr(item, "content", None)
    if kind == "cache-point" or (isinstance(text, str) and not text.strip()):
        return
    if isinstance(text, str):
        yield _text(text, part)
        return
    media = str(getattr(item, "media_type", "") or "")
    name = "image" if kind == "image-url" or media.startswith("image/") else "document"
    if kind == "binary":
        source = {"type": "base64", "media_type": media, "data": b64encode(item.data).decode()}
    elif url := getattr(item, "url", None):
        source = {"type": "url", "url": url}
    else:
        source = {"type": "file", "file_id": str(getattr(item, "file_id", ""))}
    yield {"type": Origin(name, part) if part is not None else name, "source": source}


def _arguments(args: Any) -> dict[str, Any]:
    """Return a call's arguments as an object; text that is none under a key of its own, as pydantic-ai sends it."""
    if isinstance(args, str):
        try:
            args = json.loads(args or "{}")
        except ValueError:
            return {"INVALID_JSON": args}
    return args if isinstance(args, dict) else {"INVALID_JSON": json.dumps(args)} if args else {}


def _changed(part: Any, before: Blocks, after: Blocks) -> Any:
    """Return a part with edited blocks in place of its own."""
    if part.part_kind == "user-prompt" and not isinstance(part.content, str):
        items = [item for item in part.content if list(_of_item(item, part))]
        known = dict(zip(map(_key, before), items, strict=True))
        return replace(part, content=[known.get(_key(block), block.get("text", "")) for block in after])
    if part.part_kind == "tool-call":
        return replace(part, args=after[0]["input"])
    content = after[0].get("content", after[0].get("text"))
    if isinstance(content, list):
        files = {_key(block): file for file in part.files for block in _of_item(file, None)}
        content = [files.get(_key(block), block.get("text", "")) for block in content]
    return replace(part, content=content)


def _key(block: Mapping[str, Any]) -> str:
    return json.dumps(block, sort_keys=True)
