"""Messages as servers hand them to a chat template: Chat Completions' shape, arguments of calls parsed."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from ..errors import CountError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SHAPES = ("openai_chat", "anthropic")
"""Shapes of messages that servers of open models take."""

REASONING = ("reasoning_content", "thinking", "reasoning")
"""Fields of a message's reasoning, in the order in which Hugging Face's `apply_chat_template` looks for it."""

REASONING_PARTS = ("reasoning_details", "thinking_blocks")
"""Fields that hold it in parts, OpenRouter's and LiteLLM's: no template reads them."""

_MEDIA = ("image", "audio", "video")
"""Kinds of parts that are no text, by what is in their names (``image_url``, ``input_audio``)."""

Placed = tuple[int, dict[str, Any]]
"""A message, and the position of the caller's message that it is a part of."""


Contents = Literal["text", "either", "parts"]
"""What a template reads as a message's content: a text, a list of parts, or both."""


def as_chat(
    messages: Sequence[Mapping[str, Any]], provider: str, contents: Contents, *, parses: bool = True
) -> list[Placed]:
    """Return the messages as a template gets them.

    Args:
        messages: plain dicts.
        provider: their shape.
        contents: what the template reads; other texts are joined by line ends, or become a part.
        parses: whether it reads the arguments of calls as objects; else as JSON text.

    Raises:
        CountError: no server of an open model takes messages of this shape.
    """
    if provider not in SHAPES:
        msg = f"a chat template renders messages of {' or '.join(SHAPES)}, these have the shape of {provider}"
        raise CountError(msg)
    placed: Iterable[Placed] = enumerate(dict(message) for message in messages)
    if provider == "anthropic":
        placed = ((index, made) for index, message in placed for made in of_blocks(message))
    return [(index, _ready(message, contents, parses=parses)) for index, message in placed]


def system_message(system: object) -> list[dict[str, Any]]:
    """Return system text beside the messages as a message; none where there is none.

    Raises:
        CountError: it is no text.
    """
    if system is not None and not isinstance(system, str | list | tuple):
        raise CountError(f"system text is a text or a list of texts, got {type(system).__name__}")
    if isinstance(system, list | tuple):
        system = "\n".join(
            part["text"] for part in system if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return [{"role": "system", "content": system}] if isinstance(system, str) and system else []


def as_functions(tools: object) -> list[dict[str, Any]] | None:
    """Return tool definitions as a template gets them; None where there are none.

    Raises:
        CountError: a definition is none of Chat Completions' and of Anthropic's shape.
    """
    given = tools if isinstance(tools, list | tuple) else [tools] if tools else []
    return [_function(tool) for tool in given] or None


def _function(tool: object) -> dict[str, Any]:
    if isinstance(tool, dict) and isinstance(tool.get("function"), dict):
        return tool
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        raise CountError(f"a chat template renders tools with a name and a schema, got {str(tool)[:100]}")
    known = {"name": tool["name"], "description": tool.get("description")}
    known["parameters"] = tool.get("input_schema") or tool.get("parameters")
    return {"type": "function", "function": {name: value for name, value in known.items() if value is not None}}


def _ready(message: dict[str, Any], contents: Contents, *, parses: bool) -> dict[str, Any]:
    """Return a message of Chat Completions without empty fields, its arguments and its content as they are read.

    A message always has a content: servers put an empty one in the place of none. An empty list of calls is left out,
    because many templates take it for calls: those of Llama 3.1 and Mistral refuse it, others write no answer.
    """
    made = {name: value for name, value in message.items() if value is not None}
    reasoning = reasoning_of(made)
    if reasoning is not None:
        made = dict.fromkeys(REASONING, reasoning) | made | {"reasoning_content": reasoning}
    if isinstance(calls := made.get("tool_calls"), list) and not calls:
        del made["tool_calls"]
    elif isinstance(calls, list):
        made["tool_calls"] = [_with_arguments(call, parses=parses) for call in calls]
    content = made.get("content", [] if contents == "parts" else "")
    if isinstance(content, list):
        content = "\n".join(texts_of(content)) if contents == "text" else [*map(_part, content)]
    elif isinstance(content, str) and contents == "parts":
        content = [{"type": "text", "text": content}]
    return made | {"content": content}


def reasoning_of(message: Mapping[str, Any]) -> Any:
    """Return a message's reasoning, in whatever field it is; None where there is none."""
    return next((message[name] for name in REASONING if message.get(name) is not None), None)


def _part(part: Any) -> Any:
    """Return a part of a content; of a picture, a sound or a film its kind alone, for which a template has a place."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = str(part.get("type")) if isinstance(part, dict) else ""
    found = next((medium for medium in _MEDIA if medium in kind), None)
    return {"type": found} if found else part


def _with_arguments(call: Any, *, parses: bool) -> Any:
    """Return a call whose arguments are the value that their text stands for, or the other way round."""
    if not isinstance(call, dict) or not isinstance(function := call.get("function"), dict):
        return call
    arguments: Any = function.get("arguments") or {}
    if not parses:
        arguments = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    elif isinstance(arguments, str):
        with suppress(ValueError, RecursionError):  # a server refuses it; its text is what there is to count
            arguments = json.loads(arguments)
    return {**call, "function": {**function, "arguments": arguments}}


def texts_of(content: Iterable[Any]) -> Iterator[str]:
    """Yield the texts of parts."""
    for part in content:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            yield text


def of_blocks(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the messages that one of Anthropic's blocks becomes: results first, each in a message of its own."""
    content = message.get("content")
    if not isinstance(content, list):
        yield message
        return
    parts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    thinking: list[str] = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "tool_result":
            inner = block.get("content")
            text = inner if isinstance(inner, str) else "\n".join(texts_of(inner if isinstance(inner, list) else ()))
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": text}
        elif kind == "tool_use":
            function = {"name": block.get("name"), "arguments": block.get("input") or {}}
            calls.append({"id": block.get("id"), "type": "function", "function": function})
        elif kind == "thinking":
            thinking += texts_of([block.get("thinking")])
        elif kind == "text":
            parts.append({"type": "text", "text": block.get("text") or ""})
        elif kind in {"image", "document"}:
            parts.append({"type": "image"})
    made: dict[str, Any] = {"role": message.get("role")}
    if parts:
        made["content"] = parts
    if calls:
        made |= {"content": parts or "", "tool_calls": calls}
    if thinking:
        made["reasoning_content"] = "\n".join(thinking)
    if len(made) > 1:
        yield {"content": "", **made}
