"""A shell command and its result as the messages of each provider."""

from __future__ import annotations

import json
from typing import Any

from support.models import CLAUDE, GEMINI, GPT_SMALL
from support.transcripts import PROVIDERS

SUCCEEDED = {"anthropic": {"is_error": False}, "bedrock": {"status": "success"}}
FAILED = {"anthropic": {"is_error": True}, "bedrock": {"status": "error"}}
MODELS = dict(zip(PROVIDERS, (CLAUDE, GPT_SMALL, GPT_SMALL, CLAUDE, GEMINI), strict=True))


def said(provider: str, role: str, text: str) -> dict[str, Any]:
    """A message of text."""
    if provider == "gemini":
        return {"role": "model" if role == "assistant" else role, "parts": [{"text": text}]}
    return {"role": role, "content": [{"text": text}] if provider == "bedrock" else text}


def ran(provider: str, command: Any, output: Any, at: int = 1, **fields: Any) -> list[dict[str, Any]]:
    """A call of a shell and its result; ``fields`` stand beside the output."""
    made, ref = {"command": command}, f"call_{at}"
    match provider:
        case "anthropic":
            call = {"type": "tool_use", "id": ref, "name": "bash", "input": made}
            result = {"type": "tool_result", "tool_use_id": ref, "content": output, **fields}
        case "bedrock":
            call = {"toolUse": {"toolUseId": ref, "name": "bash", "input": made}}
            text = [{"text": output}]
            result = {"toolResult": {"toolUseId": ref, "content": text, **fields}}
        case "gemini":
            call = {"functionCall": {"name": "bash", "args": made}}
            result = {"functionResponse": {"name": "bash", "response": {"output": output, **fields}}}
            return [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]
        case "openai_chat":
            function = {"name": "bash", "arguments": json.dumps(made)}
            calls = [{"id": ref, "type": "function", "function": function}]
            return [
                {"role": "assistant", "content": None, "tool_calls": calls},
                {"role": "tool", "tool_call_id": ref, "content": output, **fields},
            ]
        case _:
            return [
                {"type": "function_call", "call_id": ref, "name": "bash", "arguments": json.dumps(made)},
                {"type": "function_call_output", "call_id": ref, "output": output, **fields},
            ]
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
