"""Providers: what they refuse, and how a list is repaired."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import trimtab
from support import transcripts
from trimtab.validity.validate import refusal

from .presets import MODEL
from .table import OPS, op


def drawn(value: Any) -> Any:
    """The messages with real pictures, where a case says only how large they are."""
    if isinstance(value, list):
        return [drawn(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if "_width" in value:
        return {**value, "data": transcripts.png(value["_width"], value.get("_height", transcripts.HEIGHT))}
    return {key: drawn(inner) for key, inner in value.items()}


def original(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The transcript that a case's notes speak of: before a block was modified, or what it was created behind."""
    found = copy.deepcopy(messages)
    for at, message in enumerate(found):
        if message.get("_requires"):
            return [*found[:at], {"type": "reasoning", "id": message["_requires"], "summary": []}, *found[at:]]
        for part in listed(message.get("content")):
            if part.pop("_modified", None):
                part["thinking"] = "".join((part.get("thinking", ""), MODEL))
            if prefix := part.pop("_created_prefix", None):
                return [{"role": "user", "content": prefix}, message]
    return found


def listed(content: Any) -> list[dict[str, Any]]:
    return content if isinstance(content, list) else []


MARKED = {"type": "text", "text": MODEL, "cache_control": {"type": "ephemeral"}}


ALIASES = {"strict_alternation": "alternation", "supports_prefill": "prefill", "prefill_supported": "prefill"}
"""Options of a case that the library has under another name."""


def moment(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options of a case as the library takes them."""
    given = {ALIASES.get(key, key): value for key, value in (options or {}).items() if value is not None}
    binding = {"model": "claude-sonnet-5-5"} if given.pop("preserved_thinking", None) else {}
    outside = {key: marked(given.pop(f"cache_control_in_{key}", None)) for key in ("system", "tools")}
    return given | binding | {key: blocks for key, blocks in outside.items() if blocks}


def marked(count: int | bool | None) -> list[dict[str, Any]]:
    return [MARKED for _ in range(count or False)]


def judged(provider: Any, messages: Any, options: Mapping[str, Any] | None, **tools: Any) -> dict[str, Any]:
    found = trimtab.validate(
        drawn(messages),
        provider=provider,
        original=original(drawn(messages)),
        **(moment(options) | tools),
    )
    first = refusal(found)
    return {
        "valid": not found,
        "code": first.code if first else None,
        "error": first.message if first else None,
        "codes": [problem.code for problem in found],
    }


def validator(provider: str, *keys: str) -> Callable[..., Any]:
    def judge(options: Any = None, **given: Any) -> dict[str, Any]:
        known = {"tools": given.pop("tool_config") or []} if "tool_config" in given else {}
        (messages,) = [given.pop(key) for key in keys if key in given] or [[]]
        return judged(provider, messages, options, **known, **given)

    return judge


OPS |= {
    f"validate_{provider}": validator(provider, *keys)
    for provider, keys in {
        "anthropic": ("messages",),
        "openai_chat": ("messages",),
        "openai_responses": ("input", "messages"),
        "bedrock": ("messages",),
        "gemini": ("contents", "messages"),
    }.items()
}


@op
def repair(messages: Any, provider: Any, options: Any = None) -> dict[str, Any]:
    given = drawn(messages)
    done = trimtab.repair(given, provider=provider, **moment(options))
    held = list(inside(list(done.messages)))
    return {
        "messages": list(done.messages),
        "valid": not trimtab.validate(done.messages, provider=provider, **moment(options)),
        "unchanged": done.messages is given,
        "text_kept": [part[key] for part in held for key in TEXTS if isinstance(part.get(key), str)],
        "result_ids": [part[key] for part in held if not TYPED & set(part) for key in IDS if key in part],
        "cache_control_count": len([part for part in held if "cache_control" in part]),
        "codes": [change.code for change in done.changes],
    }


TEXTS = ("text", "content")
IDS = ("tool_use_id", "tool_call_id", "toolUseId", "call_id")
TYPED = frozenset({"arguments", "input"})
"""Fields that a call has and a result lacks."""


def inside(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping in a list of messages."""
    if isinstance(value, dict):
        yield value
    deeper = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in deeper:
        yield from inside(part)
