"""Bedrock's and Gemini's messages as Messages blocks and back, and what somebody says in any provider's shape.

The three shapes say the same with other words. What is decided about blocks is decided once, in Messages' words; a
block that was not changed goes back as the object that it was.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .types import Message

TRANSLATED = ("bedrock", "gemini")
"""The shapes that are read through Messages' words."""


def text_message(provider: str, role: str, text: str) -> dict[str, Any]:
    """A message of nothing but text; ``role`` is ``user`` or ``assistant``, in OpenAI's shapes also ``system``."""
    if provider == "openai_responses":
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    if provider == "bedrock":
        return {"role": role, "content": [{"text": text}]}
    if provider == "gemini":
        return {"role": "user" if role == "user" else "model", "parts": [{"text": text}]}
    return {"role": role, "content": text}


def only_text(message: Message) -> str | None:
    """The text of a message that is nothing but one text; None for any other."""
    content = message.get("content", message.get("parts"))
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        content = content[0].get("text")
    return content if isinstance(content, str) else None


_GEMINI_ROLES: dict[Any, str] = {"model": "assistant", "user": "user", "function": "user", None: "user"}


class Block(dict[str, Any]):
    """A block in Messages' words that remembers what it was.

    Attributes:
        raw: the block in its own shape.
    """

    raw: Any = None


class ShapeAdapter:
    """Reads one transcript in Messages' words, and writes it back.

    Gemini's calls have no ids as a rule: they are given some, by their place, that never leave the lens.
    """

    def __init__(self, provider: str) -> None:
        """A lens for one transcript."""
        self.provider = provider
        self._calls: dict[str, Mapping[str, Any]] = {}
        self._open: list[tuple[str, str]] = []
        self._before = ""

    def read(self, messages: Sequence[Message]) -> list[Message]:
        """The messages in Messages' words; those of any other provider as they are."""
        if self.provider not in TRANSLATED:
            return list(messages)
        return [self._read(message) for message in messages]

    def write(self, message: Message) -> dict[str, Any]:
        """A message in its own words."""
        if self.provider not in TRANSLATED:
            return dict(message)
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if self.provider == "bedrock":
            return {**_beside(message), "role": message["role"], "content": [self._bedrock(block) for block in blocks]}
        role = "user" if message["role"] == "user" else "model"
        return {**_beside(message), "role": role, "parts": [self._gemini(block) for block in blocks]}

    def _read(self, message: Message) -> Message:
        key, read = ("content", _of_bedrock) if self.provider == "bedrock" else ("parts", self._of_gemini)
        blocks = message.get(key)
        role: Any = message.get("role")
        if self.provider == "gemini":
            role = _GEMINI_ROLES.get(role, "unknown") if isinstance(role, str | None) else "unknown"
        if role == "assistant" != self._before:
            self._open = []
        self._before = role
        content = None if blocks is None else [read(block) for block in blocks]
        return {**{k: v for k, v in message.items() if k != key}, "role": role, "content": content}

    def _of_gemini(self, part: Mapping[str, Any]) -> Block:
        call = part.get("functionCall", part.get("function_call"))
        given = part.get("functionResponse", part.get("function_response"))
        if isinstance(call, dict):
            name = call.get("name") or None
            own = call.get("id")
            ref = own if isinstance(own, str) and own else f"{name}#{len(self._calls)}"
            self._calls[ref] = call
            if ref is not own:
                self._open.append((str(name), ref))
            return _block(part, "tool_use", id=ref, name=name, input=call.get("args") or {})
        if isinstance(given, dict):
            ref = self._answered(str(given.get("name")), given.get("id"))
            return _block(part, "tool_result", tool_use_id=ref, content=_told(given.get("response")))
        text = part.get("text")
        thought = part.get("thought") or "thoughtSignature" in part or "thought_signature" in part
        spoken = isinstance(text, str) and (text == "" or text.strip() != "") and not thought
        if spoken or ("text" in part and not isinstance(text, str)):
            return _block(part, "text", text=text)
        return _block(part, "part")

    def _answered(self, name: str, ref: object) -> str:
        """The id of the call that a response answers: its own, or that of the first open call of its name."""
        if isinstance(ref, str) and ref:
            return ref
        found = next((call for call in self._open if call[0] == name), None)
        if found is None:
            return f"{name}#none"
        self._open.remove(found)
        return found[1]

    def _bedrock(self, block: Mapping[str, Any]) -> Any:
        if isinstance(block, Block):
            return block.raw
        if block["type"] == "tool_result":
            answer = {"toolUseId": block["tool_use_id"], "content": [{"text": block["content"]}], "status": "error"}
            return {"toolResult": answer}
        if block["type"] == "tool_use":
            return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}}
        return {"text": block["text"]}

    def _gemini(self, block: Mapping[str, Any]) -> Any:
        if isinstance(block, Block):
            return block.raw
        if block["type"] == "tool_result":
            call = self._calls[block["tool_use_id"]]
            answer = {"name": call.get("name"), "response": {"error": block["content"]}}
            return {"functionResponse": answer | ({"id": call["id"]} if call.get("id") else {})}
        if block["type"] == "tool_use":
            return {"functionCall": {"name": block["name"], "args": block["input"]}}
        return {"text": block["text"]}


def _beside(message: Message) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key not in ("role", "content")}


def _block(raw: Any, kind: str, **fields: Any) -> Block:
    block = Block(type=kind, **fields)
    block.raw = raw
    return block


def _of_bedrock(raw: Mapping[str, Any]) -> Block:
    call, result, thought = (raw.get(key) for key in ("toolUse", "toolResult", "reasoningContent"))
    if "text" in raw:
        return _block(raw, "text", text=raw["text"])
    if isinstance(call, dict):
        name, given = str(call.get("name") or ""), call.get("input")
        return _block(raw, "tool_use", id=call.get("toolUseId"), name=name, input={} if given is None else given)
    if isinstance(result, dict):
        given = result.get("content")
        parts = given if isinstance(given, list | tuple) else [{"text": given}] if isinstance(given, str) else [given]
        content = [block for part in parts if isinstance(part, dict) for block in _parts(part)]
        return _block(raw, "tool_result", tool_use_id=result.get("toolUseId"), content=content)
    if isinstance(thought, dict):
        text = thought.get("reasoningText")
        if not isinstance(text, dict):
            return _block(raw, "redacted_thinking", data="")
        return _block(raw, "thinking", thinking=text.get("text"), signature=text.get("signature") or "")
    kind = next((key for key in ("image", "document") if key in raw), "part")
    return _block(raw, kind, **({"source": raw[kind].get("source")} if isinstance(raw.get(kind), dict) else {}))


def _parts(part: Mapping[str, Any]) -> Iterable[Block]:
    """A part of a result as a block: JSON is what it says."""
    if "json" in part:
        yield _block({"text": _told(part["json"])}, "text", text=_told(part["json"]))
    else:
        yield _of_bedrock(part)


def _told(value: object) -> str:
    """What a function gave back, as text."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(only := next(iter(value.values())), str):
        return only
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
