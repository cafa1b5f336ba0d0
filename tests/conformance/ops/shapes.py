"""Messages in the shapes of the cases, as a provider has them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from trimtab.messages.types import text_of

SAID = ("text", "content", "thinking", "data")
"""The keys under which a block may have its words."""


class Listed(dict[str, Any]):
    """A list and what else is known of it, under one roof: a case looks at both."""

    def __init__(self, messages: list[Any], **more: Any) -> None:
        super().__init__({str(n): message for n, message in enumerate(messages)} | more)
        self.messages = messages

    def __iter__(self) -> Any:
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)

    def __eq__(self, other: object) -> bool:
        return self.messages == other

    __hash__ = None  # type: ignore[assignment]


def chat(messages: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """spec09 and goat: calls in OpenAI's form."""
    return [{**message, **calls(message)} for message in messages or ()]


def calls(message: Mapping[str, Any]) -> dict[str, Any]:
    if not message.get("tool_calls"):
        return {}
    return {"tool_calls": [call if "function" in call else called(call) for call in message["tool_calls"]]}


def called(call: Mapping[str, Any]) -> dict[str, Any]:
    given = call.get("arguments", call.get("input", ""))
    words = given if isinstance(given, str) else json.dumps(given)
    return {
        "type": "function",
        "id": call.get("id", ""),
        "function": {"name": call.get("name", ""), "arguments": words},
    }


def worded(part: Mapping[str, Any]) -> str:
    """The words of a block, whatever its type."""
    found = [part[key] for key in SAID if isinstance(part.get(key), str | list)]
    return "".join(words if isinstance(words, str) else text_of(words) for words in found)


PICTURE = {"source": {"type": "url", "url": ""}}
BLOCKS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "thinking": lambda block: {"type": "thinking", "thinking": worded(block), "signature": ""},
    "tool_use": dict,
    "tool_result": dict,
    "image": lambda block: {**PICTURE, **block},
    "document": lambda block: {**PICTURE, **block},
}


def blocks(messages: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """agentpg: blocks in Anthropic's form; flags and ids stay where they are."""
    return [{"role": "user", **message, "content": inside(message.get("content"))} for message in messages or ()]


def inside(content: Any) -> Any:
    return content if isinstance(content, str) else [block(part) for part in content or ()]


def block(part: dict[str, Any]) -> dict[str, Any]:
    return BLOCKS.get(part["type"], lambda other: {"type": "text", "text": worded(other)})(part)


class Sven:
    """sven: a message a call, a message a result; calls of a batch become one message, and come apart again."""

    def __init__(self, messages: list[dict[str, Any]] | None) -> None:
        self.originals: dict[int, list[dict[str, Any]]] = {}
        self.messages: list[dict[str, Any]] = []
        for is_call, group in itertools.groupby(messages or (), lambda message: "tool_call" in message):
            batch = list(group)
            for each in [batch] if is_call else [[message] for message in batch]:
                self.messages.append(self.told(each))
                self.originals[id(self.messages[-1])] = each

    def told(self, each: list[dict[str, Any]]) -> dict[str, Any]:
        for key, make in self.FORMS.items():
            if key in each[0]:
                return make(each)
        return {"role": each[0].get("role", "user"), "content": each[0].get("text") or ""}

    FORMS: ClassVar[dict[str, Callable[[list[dict[str, Any]]], dict[str, Any]]]] = {
        "tool_call": lambda each: {
            "role": "assistant",
            "content": None,
            **calls({"tool_calls": [message["tool_call"] for message in each]}),
        },
        "tool_result": lambda each: {
            "role": "tool",
            "tool_call_id": each[0]["tool_result"].get("id", ""),
            "content": parts(each[0]["tool_result"].get("content")),
        },
        "parts": lambda each: {"role": each[0].get("role", "user"), "content": parts(each[0]["parts"])},
    }

    def back(self, messages: Any) -> list[dict[str, Any]]:
        """Return the messages in the case's own form."""
        found = [self.originals.get(id(message), [self.plain(message)]) for message in messages]
        return list(itertools.chain.from_iterable(found))

    def kept(self, messages: Any) -> list[dict[str, Any]]:
        """Those that were there before, without what stands in front."""
        tail = [message for message in messages if id(message) in self.originals]
        return self.back(itertools.dropwhile(lambda message: message["role"] in FRONT, tail))

    def plain(self, message: Mapping[str, Any]) -> dict[str, Any]:
        return {"role": message["role"], "text": text_of(message.get("content"))}


FRONT = frozenset({"system"})


def parts(content: Any) -> Any:
    if not isinstance(content, list):
        return content or ""
    picture = {"url": ""}
    return [
        {"type": "text", **part} if "text" in part else {"type": "image_url", "image_url": {**picture, **part}}
        for part in content
    ]


def stored(message: dict[str, Any]) -> dict[str, Any]:
    """opencode: a message as it stores it."""
    info = {key: message[key] for key in ("id", "role", "summary", "finish", "error") if key in message}
    return {
        "info": {**info, "parentID": message.get("parent")},
        "parts": [PARTS.get(part["type"], dict)(part) for part in message.get("parts") or ()],
    }


def tool(part: dict[str, Any]) -> dict[str, Any]:
    state = {key: part.get(key, default) for key, default in STATE.items()}
    times = {"compacted": part["compacted"]} if part.get("compacted") else {}
    return {
        "type": "tool",
        "callID": part.get("call_id", ""),
        "tool": part.get("tool", ""),
        "state": {**state, "time": times},
    }


STATE = {"status": "completed", "output": "", "attachments": []}
PARTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"tool": tool}


def told(message: Mapping[str, Any]) -> dict[str, Any]:
    """The other way round: a stored message in the words of a case."""
    info = message["info"]
    return {"role": info["role"], **info, "parent": info.get("parentID"), "parts": message["parts"]}
