"""Bedrock's and Gemini's messages as Messages blocks and back, and messages of one text in any provider's shape.

Decisions about blocks are made once, in the Messages shape; a block that was not changed is written as the object that
was read.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .types import Message

TRANSLATED = {"bedrock": "content", "gemini": "parts"}
"""The shapes that are read as Messages, and the field of each that holds a message's blocks."""


def text_message(provider: str, role: str, text: str) -> dict[str, Any]:
    """Return a message of one text; ``role`` is ``user`` or ``assistant``, in OpenAI's shapes also ``system``."""
    if provider == "openai_responses":
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    if provider == "bedrock":
        return {"role": role, "content": [{"text": text}]}
    if provider == "gemini":
        return {"role": "user" if role == "user" else "model", "parts": [{"text": text}]}
    return {"role": role, "content": text}


def only_text(message: Message) -> str | None:
    """Return the text of a message that consists of one text; None for any other."""
    content = message.get("content", message.get("parts"))
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        content = content[0].get("text")
    return content if isinstance(content, str) else None


def as_blocks(content: Any) -> list[Any]:
    """Return content as a new list; a string is one text block."""
    return [text_block(content)] if isinstance(content, str) and content else list(content)


def text_block(text: str, kind: str = "text") -> dict[str, Any]:
    """Return a block of text."""
    return {"type": kind, "text": text}


_GEMINI_ROLES: dict[Any, str] = {"model": "assistant", "user": "user", "function": "user", None: "user"}


class Block(dict[str, Any]):
    """A Messages block that keeps the block that it was read from.

    Attributes:
        raw: that block, in its own shape.
    """

    raw: Any = None


class ShapeAdapter:
    """Reads one transcript as Messages, and writes it back; other shapes than Bedrock's and Gemini's stay as they are.

    Gemini's calls have no ids as a rule: the adapter gives them ids by position, and never writes these.
    """

    def __init__(self, provider: str) -> None:
        """Create the adapter of one transcript in a provider's shape."""
        self.provider = provider
        self._field = TRANSLATED.get(provider)
        self._calls: dict[str, Mapping[str, Any]] = {}
        self._open: defaultdict[str, deque[str]] = defaultdict(deque)
        self._last_role = ""

    def read(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages in the Messages shape."""
        return [self._read(message) for message in messages] if self._field else list(messages)

    def write(self, message: Message) -> dict[str, Any]:
        """Return a message in its own shape."""
        if not self._field:
            return dict(message)
        write, assistant = (_bedrock, "assistant") if self.provider == "bedrock" else (self._gemini, "model")
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        written = [block.raw if isinstance(block, Block) else write(block) for block in blocks]
        fields = {key: value for key, value in message.items() if key not in ("role", "content")}
        return {**fields, "role": "user" if message["role"] == "user" else assistant, self._field: written}

    def _read(self, message: Message) -> Message:
        field = self._field or ""
        blocks, role = message.get(field), cast("Any", message.get("role"))
        if self.provider == "gemini":
            role = _GEMINI_ROLES.get(role, "unknown") if isinstance(role, str | None) else "unknown"
        if role == "assistant" != self._last_role:
            self._open.clear()
        self._last_role = role
        read = _of_bedrock if self.provider == "bedrock" else self._of_gemini
        self._close(blocks or ())
        content = None if blocks is None else [read(block) for block in blocks]
        return {**{key: value for key, value in message.items() if key != field}, "role": role, "content": content}

    def _of_gemini(self, part: Mapping[str, Any]) -> Block:
        call = _given(part, "functionCall", "function_call")
        result = _given(part, "functionResponse", "function_response")
        if isinstance(call, dict):
            name, own = call.get("name") or None, call.get("id")
            ref = own if isinstance(own, str) and own else f"{name}#{len(self._calls)}"
            self._calls[ref] = call
            self._open[str(name)].append(ref)
            return _block(part, "tool_use", id=ref, name=name, input=call.get("args") or {})
        if isinstance(result, dict):
            ref = self._answered(str(result.get("name")), result.get("id"))
            return _block(part, "tool_result", tool_use_id=ref, content=_as_text(result.get("response")))
        text = part.get("text")
        is_thought = part.get("thought") or _given(part, "thoughtSignature", "thought_signature") is not None
        is_text = isinstance(text, str) and (text == "" or text.strip() != "") and not is_thought
        if is_text or not isinstance(text, str | None) or _given(part, *part) is None:
            return _block(part, "text", text=text)
        return _block(part, "part")

    def _close(self, parts: Sequence[Mapping[str, Any]]) -> None:
        """Close the calls that a message's responses name by their ids, before others take what is open by its name."""
        responses = (_given(part, "functionResponse", "function_response") for part in parts)
        ids = [response.get("id") for response in responses if isinstance(response, dict)]
        named = {ref for ref in ids if ref and isinstance(ref, str)}
        for calls in self._open.values() if named else ():
            left = [ref for ref in calls if ref not in named]
            calls.clear()
            calls.extend(left)

    def _answered(self, name: str, ref: object) -> str:
        """Return the id of the call that a response answers: its own, or that of the first open call of its name.

        A response may leave out the id that its call has, as those do that Google's SDK writes.
        """
        if isinstance(ref, str) and ref:
            return ref
        calls = self._open[name]
        return calls.popleft() if calls else f"{name}#none"

    def _gemini(self, block: Mapping[str, Any]) -> dict[str, Any]:
        if block["type"] == "tool_result":
            call = self._calls[block["tool_use_id"]]
            answer = {"name": call.get("name"), "response": {"error": block["content"]}}
            return {"functionResponse": answer | ({"id": call["id"]} if call.get("id") else {})}
        if block["type"] == "tool_use":
            return {"functionCall": {"name": block["name"], "args": block["input"]}}
        return {"text": block["text"]}


def _bedrock(block: Mapping[str, Any]) -> dict[str, Any]:
    if block["type"] == "tool_result":
        answer = {"toolUseId": block["tool_use_id"], "content": [{"text": block["content"]}], "status": "error"}
        return {"toolResult": answer}
    if block["type"] == "tool_use":
        return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}}
    return {"text": block["text"]}


def _block(raw: Any, kind: str, **fields: Any) -> Block:
    block = Block(type=kind, **fields)
    block.raw = raw
    return block


def _given(block: Mapping[str, Any], *keys: str) -> Any:
    """Return the value of the first of these keys that is not null: an SDK's dumps hold null for what is absent."""
    return next((value for key in keys if (value := block.get(key)) is not None), None)


def _of_bedrock(raw: Mapping[str, Any]) -> Block:
    call, result, thought = (raw.get(key) for key in ("toolUse", "toolResult", "reasoningContent"))
    if raw.get("text") is not None or _given(raw, *raw) is None:
        return _block(raw, "text", text=raw.get("text"))
    if isinstance(call, dict):
        name, given = str(call.get("name") or ""), call.get("input")
        kind = "server_tool_use" if call.get("type") == "server_tool_use" else "tool_use"
        return _block(raw, kind, id=call.get("toolUseId"), name=name, input={} if given is None else given)
    if isinstance(result, dict) and result.get("type") not in (None, "", "tool_result"):
        return _block(raw, "server_tool_result", tool_use_id=result.get("toolUseId"))  # of a tool of Bedrock's own
    if isinstance(result, dict):
        given = result.get("content")
        parts = given if isinstance(given, list | tuple) else [{"text": given} if isinstance(given, str) else given]
        dicts = [part for part in parts if isinstance(part, dict)]
        content = [_of_bedrock({"text": _as_text(p["json"])} if "json" in p else p) for p in dicts]
        return _block(raw, "tool_result", tool_use_id=result.get("toolUseId"), content=content)
    if isinstance(thought, dict):
        text = thought.get("reasoningText")
        if not isinstance(text, dict):
            return _block(raw, "redacted_thinking", data="redacted")
        return _block(raw, "thinking", thinking=text.get("text"), signature=text.get("signature") or "")
    kind = next((key for key in ("image", "document") if raw.get(key) is not None), "part")
    return _block(raw, kind, **({"source": raw[kind].get("source")} if isinstance(raw.get(kind), dict) else {}))


def _as_text(value: object) -> str:
    """Return what a function gave back as text."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(only := next(iter(value.values())), str):
        return only
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
