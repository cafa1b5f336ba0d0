"""opencode: the queue of compactions in a stored session, and pruning that marks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trimtab
from trimtab.formats import opencode
from trimtab.messages.types import text_of

from .outside import Stub, Told
from .presets import MODEL, OPENCODE, ROLES
from .shapes import stored, told
from .table import OPS, op


@op
def filter_compacted(messages: list[dict[str, Any]] | None = None) -> list[str]:
    return [message["info"].get("id") for message in opencode.pivot([stored(message) for message in messages or ()])]


OPS["filter_compacted_seed004"] = filter_compacted


def opened(messages: Any, policy: Any, llm: Any = None, told: Any = (), **limits: Any) -> trimtab.CompactionQueue:
    made = trimtab.Compactor(
        "gpt-4o", provider="openai_chat", policy=policy, summarizer=Stub(llm).writer, listeners=told, **limits
    )
    return trimtab.CompactionQueue(made, [stored(message) for message in messages or ()])


@op
def prune(messages: list[dict[str, Any]] | None = None, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    policy = trimtab.config.configure("compaction", config or {}, OPENCODE)
    said = [{"type": "text", "text": MODEL}]
    filled = [
        message | {"parts": [*(message.get("parts") or ()), *silent(message, said)]} for message in messages or ()
    ]
    return {"pruned_ids": list(opened(filled, policy).prune())}


def silent(message: Mapping[str, Any], said: list[Any]) -> list[Any]:
    """Return a user message's parts; an empty message is still a turn."""
    words = text_of(message.get("parts")).strip()
    return said if message.get("role") in ROLES[:True] and not words else []


@op
def prune_then_read(output: str, attachments: Any = None) -> dict[str, Any]:
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,aaaa"}
    part = {
        "type": "tool",
        "call_id": "call",
        "tool": "bash",
        "output": output,
        "attachments": attachments or [picture],
    }
    said = [{"role": "user", "id": name, "parts": [{"type": "text", "text": name}]} for name in ("one", "two", "three")]
    answer = {"role": "assistant", "id": "answer", "parts": [part]}
    held = opened([*said, answer, *said], OPENCODE)
    held.prune()
    (result,) = [message["content"] for message in held.prompt() if "tool_call_id" in message]
    (kept,) = [message["parts"][0]["state"] for message in held.messages if message["info"]["id"] in answer.values()]
    pictures = [part for part in result if "text" not in part] if isinstance(result, list) else []
    return {"stored_output": kept["output"], "model_output": result, "model_attachments": pictures}


@op
def create_compaction(auto: bool = True) -> dict[str, Any]:
    held = opened([], OPENCODE)
    marker = held.enqueue(auto=auto)
    return {"messages": [{"role": marker["info"]["role"], "parts": marker["parts"]}]}


@op
def stored_shapes() -> dict[str, Any]:
    """A session that was pruned and compacted: the marker, the summary, and the result that was marked."""
    part = {"type": "tool", "call_id": "call", "tool": "bash", "output": MODEL.ljust(999_999)}
    said = [{"role": "user", "id": name, "parts": [{"type": "text", "text": name}]} for name in ("one", "two", "three")]
    held = opened([*said, {"role": "assistant", "id": "answer", "parts": [part]}, *said], OPENCODE)
    held.prune()
    marker = held.enqueue(auto=True)
    held.run()
    (summary,) = [message for message in held.messages if opencode.is_summary(message)]
    (marked,) = [part for message in held.messages for part in message["parts"] if "callID" in part]
    (asked,) = opencode.markers(marker)
    return {
        "marker": {**asked, **told(marker)},
        "summary": told(summary),
        "tool": {**marked, **marked["state"], **marked["state"]["time"]},
    }


LIMITS = {"context": "window", "output": "max_output"}


@op
def process_compaction(
    messages: list[dict[str, Any]] | None = None,
    auto: bool = True,
    llm: Any = None,
    model: Mapping[str, Any] | None = None,
    parent: str | None = None,
) -> dict[str, Any]:
    """The marker is the case's own where it has one; ``parent`` is its message, which the library finds by itself."""
    heard = Told()
    limits = {LIMITS[key]: value for key, value in (model or {}).items()}
    held = opened(messages, OPENCODE, llm, [heard.events.append], **limits)
    before = {message["info"].get("id") for message in held.messages}
    error, done = None, None
    if held.pending() is None:
        held.enqueue(auto=auto)
    try:
        done = held.run()
    except trimtab.Error as raised:
        error = raised
    new = [message for message in held.messages if message["info"]["id"] not in before]
    said = [part for message in new for part in message["parts"] if part.get("synthetic")]
    return {
        "messages": [told(message) for message in held.messages],
        "events": heard.order,
        "synthetic_user_texts": [part["text"] for part in said],
        "summary": done.summary if done else None,
        "filtered_ids": [message["info"].get("id") for message in held.visible()],
        "error": str(error) if error else None,
    }
