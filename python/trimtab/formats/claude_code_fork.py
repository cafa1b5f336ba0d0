"""Write a compacted Claude Code session as a fork with new ids that Claude Code can resume."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MessageError
from ..messages.envelope import enveloped
from ..messages.surrogates import mended
from ._parts import dict_of, text_of, text_part
from ._records import Records
from ._source import naming
from .claude_code import ROLES

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from ..messages.types import Message

_SHARED = ("isSidechain", "userType", "entrypoint", "cwd", "version", "gitBranch")
"""Fields that every line of a session repeats."""


def fork(
    source: str | os.PathLike[str] | bytes,
    messages: Sequence[Message],
    *,
    tokens_before: int,
    tokens_after: int,
    ref: str | None = None,
    now: datetime | None = None,
    is_compacted: bool = True,
) -> tuple[str, str]:
    """Return a session file that begins with a compaction and continues with these messages.

    Args:
        source: the original session file's path, or its bytes.
        messages: the compacted list, in the Messages shape.
        tokens_before: tokens of the list that was compacted.
        tokens_after: tokens of ``messages``.
        ref: of the compaction; only its own summary is hidden as Claude Code hides one.
        now: time of the compaction; by default the current time.
        is_compacted: False for messages from the session's start, which no compaction made: the file has no boundary.

    Returns:
        The new session's id, and the file's text: a boundary, the summary as Claude Code marks its own, and the rest.

    Raises:
        MessageError: the source is no Claude Code session, or the messages are not in the Messages shape.
    """
    last, model = _last(source)
    if not messages or messages[0].get("role") != "user":
        raise MessageError("a session begins with a user message", path="messages[0]", index=0)
    session, when = str(uuid.uuid4()), now or datetime.now(UTC)
    shared = {name: last[name] for name in _SHARED if name in last} | {"sessionId": session}
    metadata = {"trigger": "manual", "preTokens": tokens_before, "postTokens": tokens_after}
    boundary = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False}
    entries = [_entry(message, model) for message in messages]
    if is_compacted:
        entries[0] |= {"isCompactSummary": True}  # readers start here, even if nothing was summarized
    if ref is not None and (found := enveloped(messages[0])) and found.ref == ref:
        entries[0] |= {"isVisibleInTranscriptOnly": True}
    if is_compacted:
        entries.insert(0, {**boundary, "level": "info", "compactMetadata": metadata})
    parent = None
    for number, entry in enumerate(entries):
        name = str(uuid.uuid4())
        stamp = (when + timedelta(milliseconds=number)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        entry |= {"parentUuid": parent, **shared, "uuid": name, "timestamp": stamp, "isSidechain": False}
        parent = name
    return session, "".join(f"{json.dumps(entry)}\n" for entry in mended(entries)[0])


def _last(source: str | os.PathLike[str] | bytes) -> tuple[dict[str, Any], str]:
    """Return the last message line, and the last model; those of side conversations where there is no other."""
    last, model, is_main = None, "unknown", False
    with BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb") as file:
        for record in Records(file):
            line = record.value
            if isinstance(line, dict) and line.get("type") in ROLES and not (is_main and line.get("isSidechain")):
                last, is_main = line, not line.get("isSidechain")
                named = text_of(dict_of(line.get("message")).get("model"))
                model = named if named not in ("", "<synthetic>") else model
    if last is None:
        with naming(source):
            raise MessageError("no line of a Claude Code session in it", hint="only such a session can be forked")
    return last, model


def _entry(message: Message, model: str) -> dict[str, Any]:
    """Return the line of a message; a response gets the fields of an API response."""
    role = message.get("role")
    if role not in ROLES:
        raise MessageError(f"a Claude Code session has no role {role!r}", hint="compact it in the Messages shape")
    if role == "user":
        return {"type": "user", "message": dict(message)}
    content = message["content"]
    blocks = [text_part(content)] if isinstance(content, str) else content
    response = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "model": model, "stop_reason": None}
    usage = {"input_tokens": 0, "output_tokens": 0}
    return {"type": "assistant", "message": {**message, **response, "content": blocks, "usage": usage}}
