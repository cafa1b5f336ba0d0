"""What a compaction makes of rows and lists, the slow way: calls, placeholders, results told by originals, JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

PRUNED = "[trimtab: pruned "
LIMIT = 64


def is_json(value: Any) -> bool:
    """Whether JSON holds a value of plain types as it is."""
    if isinstance(value, dict) and not all(type(key) is str for key in value):
        return False
    if type(value) in {dict, list}:
        return all(map(is_json, value.values() if isinstance(value, dict) else value))
    if type(value) not in {str, int, float, bool, type(None)}:
        return False
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def call(message: Any, place: int, before: int) -> tuple[tuple[Any, ...], str, Any, Any] | None:
    """The way to a call, its field with the arguments, its tool and these; None for a call of no known shape."""
    items = {"function_call": "arguments", "custom_tool_call": "input"}
    wrapped = {"toolUse": "input", "functionCall": "args", "function_call": "args"}
    if (kind := message.get("type")) in items:
        return (), items[kind], message.get("name"), message.get(items[kind])
    if isinstance(calls := message.get("tool_calls"), list) and before < len(calls):
        entry = calls[before]
        for kind, key in (("function", "arguments"), ("custom", "input")):
            if isinstance(entry, dict) and isinstance(entry.get(kind), dict):
                return ("tool_calls", before, kind), key, entry[kind].get("name"), entry[kind].get(key)
        return None
    field = "parts" if "parts" in message else "content"
    blocks = message.get(field)
    if not isinstance(blocks, list) or place >= len(blocks) or not isinstance(blocks[place], dict):
        return None
    block = blocks[place]
    if block.get("type") == "tool_use":
        return (field, place), "input", block.get("name"), block.get("input")
    for kind, key in wrapped.items():
        if isinstance(block.get(kind), dict):
            return (field, place, kind), key, block[kind].get("name"), block[kind].get(key)
    return None


def placeholder(tokens: int, tool: str, about: str, back: str, count: Callable[[str], int]) -> str:
    """The longest placeholder of at most ``LIMIT`` tokens."""
    tool = _line(tool, 48)
    names = [f"{tool} {_line(about, 40)}".strip(), f"{tool} {_line(about, 20)}".strip(), tool, ""]
    texts = [f"{PRUNED}{tokens:,} tokens{f' of {n}' if n else ''}{f'; {back}' if back else ''}]" for n in names]
    return next((text for text in texts if count(text) <= LIMIT), f"{PRUNED}{tokens:,} tokens]")


def _line(text: str, most: int) -> str:
    line = re.sub(r"[\s\[\]]+", " ", text).strip()
    if len(line) <= most:
        return line
    return f"...{line[-most:]}" if " " not in line and "/" in line else f"{line[:most]}..."


def parts_of(originals: list[Any], made: list[Any]) -> list[Any]:
    """The messages of a result, told by the originals that they are or that they share blocks with."""
    places = {id(message): place for place, message in enumerate(originals)}
    blocks = {
        id(block): (place, key, at)
        for place, message in enumerate(originals)
        for key in ("content", "parts")
        if isinstance(message.get(key), list)
        for at, block in enumerate(message[key])
        if isinstance(block, Mapping)
    }
    parts: list[Any] = []
    for message in made:
        place = places.get(id(message))
        if place is None:
            parts.append(_changed(message, originals, blocks))
        elif parts and isinstance(parts[-1], list) and parts[-1][1] == place:
            parts[-1][1] += 1
        else:
            parts.append([place, place + 1])
    return parts


def _changed(message: Any, originals: list[Any], blocks: dict[int, tuple[int, str, int]]) -> dict[str, Any]:
    for key in ("content", "parts"):
        found = message.get(key)
        shared = [blocks.get(id(block)) for block in found] if isinstance(found, list) else []
        homes = {home[:2] for home in shared if home}
        if len(homes) == 1:
            ((place, field),) = homes
            if field == key and {**originals[place], key: None} == {**message, key: None}:
                told = [home[2] if home else copy(block) for home, block in zip(shared, found, strict=True)]
                return {"of": place, "key": key, "blocks": told}
    return {"new": copy(message)}


def made_of(parts: list[Any], messages: list[Any], length: int) -> list[Any] | None:
    """The list with a result in place of its beginning; None where a message has no such blocks any more."""
    made: list[Any] = []
    for part in parts:
        if isinstance(part, list):
            made += messages[part[0] : part[1]]
        elif "new" in part:
            made.append(copy(part["new"]))
        else:
            original, key = messages[part["of"]], part["key"]
            blocks = original.get(key)
            numbers = [place for place in part["blocks"] if isinstance(place, int)]
            if not isinstance(blocks, list) or max(numbers, default=-1) >= len(blocks):
                return None
            new = [blocks[place] if isinstance(place, int) else copy(place) for place in part["blocks"]]
            made.append({**original, key: new})
    return [*made, *messages[length:]]


def copy(value: Any) -> Any:
    """A value with dicts and lists of its own, and the same texts."""
    if isinstance(value, Mapping):
        return {key: copy(part) for key, part in value.items()}
    return [copy(part) for part in value] if isinstance(value, list | tuple) else value


def worded(value: dict[str, Any], known: tuple[str, ...]) -> list[str]:
    """The fields, but for the known ones, with a string of three words or more at any depth."""
    return [name for name, inner in value.items() if name not in known and _has_text(inner)]


def _has_text(value: Any) -> bool:
    pending = [value]
    for _ in range(1_001):
        if not pending:
            return False
        inner = pending.pop()
        if isinstance(inner, str) and len(inner[:1_000].split()) >= 3:
            return True
        if isinstance(inner, dict):
            pending += inner.values()
        elif isinstance(inner, list):
            pending += inner
    return True
