"""Renders a summary request by a policy's template."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..messages.types import Message
    from ..planning.stages import Template
    from .ask import Ask


@dataclass(frozen=True, slots=True)
class Request:
    """A rendered summary request.

    Attributes:
        model: the model to ask; None leaves it to the summarizer.
        system: the system text; may be empty.
        messages: role and content, in the order of the call.
        max_tokens: most tokens of the answer.
        tools: always empty: a summary needs no tool.
        stream: always False.
    """

    model: str | None
    system: str
    messages: tuple[Message, ...]
    max_tokens: int
    tools: tuple[Message, ...] = ()
    stream: bool = False

    @property
    def prompt(self) -> str:
        """The text of the last user message."""
        return str(self.messages[-1]["content"])


def request(ask: Ask) -> Request:
    """Render a summary request by its policy's template.

    Args:
        ask: the request, with its template.

    Raises:
        ValueError: the policy has no template.
    """
    template = ask.template
    if template is None:
        msg = "the policy has no template and leaves the request to the summarizer"
        raise ValueError(msg)
    words = template.request(ask.instructions, ask.previous, ask.context)
    if template.as_messages:
        messages = (*ask.messages, {"role": "user", "content": words})
    else:
        text = words + template.begin + transcript(template, ask.messages) + template.end
        messages = ({"role": "user", "content": text},)
    return Request(ask.model, template.system, messages, ask.max_tokens)


def transcript(template: Template, messages: Iterable[Message]) -> str:
    """Return the messages as text, each by the template's line."""
    return "".join(template.line.format(role=role, content=text) for role, text in _lines(template, messages))


def _lines(template: Template, messages: Iterable[Message]) -> Iterator[tuple[str, str]]:
    for message in messages:
        role = str(message.get("role") or _role(message))
        if role in {"system", "developer"} and not template.include_system:
            continue
        text = "\n".join(piece for piece in _pieces(template, message) if piece)
        yield role, text if template.max_message_bytes is None else _head(text, template.max_message_bytes)


def _role(message: Message) -> str:
    return "tool" if str(message.get("type", "")).endswith("_output") else "assistant"


def _pieces(template: Template, message: Message) -> Iterator[str]:
    """Yield the text of each block of a message."""
    if message.get("role") in {"tool", "function"}:
        yield _result(template, message.get("tool_call_id"), message.get("content"), failed=False)
        return
    if "role" not in message:
        yield from _block(template, message)
        return
    content = message.get("content")
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            yield from _block(template, block)
    for call in message.get("tool_calls") or ():
        function = call.get("function") or call.get("custom") or call
        yield template.call.format(
            name=function.get("name", ""), input=_json(function.get("arguments", function.get("input", "")))
        )


def _block(template: Template, block: Any) -> Iterator[str]:
    if not isinstance(block, Mapping):
        yield str(block)
        return
    kind = str(block.get("type", ""))
    if kind.endswith(("tool_use", "function_call")):
        name = block.get("name", "")
        yield template.call.format(name=name, input=_json(block.get("input", block.get("arguments", ""))))
    elif kind.endswith(("tool_result", "_output")):
        content = block.get("content", block.get("output"))
        yield _result(
            template, block.get("tool_use_id", block.get("call_id")), content, failed=bool(block.get("is_error"))
        )
    elif kind in {"thinking", "redacted_thinking", "reasoning"}:
        text = block.get("thinking") or block.get("text")
        yield template.thinking.format(text=text) if text else ""
    elif isinstance(block.get("text"), str):
        yield block["text"]
    elif "image" in kind or kind in {"document", "file", "input_file"}:
        yield template.image


def _result(template: Template, id: object, content: object, *, failed: bool) -> str:
    if isinstance(content, list):
        content = "\n".join(piece for block in content for piece in _block(template, block) if piece)
    text = content if isinstance(content, str) else _json(content) if content is not None else ""
    if template.max_result_bytes is not None and len(text.encode("utf-8", "replace")) > template.max_result_bytes:
        text = _head(text, template.max_result_bytes - 3) + "..."
    return (template.failure if failed else template.result).format(id=id, content=text)


def _json(value: object) -> str:
    return (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    )


def _head(text: str, most: int) -> str:
    """Return the start of a text, at most ``most`` bytes in whole code points."""
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
