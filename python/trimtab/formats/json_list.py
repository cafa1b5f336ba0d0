"""Lists of messages in a provider's shape: a JSON array, JSONL with one message per line, or a whole request.

A request may have the field ``window`` beside the provider's own, as ``trimtab compact`` writes it.
The core detects the provider by the first message that only one provider writes so; a request's other fields decide for
plain text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .. import _core
from ..errors import MessageError
from ..models.ids import ModelId
from ._builder import Builder, several

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..models.provider import Provider
    from ._records import Record

PROVIDERS = ("anthropic", "openai_chat", "openai_responses", "bedrock", "gemini")

_HINT = "need a list of Anthropic, OpenAI Chat, OpenAI Responses, Bedrock or Gemini messages"
_DETECT_HINT = "omit format to detect it"
_ITEM_ENDS = ("_call", "_output", "_list_tools", "_request", "_response")
_ITEMS = ("message", "reasoning", "item_reference", "compaction")
_BEDROCK_BLOCKS = ("text", "toolUse", "toolResult", "reasoningContent", "image", "document", "video", "cachePoint")

_Defect: TypeAlias = tuple[str, str, str]
"""Place in a message, what is wrong, and a hint."""


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
    lists = (name for name in ("messages", "contents", "input") if isinstance(value.get(name), list))
    return next(lists, "input" if isinstance(value.get("input"), str) else "")


def _built(messages: list[dict[str, Any]], name: str, request: dict[str, Any], provider: str | None) -> Builder:
    """Return the messages with the request's other parameters."""
    _check(messages, name, _defect)
    provider = provider or _provider(messages, request)
    _check(messages, name, lambda message: _shape_defect(message, provider))
    system = request.get("system") or request.get("instructions")
    if provider == "anthropic" and not system and len(messages) > 1 and messages[0]["role"] in ("system", "developer"):
        messages, system = messages[1:], messages[0]["content"]  # a common mistake: Anthropic's shape has no such role
    built = Builder(provider=cast("Provider", provider), messages=messages, tools=request.get("tools"))
    built.model = request["model"] if isinstance(request.get("model"), str) else None
    built.name_window(request.get("window"))
    built.system = system if isinstance(system, (str, list)) and system else None
    for key in request.keys() - {name, "system", "instructions", "model", "tools", "window"}:
        built.leave("request", key)
    return built


def _check(messages: list[Any], name: str, defect: Callable[[Any], _Defect | None]) -> None:
    """Raise an error for the first entry with a defect."""
    for i, message in enumerate(messages):
        if found := defect(message):
            place, what, hint = found
            raise MessageError(what, path=f"{name}[{i}]{place}", index=i, hint=hint)


def _defect(message: Any) -> _Defect | None:
    """Return why a value is no message of any provider."""
    if not isinstance(message, dict):
        return "", f"a message is an object, got {_type_name(message)}", _HINT
    role, kind, content, parts = (message.get(key) for key in ("role", "type", "content", "parts"))
    if isinstance(parts, list):  # Gemini's, where even the role may be missing
        for j, part in enumerate(parts):
            if not isinstance(part, dict):
                return f".parts[{j}]", f"a part is an object, got {_type_name(part)}", 'write a part as {"text": "..."}'
        return None
    if not isinstance(role, str):
        if isinstance(kind, str) and kind != "message" and (kind in _ITEMS or kind.endswith(_ITEM_ENDS)):
            return None
        what = f"type is {kind!r:.40}" if kind not in (None, "message") else "no role"
        what += " and no type" if kind is None else ""
        return "", f"not a message: {what}", 'give each message a role, such as "user" or "assistant"'
    if not isinstance(content, (str, list)) and not (content is None and role == "assistant"):
        hint = 'write text as a string, anything else as a list of blocks with a "type"'
        return ".content", f"content is a string or a list, got {_type_name(content)}", hint
    for j, block in enumerate(content if isinstance(content, list) else ()):
        if not isinstance(block, dict) or not (isinstance(block.get("type"), str) or _is_bedrock(block)):
            what = f"a content block is an object with a type, got {_type_name(block)}"
            return f".content[{j}]", what, 'write a block as {"type": "text", "text": "..."}'
    return None


def _is_bedrock(block: dict[str, Any]) -> bool:
    """Return whether a block is one of Bedrock's: no type, and a key that names its kind."""
    return "type" not in block and not block.keys().isdisjoint(_BEDROCK_BLOCKS)


def _shape_defect(message: dict[str, Any], provider: str) -> _Defect | None:
    """Return why a message is not in this provider's shape."""
    if provider not in ("openai_responses", "gemini") and "role" not in message:
        return "", f"an item of the Responses API, not of {provider}", _DETECT_HINT
    key = "parts" if provider == "gemini" else "content"
    if provider in ("bedrock", "gemini") and not isinstance(message.get(key), list):
        return f".{key}", f"no {key} as {provider} has them", _DETECT_HINT
    if provider == "anthropic" and message.get("content") is None:
        return ".content", "content is a string or a list, got nothing", _HINT
    return None


def _type_name(value: object) -> str:
    """Return a value's type in JSON's terms, without the value, which may be a secret."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "nothing"}
    return names.get(type(value), "a number")


def _provider(messages: list[dict[str, Any]], request: dict[str, Any]) -> str:
    """Return the provider whose shape the messages have; for plain text the request decides."""
    contents = [message["content"] for message in messages if isinstance(message.get("content"), list)]
    if any(_is_bedrock(block) for content in contents for block in content):
        return "bedrock"
    if "input" in request:
        return "openai_responses"
    model = request.get("model")
    is_anthropic = ModelId.of(model).maker == "anthropic" if model and isinstance(model, str) else "system" in request
    return _core.detect(messages) or ("anthropic" if is_anthropic else "openai_chat")
