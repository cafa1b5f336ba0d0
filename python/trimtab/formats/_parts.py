"""Values of a file by type, and the parts of OpenAI Chat messages."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Content: TypeAlias = "str | list[dict[str, Any]]"
"""Content of a message: a text or a list of parts."""


def text_of(value: object) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def seconds_of(value: object) -> float | None:
    """Return the seconds since 1970 of a time as ISO 8601; None for any other value."""
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None


def dict_of(value: object) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list; `Builder.objects` also counts its other entries."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def text_part(text: object) -> dict[str, Any]:
    """Return a text part of a content."""
    return {"type": "text", "text": text_of(text)}


def image_part(url: str) -> dict[str, Any]:
    """Return an image part of a content."""
    return {"type": "image_url", "image_url": {"url": url}}


def base64_part(mime: object, data: object) -> dict[str, Any]:
    """Return an image part of a content, from base64."""
    return image_part(f"data:{text_of(mime)};base64,{text_of(data)}")


def parts_of(content: object) -> list[dict[str, Any]]:
    """Return the valid parts of a content."""
    parts = [part for part in list_of(content) if isinstance(part.get("type"), str)]
    return [part for part in parts if isinstance(part.get("text"), str) or part["type"] not in ("text", "refusal")]


def content_of(parts: Iterable[dict[str, Any]]) -> Content:
    """Return the parts as a content: text alone becomes one string."""
    kept = [part for part in parts if part["type"] != "text" or part["text"]]
    return kept if images_of(kept) else words_of(kept)


def words_of(content: Content) -> str:
    """Return the text of a content."""
    return content if isinstance(content, str) else "\n".join(p["text"] for p in content if p["type"] == "text")


def images_of(content: Content) -> list[dict[str, Any]]:
    """Return the parts of a content that are no text."""
    return [] if isinstance(content, str) else [part for part in content if part["type"] != "text"]


def joined(parts: Iterable[dict[str, Any]], kind: str, field: str = "text") -> str:
    """Return the texts in a field of the parts of one type, one per line."""
    return "\n".join(text_of(part.get(field)) for part in parts if part.get("type") == kind)


def call(ref: object, name: object, arguments: Any) -> dict[str, Any]:
    """Return an entry of ``tool_calls``; arguments become JSON text."""
    given = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return {"id": text_of(ref), "type": "function", "function": {"name": text_of(name), "arguments": given}}


def summary(text: object) -> dict[str, Any]:
    """Return the message with a compaction's summary."""
    return {"role": "user", "content": f"<summary>\n{text_of(text)}\n</summary>"}
