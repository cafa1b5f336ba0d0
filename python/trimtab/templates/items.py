"""Messages of further shapes as Chat Completions' messages: items of the Responses API, and Bedrock's blocks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..errors import CountError
from .chat import as_functions, of_blocks, texts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from .chat import Placed

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Types of items that are calls, each with the field of what is called with."""

_RESULTS = tuple(f"{name}_output" for name in _CALLS)


def as_messages(messages: Sequence[Mapping[str, Any]], provider: str) -> list[Placed]:
    """Return messages of a shape as Chat Completions', each with the position of the one that it is a part of.

    Raises:
        CountError: no server of gpt-oss takes this shape, or an item of this type.
    """
    read = _READ.get(provider)
    if read is None:
        msg = f"prompts of gpt-oss are rendered of messages of {', '.join(_READ)}; these have the shape of {provider}"
        raise CountError(msg)
    return [(index, made) for index, message in enumerate(messages) for made in read(dict(message))]


def functions_of(tools: object) -> list[dict[str, Any]]:
    """Return tool definitions of any of these shapes as functions with name, description and parameters.

    Raises:
        CountError: a definition is of another shape.
    """
    given = tools if isinstance(tools, list | tuple) else [tools] if tools else []
    plain = [_of_spec(tool["toolSpec"]) if isinstance(tool, dict) and "toolSpec" in tool else tool for tool in given]
    return [tool["function"] for tool in as_functions(plain) or ()]


def _of_spec(spec: Any) -> Any:
    """Return a tool of Bedrock in the shape of Anthropic's."""
    schema = spec.get("inputSchema") if isinstance(spec, dict) else None
    return {**spec, "input_schema": schema.get("json")} if isinstance(schema, dict) else spec


def _of_item(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the message that an item of the Responses API is."""
    kind = item.get("type", "message")
    if kind == "message":
        yield item
    elif kind == "reasoning":
        said = list(texts_of(item.get("content") or item.get("summary") or ()))
        if said:
            yield {"role": "assistant", "content": "", "reasoning_content": "\n".join(said)}
    elif kind in _CALLS:
        function = {"name": item.get("name"), "arguments": item.get(_CALLS[kind])}
        yield {"role": "assistant", "tool_calls": [{"id": item.get("call_id"), "function": function}]}
    elif kind in _RESULTS:
        yield {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
    else:
        raise CountError(f"prompts of gpt-oss have no item of the type {kind!r}")


def _of_converse(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the messages that one of Bedrock's is: its blocks are Anthropic's by other names."""
    content = message.get("content")
    blocks = [_block(block) for block in content if isinstance(block, dict)] if isinstance(content, list) else content
    yield from of_blocks({**message, "content": blocks})


def _block(block: Mapping[str, Any]) -> dict[str, Any]:
    match block:
        case {"toolUse": dict() as use}:
            return {"type": "tool_use", "id": use.get("toolUseId"), "name": use.get("name"), "input": use.get("input")}
        case {"toolResult": dict() as result}:
            return {"type": "tool_result", "tool_use_id": result.get("toolUseId"), "content": _parts(result)}
        case {"reasoningContent": {"reasoningText": {"text": str(text)}}}:
            return {"type": "thinking", "thinking": text}
        case {"text": str(text)}:
            return {"type": "text", "text": text}
        case _:
            return {}


def _parts(result: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return a result's content as texts; what is JSON as its text."""
    content = result.get("content")
    parts: Iterable[Any] = content if isinstance(content, list) else ()
    return [
        {"text": json.dumps(part["json"], ensure_ascii=False) if "json" in part else part.get("text", "")}
        for part in parts
        if isinstance(part, dict)
    ]


def _as_is(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield message


_READ: dict[str, Callable[[dict[str, Any]], Iterator[dict[str, Any]]]] = {
    "openai_chat": _as_is,
    "anthropic": of_blocks,
    "openai_responses": _of_item,
    "bedrock": _of_converse,
}
"""What reads the messages of each shape."""
