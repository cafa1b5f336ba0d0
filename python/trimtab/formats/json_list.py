"""Lists of messages in a provider's shape: a JSON array, JSONL with one message per line, or a whole request.

Providers' shapes are alike for plain text, so that the whole list is searched for distinguishing features.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..errors import MessageError
from ._builder import Builder, several

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..models.provider import Provider
    from ._records import Record

PROVIDERS = ("anthropic", "openai_chat", "openai_responses", "bedrock", "gemini")

_HINT = "need a list of Anthropic, OpenAI Chat, OpenAI Responses, Bedrock or Gemini messages"
_ITEM_ENDS = ("_call", "_output", "_list_tools", "_request", "_response")
_ITEMS = ("message", "reasoning", "item_reference", "compaction")
_RESPONSES_PARTS = ("input_text", "output_text", "input_image", "input_file")
_ANTHROPIC_PARTS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "search_result")
_CHAT_PARTS = ("image_url", "input_audio", "file", "refusal")
_BEDROCK_BLOCKS = ("text", "toolUse", "toolResult", "reasoningContent", "image", "document", "video", "cachePoint")
_CHAT_ROLES = ("tool", "function", "system", "developer")
_CHAT_FIELDS = ("tool_calls", "function_call", "tool_call_id", "reasoning_content")


def read(records: Iterable[Record], provider: str | None) -> Builder:
    """Return the messages unchanged; detect the provider if it is None.

    Raises:
        MessageError: an entry is no message; the error has its path.
    """
    found = list(records)
    values = [record.value for record in found]
    requests = [value for value in values if isinstance(value, dict) and _key(value)]
    if not requests:
        return _built(values, "messages", {}, provider)
    if len(values) > 1:
        raise several("request", len(requests), found)
    request, key = requests[0], _key(requests[0])
    messages = request[key]
    if isinstance(messages, str):
        messages = [{"type": "message", "role": "user", "content": messages}]
    if not messages:
        raise MessageError("an empty list", path=key, hint="need at least one message")
    return _built(messages, key, request, provider)


def _key(value: dict[str, Any]) -> str:
    """Return the field of a request's messages; empty if the value is no request."""
    if "role" in value or "type" in value:
        return ""
    if isinstance(value.get("messages"), list):
        return "messages"
    if isinstance(value.get("contents"), list):
        return "contents"
    return "input" if isinstance(value.get("input"), (list, str)) else ""


def _built(messages: list[dict[str, Any]], name: str, request: dict[str, Any], provider: str | None) -> Builder:
    """Return the messages with the request's other parameters."""
    _check(messages, name)
    provider = provider or _provider(messages, request)
    _check_shape(messages, name, provider)
    system = request.get("system") or request.get("instructions")
    if provider == "anthropic" and not system:
        messages, system = _split_system(messages)
    built = Builder(provider=cast("Provider", provider), messages=messages, tools=request.get("tools"))
    built.model = request["model"] if isinstance(request.get("model"), str) else None
    built.system = system if isinstance(system, (str, list)) and system else None
    for key in request.keys() - {name, "system", "instructions", "model", "tools"}:
        built.leave("request", key)
    return built


def _split_system(messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], Any]:
    """Split off a leading system message, a common mistake: Anthropic's shape has no such role."""
    if len(messages) > 1 and messages[0].get("role") in ("system", "developer"):
        return messages[1:], messages[0]["content"]
    return messages, None


def _check(messages: list[Any], name: str) -> None:
    """Raise an error for the first entry that is no message."""
    for i, message in enumerate(messages):
        path = f"{name}[{i}]"
        if not isinstance(message, dict):
            raise MessageError(f"a message is an object, got {_type_name(message)}", path=path, index=i, hint=_HINT)
        role, kind = message.get("role"), message.get("type")
        if isinstance(message.get("parts"), list):  # Gemini's, where even the role may be missing
            for j, part in enumerate(message["parts"]):
                if not isinstance(part, dict):
                    what, at = f"a part is an object, got {_type_name(part)}", f"{path}.parts[{j}]"
                    raise MessageError(what, path=at, index=i, hint='write a part as {"text": "..."}')
            continue
        if not isinstance(role, str):
            if isinstance(kind, str) and kind != "message" and (kind in _ITEMS or kind.endswith(_ITEM_ENDS)):
                continue
            what = f"type is {kind!r:.40}" if kind not in (None, "message") else "no role"
            what += " and no type" if kind is None else ""
            hint = 'give each message a role, such as "user" or "assistant"'
            raise MessageError(f"not a message: {what}", path=path, index=i, hint=hint)
        content = message.get("content")
        if not isinstance(content, (str, list)) and not (content is None and role == "assistant"):
            hint = 'write text as a string, anything else as a list of blocks with a "type"'
            what = f"content is a string or a list, got {_type_name(content)}"
            raise MessageError(what, path=f"{path}.content", index=i, hint=hint)
        for j, block in enumerate(content if isinstance(content, list) else ()):
            if not isinstance(block, dict) or not (isinstance(block.get("type"), str) or _is_bedrock(block)):
                raise MessageError(
                    f"a content block is an object with a type, got {_type_name(block)}",
                    path=f"{path}.content[{j}]",
                    index=i,
                    hint='write a block as {"type": "text", "text": "..."}',
                )


def _is_bedrock(block: dict[str, Any]) -> bool:
    """Return whether a block is one of Bedrock's: no type, and a key that names its kind."""
    return "type" not in block and not block.keys().isdisjoint(_BEDROCK_BLOCKS)


def _check_shape(messages: list[dict[str, Any]], name: str, provider: str) -> None:
    """Raise an error for the first message that is not in this provider's shape."""
    for i, message in enumerate(messages):
        if provider not in ("openai_responses", "gemini") and "role" not in message:
            what = f"an item of the Responses API, not of {provider}"
            raise MessageError(what, path=f"{name}[{i}]", index=i, hint="leave format away to have it found")
        key = "parts" if provider == "gemini" else "content"
        if provider in ("bedrock", "gemini") and not isinstance(message.get(key), list):
            what = f"no {key} as {provider} has them"
            hint = "leave format away to have it found"
            raise MessageError(what, path=f"{name}[{i}].{key}", index=i, hint=hint)
        if provider == "anthropic" and message.get("content") is None:
            what = "content is a string or a list, got nothing"
            raise MessageError(what, path=f"{name}[{i}].content", index=i, hint=_HINT)


def _type_name(value: object) -> str:
    """Return a value's type in JSON's terms, without the value, which may be a secret."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "nothing"}
    return names.get(type(value), "a number")


def _provider(messages: list[dict[str, Any]], request: dict[str, Any]) -> str:
    """Return the provider whose shape the messages have.

    Items of the Responses API decide first, then Anthropic's blocks, even after a system message, which is a common
    mistake, then features that only Chat has. For plain text the request decides.
    """
    if any(isinstance(message.get("parts"), list) for message in messages):
        return "gemini"
    if any(_is_bedrock(block) for message in messages for block in _parts(message)):
        return "bedrock"
    parts = {block["type"] for message in messages for block in _parts(message)}
    if "input" in request or any("role" not in message or message.get("type") == "message" for message in messages):
        return "openai_responses"
    if not parts.isdisjoint(_RESPONSES_PARTS):
        return "openai_responses"
    if not parts.isdisjoint(_ANTHROPIC_PARTS) or any(part.endswith(("_tool_use", "_tool_result")) for part in parts):
        return "anthropic"
    roles = {message["role"] for message in messages}
    fields = {name for message in messages for name in _CHAT_FIELDS if message.get(name) is not None}
    if fields or not parts.isdisjoint(_CHAT_PARTS) or not roles.isdisjoint(_CHAT_ROLES):
        return "openai_chat"
    is_claude = str(request.get("model")).startswith("claude")
    return "anthropic" if is_claude or "system" in request else "openai_chat"


def _parts(message: dict[str, Any]) -> Iterable[dict[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else ()
