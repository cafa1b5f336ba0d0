"""Session files whose calls were billed, in every format that records it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .format_cases import LINES, WHOLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Billed = Any
"""Billed tokens of a call's prompt, as a sound file states them."""


def _claude_code(line: Any, prompt: Billed) -> Iterator[Any]:
    if line["type"] == "assistant":
        line["message"]["usage"] = {"input_tokens": prompt, "output_tokens": 9}
    yield line


def _codex(line: Any, prompt: Billed) -> Iterator[Any]:
    yield line
    if line["payload"].get("type") == "function_call_output":
        usage = {"input_tokens": prompt, "output_tokens": 9}
        total = {"total_tokens": line["payload"]["call_id"]}
        info = {"last_token_usage": usage, "total_token_usage": total, "model_context_window": 258_400}
        yield {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def _pi(line: Any, prompt: Billed) -> Iterator[Any]:
    if line.get("message", {}).get("role") == "assistant":
        line["message"]["usage"] = {"input": prompt, "output": 9}
    yield line


def _gemini_cli(line: Any, prompt: Billed) -> Iterator[Any]:
    if line.get("type") == "gemini":
        line["tokens"] = {"input": prompt, "output": 9}
    yield line


def _qwen_code(line: Any, prompt: Billed) -> Iterator[Any]:
    if line["type"] == "assistant":
        line["usageMetadata"] = {"promptTokenCount": prompt, "candidatesTokenCount": 9}
    yield line


def _cline(line: Any, prompt: Billed) -> Iterator[Any]:
    if line["role"] == "assistant":
        line["metrics"] = {"tokens": {"prompt": prompt, "completion": 9, "cached": 0}}
    yield line


def _opencode(line: Any, prompt: Billed) -> Iterator[Any]:
    if line["info"]["role"] == "assistant":
        line["parts"].append({"type": "step-finish", "tokens": {"input": prompt, "output": 9}})
    yield line


def _openhands(line: Any, prompt: Billed) -> Iterator[Any]:
    if line.get("action") == "run":
        usage = {"prompt_tokens": prompt, "completion_tokens": 9}
        response = {"id": f"r{line['id']}", "choices": [], "usage": usage}
        line["tool_call_metadata"] = {"tool_call_id": f"t{line['id']}", "model_response": response}
    yield line


def _atif(whole: Any, prompt: Callable[[int], Billed]) -> None:
    for turn, step in enumerate(whole["steps"][1::2]):
        step["metrics"] = {"prompt_tokens": prompt(turn), "completion_tokens": 9}


def _mini_swe_agent(whole: Any, prompt: Callable[[int], Billed]) -> None:
    for turn, message in enumerate(whole["messages"][1::3]):
        usage = {"prompt_tokens": prompt(turn), "completion_tokens": 9}
        message["extra"] = {"response": {"usage": usage}}


BY_LINE = {
    "claude_code": _claude_code,
    "codex": _codex,
    "pi": _pi,
    "gemini_cli": _gemini_cli,
    "qwen_code": _qwen_code,
    "cline": _cline,
    "opencode": _opencode,
    "openhands": _openhands,
}
BY_WHOLE = {"atif": _atif, "mini_swe_agent": _mini_swe_agent}

FORMATS = (*BY_LINE, *BY_WHOLE)
"""The formats that record what a call was billed."""


def session(name: str, turns: int, prompt: Callable[[int], Billed]) -> bytes:
    """A session file of so many turns; ``prompt`` says what the call of each turn was billed."""
    if name in BY_WHOLE:
        whole = WHOLES[name](turns)
        BY_WHOLE[name](whole, prompt)
        return json.dumps(whole).encode()
    lines, answers = [], 0
    for line in LINES[name](turns):
        answers += "look" in json.dumps(line)
        lines += BY_LINE[name](line, prompt(max(answers - 1, 0)))
    return "\n".join(map(json.dumps, lines)).encode()
