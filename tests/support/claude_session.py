"""A session file of Claude Code."""

from __future__ import annotations

import json
from pathlib import Path

from support.models import CLAUDE

CWD = "/srv/of/somebody"


def session(folder: Path, messages: list[dict], session_id: str = "11111111-1111-4111-8111-111111111111") -> Path:
    """A Claude Code session of these messages, as it writes them."""
    lines, parent = [], None
    for n, message in enumerate(messages):
        name = f"00000000-0000-4000-8000-{n:012}"
        told = {"id": f"msg_{n}", "model": CLAUDE} if message["role"] == "assistant" else {}
        entry = {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": CWD, "version": "2.1.45"}
        stamp = f"2026-01-01T00:{n // 60:02}:{n % 60:02}.000Z"
        entry |= {"sessionId": session_id, "type": message["role"], "uuid": name, "timestamp": stamp}
        lines.append(json.dumps({**entry, "message": {**message, **told}}))
        parent = name
    path = folder / f"{session_id}.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path
