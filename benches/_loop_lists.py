"""The lists of ``bench-loop`` in the shapes that agents keep: seeded, with a system text and 20 tools beside them."""

from __future__ import annotations

import hashlib
import json
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import _transcripts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

Message = dict[str, Any]

SYSTEM = "You are an agent that mends programs. " + "Read a file before you change it, and run its tests. " * 40
PARAMETERS = {
    "type": "object",
    "properties": {name: {"type": "string", "description": f"the {name} to use"} for name in ("path", "pattern")},
}
TOOLS = [
    {
        "name": f"tool_{n}",
        "description": f"Does the work of kind {n} on a file of the project.",
        "input_schema": PARAMETERS,
    }
    for n in range(20)
]
CHAT_TOOLS = [
    {
        "type": "function",
        "function": {"name": t["name"], "description": t["description"], "parameters": t["input_schema"]},
    }
    for t in TOOLS
]


class Said(NamedTuple):
    """One message in no provider's shape: an odd number calls a tool, the next is its result."""

    number: int
    text: str

    @property
    def role(self) -> str:
        return "assistant" if self.number % 2 else "user"

    @property
    def call(self) -> str:
        """Id of the call that the message makes or answers."""
        return f"toolu_{self.number - 1 + self.number % 2:07}"


def said(start: int, count: int) -> list[Said]:
    """Messages of about 40 tokens from a number on; each text differs."""
    rng = random.Random(start)
    return [
        Said(n, f"step {n}: " + " ".join(rng.choices(_transcripts.WORDS, k=rng.randrange(16, 52))))
        for n in range(start, start + count)
    ]


def string(one: Said) -> Message:
    return {"role": one.role, "content": one.text}


def block(one: Said) -> Message:
    """Anthropic's shape: text and a call, or a result."""
    if one.number == 0:
        return string(one)
    if one.role == "user":
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": one.call, "content": one.text}]}
    call = {"type": "tool_use", "id": one.call, "name": "tool_3", "input": {"path": f"src/file_{one.number % 977}.py"}}
    return {"role": "assistant", "content": [{"type": "text", "text": one.text}, call]}


def chat(one: Said) -> Message:
    """OpenAI's chat shape: text and a call, or a result; the system text is the first message."""
    if one.number == 0:
        return {"role": "system", "content": SYSTEM}
    if one.role == "user":
        return {"role": "tool", "tool_call_id": one.call, "content": one.text}
    arguments = json.dumps({"path": f"src/file_{one.number % 977}.py"})
    call = {"id": one.call, "type": "function", "function": {"name": "tool_3", "arguments": arguments}}
    return {"role": "assistant", "content": one.text, "tool_calls": [call]}


def sdk(one: Said) -> Message:
    """Anthropic's shape as its SDK answers: blocks of the assistant are objects."""
    from anthropic import types

    message = block(one)
    if one.role == "user":
        return message
    text, call = message["content"]
    return {"role": "assistant", "content": [types.TextBlock(**text), types.ToolUseBlock(**call)]}


SHAPES: dict[str, Callable[[Said], Message]] = {"strings": string, "blocks": block, "chat": chat, "SDK objects": sdk}


def shapes() -> list[str]:
    """The shapes that can be made here: SDK objects need the package ``anthropic``."""
    with suppress(ImportError):
        import anthropic  # noqa: F401

        return [*SHAPES]
    return [name for name in SHAPES if name != "SDK objects"]


def short(count: int) -> list[Message]:
    """Short messages that all differ, for lists of a million."""
    text = "message {} says some words about file_{}.py and what happened to it then"
    return [{"role": ("user", "assistant")[n % 2], "content": text.format(n, n % 977)} for n in range(count)]


def long(count: int, make: Callable[[Said], Message]) -> list[Message]:
    """Messages of 700 bytes with files and names in them, for summaries."""
    sentence = "The {} of src/pkg_{}/mod_{}.py drops load_rows_{}, because the old table never keeps a row of it. "
    kinds = ("parser", "ledger", "cache", "writer")
    return [
        make(
            Said(n, "".join(sentence.format(kinds[(n + k) % 4], n % 60, n % 307, n * k % 409) for k in range(8))[:700])
        )
        for n in range(count)
    ]


def claude_code(path: Path, records: int) -> None:
    """Write a session file as Claude Code does, half a kilobyte a record."""
    shared = {"sessionId": "s", "isSidechain": False, "cwd": "/work", "version": "2.1.0", "userType": "external"}
    with path.open("w") as file:
        for n, message in enumerate(_transcripts.lines(records)):
            line = shared | {
                "type": message["role"],
                "uuid": f"{n:08}",
                "parentUuid": f"{n - 1:08}" if n else None,
                "timestamp": f"2026-11-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}.000Z",
                "message": message,
            }
            if message["role"] == "assistant":
                usage = {"input_tokens": 100 + n, "output_tokens": 90}
                line["message"] = {
                    **message,
                    "id": f"msg_{n}",
                    "type": "message",
                    "model": "claude-sonnet-4-5",
                    "usage": usage,
                }
            file.write(json.dumps(line) + "\n")


def digest(*lists: Sequence[Said]) -> str:
    """SHA-256 of the texts, 12 hexadecimal digits."""
    return hashlib.sha256("\0".join(one.text for each in lists for one in each).encode()).hexdigest()[:12]
