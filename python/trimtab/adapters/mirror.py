"""A framework's messages of a class of their own, as messages of Chat Completions and back.

The role of a message remembers what it was read from, so that an edited one is written as its original with the edit.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ..messages.frameworks import Origin, origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

PROVIDER: Final = "openai_chat"
"""The shape of the messages, whatever the provider of the model."""


def mirrored(messages: Iterable[Any], read: Callable[[Any], dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages as plain ones, each of which ``read`` makes of one."""
    made = []
    for message in messages:
        plain = read(message)
        made.append({**plain, "role": Origin(plain["role"], message)})
    return made


def returned(
    plain: Sequence[Any],
    fitted: Iterable[Any],
    change: Callable[[Any, Mapping[str, Any]], Any],
    make: Callable[[Mapping[str, Any]], Any],
) -> list[Any]:
    """Return fitted messages in the framework's class; those that nothing changed are the same objects.

    Args:
        plain: of ``mirrored``.
        fitted: the messages to write.
        change: returns an original with what was edited in its plain message.
        make: returns a new message.
    """
    kept = set(map(id, plain))
    made = []
    for message in fitted:
        original = origin(message["role"])
        if original is None:
            made.append(make(message))
        else:
            made.append(original if id(message) in kept else change(original, message))
    return made


def parted(messages: Iterable[Any], apart: Mapping[int, Sequence[Any]]) -> list[Any]:
    """Return messages with a framework's own in place of those that stand for them.

    Args:
        messages: the messages.
        apart: by the id of a message, what it stands for.
    """
    return [each for message in messages for each in apart.get(id(message), [message])]


def call(id: object, name: str, arguments: object) -> dict[str, Any]:
    """Return a tool call; arguments that are no text are written as JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    return {"id": str(id or ""), "type": "function", "function": {"name": name, "arguments": text}}


def text_of(content: Any) -> str:
    """Return the text of content, whatever its form."""
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""
