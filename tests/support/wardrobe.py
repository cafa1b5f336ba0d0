"""The kinds of object that callers keep their messages in: each dresses a list of dicts."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypedDict

import anthropic.types as claude
from openai.types import responses
from openai.types.chat import ChatCompletionMessage
from pydantic import BaseModel, TypeAdapter

from support.models import CLAUDE

BLOCK = TypeAdapter(claude.ContentBlock)
ITEMS = {
    "function_call": responses.ResponseFunctionToolCall,
    "reasoning": responses.ResponseReasoningItem,
    "web_search_call": responses.ResponseFunctionWebSearch,
}


class Turn(BaseModel):
    role: str
    content: str | list[Any] | None = None
    note: str | None = None


@dataclass(frozen=True)
class Said:
    role: str
    content: Any = None
    note: str | None = None


class Written(TypedDict):
    role: str
    content: Any


def answer(message):
    """An assistant's message as the Anthropic SDK answers it."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    usage = {"input_tokens": 1, "output_tokens": 1}
    known = {"id": "msg_1", "type": "message", "model": CLAUDE, "stop_reason": "end_turn"}
    return claude.Message.model_validate({**known, "role": "assistant", "content": blocks, "usage": usage})


def _blocks(message):
    return {**message, "content": answer(message).content} if message["role"] == "assistant" else message


def _message(message):
    return answer(message) if message["role"] == "assistant" else message


def _chat(message):
    return ChatCompletionMessage.model_validate(message) if message["role"] == "assistant" else message


def _item(item):
    if item.get("role") == "assistant":
        parts = [{"annotations": [], **part} for part in item["content"]]
        known = {"id": "m", "type": "message", "status": "completed"}
        return responses.ResponseOutputMessage.model_validate({**known, **item, "content": parts})
    kind = ITEMS.get(item.get("type"))
    return item if kind is None else kind.model_validate(item)


def _entries(messages):
    def entry(n, message):
        shared = {"sessionId": "s", "isSidechain": False, "cwd": "/", "version": "2.1"}
        sent = {"message": answer(message).to_dict() if message["role"] == "assistant" else message}
        names = {"uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None}
        return {"type": message["role"], **sent, **shared, **names}

    return [entry(n, message) for n, message in enumerate(messages)]


def _each(dress):
    return lambda messages: [dress(message) for message in messages]


WARDROBE = {
    "sdk blocks in dicts": ("anthropic", _each(_blocks)),
    "sdk messages": ("anthropic", _each(_message)),
    "sdk chat messages": ("openai_chat", _each(_chat)),
    "sdk response items": ("openai_responses", _each(_item)),
    "pydantic models": ("anthropic", _each(lambda m: Turn(**m))),
    "dataclasses": ("anthropic", _each(lambda m: Said(**m))),
    "typed dicts": ("anthropic", _each(lambda m: Written(**m))),
    "mappings": ("anthropic", _each(MappingProxyType)),
    "Claude Code entries": ("anthropic", _entries),
}
"""By name: the shape, and what makes the objects of a list of dicts."""
