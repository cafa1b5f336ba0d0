"""The keywords of each provider's call: messages, system text and tools, as the provider's SDK takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from .. import _core
from ..models.model import UNBOUND
from .objects import plain, sendable
from .surrogates import mend, mended
from .types import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .types import Message

SYSTEM_ROLES = ("system", "developer")
"""Roles of system text inside a list, in OpenAI's shapes."""

_FIELDS = ("text", "cache_control")
"""Fields of a system block besides its type."""


def keywords(
    provider: str,
    messages: Sequence[Message],
    system: object = None,
    tools: object = None,
    *,
    detected: bool = False,
    marks_cache: bool = True,
    drops_thinking: bool = False,
) -> dict[str, Any]:
    """Return the keywords of a provider's call; no value but the list of messages is empty.

    Anthropic's ``messages.create``, OpenAI's ``chat.completions.create`` and ``responses.create``, Bedrock's
    ``converse``, Gemini's ``models.generate_content``.

    Args:
        provider: shape of the messages and the tools.
        messages: sent as they are; here and below, lone surrogates are replaced.
        system: a text, or blocks of text. The provider's own form is sent as it is, another one is rewritten.
        tools: definitions, sent as they are.
        detected: nobody named the provider. Messages of plain text look alike in several shapes; the tools tell then.
        marks_cache: whether a server of Chat Completions reads ``cache_control``; OpenAI's own refuses it.
        drops_thinking: let the provider drop thinking behind an edit.

    Raises:
        ValueError: a tool has the shape of another provider, or a system block is no text.
    """
    messages, system, tools = mended(messages)[0], mend(system), mend(tools)
    provider = _told_by_tools(messages, tools, provider) if detected else provider
    for index, tool in enumerate(_listed(tools)):
        if (shape := _tool_shape(tool)) not in {None, provider}:
            msg = f"tools[{index}] has the shape of {shape}, the call that of {provider}: pass the provider's own tools"
            raise ValueError(msg)
    text = _system(provider, system, marks_cache=marks_cache)
    match provider:
        case "openai_chat":
            sent = [{"role": "system", "content": text}, *messages] if text else messages
            return {"messages": sent, **_filled({"tools": tools})}
        case "openai_responses":
            return {"input": messages, **_filled({"instructions": text, "tools": tools})}
        case "gemini":
            config = _filled({"system_instruction": text, "tools": tools})
            return {"contents": messages, **_filled({"config": config})}
        case "bedrock":
            known = tools if isinstance(tools, Mapping) and "tools" in tools else {"tools": tools}
            beside = {"system": text, "toolConfig": known if known["tools"] else None}
            fields = {"anthropic_beta": UNBOUND["betas"], "thinking": UNBOUND["thinking"]} if drops_thinking else {}
            beside["additionalModelRequestFields"] = deepcopy(fields)
            return {"messages": messages, **_filled(beside)}
        case _:
            beside = deepcopy(UNBOUND) if drops_thinking else {}
            return {"messages": messages, **_filled({"system": text, "tools": tools}), **beside}


def _told_by_tools(messages: Sequence[Message], tools: object, read: str) -> str:
    """Return the shape of the tools if no message tells its own, else the shape that the messages were read in."""
    told = next((shape for tool in _listed(tools) if (shape := _tool_shape(tool))), read)
    if told == read:
        return read
    others = [message for message in plain(messages) if message.get("role") not in SYSTEM_ROLES]
    return told if _core.detect(others) is None else read


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}


def _listed(tools: object) -> Sequence[object]:
    """Return the tools one by one; those of Bedrock's ``toolConfig`` are inside it."""
    inner = tools.get("tools") if isinstance(tools, Mapping) else tools
    return inner if isinstance(inner, list | tuple) else [tools]


def _tool_shape(tool: object) -> str | None:
    """Return the provider whose kind of function a tool is; None for a tool that the provider runs, or an object."""
    if not isinstance(tool, Mapping):
        return None
    if "input_schema" in tool:
        return "anthropic"
    if "toolSpec" in tool:
        return "bedrock"
    if "functionDeclarations" in tool or "function_declarations" in tool:
        return "gemini"
    if tool.get("type") != "function":
        return None
    return "openai_chat" if "function" in tool else "openai_responses"


def begins_with(messages: Sequence[Any], system: object) -> bool:
    """Return whether one of the list's leading system messages, or all of them, are this text; spaces do not count."""
    leading: list[list[str]] = []
    for message in messages:
        known = plain([message])[0]
        if known.get("role") not in SYSTEM_ROLES:
            break
        leading.append(text_of(known.get("content")).split())
    words = _joined(_blocks(system)).split() if leading else []
    return words in leading or (bool(words) and words == [word for said in leading for word in said])


def _system(provider: str, system: object, *, marks_cache: bool) -> object:
    """Return system text in a provider's own form; None for none."""
    if _is_blank(system):
        return None
    if _is_own(provider, system, marks_cache=marks_cache):
        return system
    blocks = [*_blocks(system)]
    keeps_marks = provider == "anthropic" or (marks_cache and any("cache_control" in block for block in blocks))
    match provider:
        case "gemini":
            return [{"text": block["text"]} for block in blocks]
        case "bedrock":
            return [part for block in blocks for part in _of_bedrock(block)]
        case "anthropic" | "openai_chat" if keeps_marks:
            return [{"type": "text"} | {key: block[key] for key in _FIELDS if key in block} for block in blocks]
        case _:
            return _joined(blocks)


def _is_blank(system: object) -> bool:
    match system:
        case None | {"text": ""}:
            return True
        case str(text):
            return not text.strip()
        case list() | tuple() as parts:
            return all(map(_is_blank, parts))
    return False


def _is_own(provider: str, system: object, *, marks_cache: bool) -> bool:
    """Return whether system text has a form that the provider's SDK takes."""
    if isinstance(system, str):
        return provider != "bedrock"
    blocks = system if isinstance(system, list | tuple) else [system]
    dicts = [block for block in blocks if isinstance(block, Mapping)]
    match provider:
        case "gemini":  # parts, contents and objects of the SDK
            return not any(block.keys() & {"type", "role", "cachePoint"} for block in dicts)
        case "bedrock":
            foreign = any(block.keys() & {"type", "role", "cache_control"} for block in dicts)
        case "openai_responses":
            return False
        case _:
            unread = provider == "openai_chat" and not marks_cache
            foreign = any(block.get("type") != "text" or (unread and "cache_control" in block) for block in dicts)
    return blocks is system and len(dicts) == len(blocks) and not foreign


def _blocks(system: object) -> Iterator[Mapping[str, Any]]:
    """Yield system text as blocks with a text, and with a cache mark where it has one.

    Raises:
        ValueError: a block is no text.
    """
    read: Any = plain([system])[0]
    match read:
        case str(text):
            yield {"text": text}
        case list() | tuple() as parts:
            for part in parts:
                yield from _blocks(part)
        case {"text": str()} as block:
            yield block
        case {"parts": inner} | {"content": inner}:
            yield from _blocks(inner)
        case {"cachePoint": _}:
            return
        case other:
            msg = f"system text must be a string or blocks of text, got {type(other).__name__}: {str(other)[:80]}"
            raise ValueError(msg)


def texts_of(system: object) -> list[str]:
    """Return the texts of system text in any form that ``keywords`` takes.

    Raises:
        ValueError: a block is no text.
    """
    return [block["text"] for block in _blocks(system)]


def _joined(blocks: Iterable[Mapping[str, Any]]) -> str:
    return "\n\n".join(block["text"] for block in blocks)


def _of_bedrock(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a block as Bedrock takes it, with a cache point behind one that has a mark."""
    yield {"text": block["text"]}
    if isinstance(mark := block.get("cache_control"), Mapping):
        yield {"cachePoint": {"type": "default"} | ({"ttl": mark["ttl"]} if "ttl" in mark else {})}


def request_bytes(system: object, tools: object) -> int:
    """Return the bytes of system text and tools in a request; 0 for what JSON cannot hold."""
    total = 0
    for value in (system, tools):
        if value:
            with suppress(TypeError, ValueError, RecursionError):
                text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=sendable)
                total += len(text.encode("utf-8", "surrogatepass"))
    return total
