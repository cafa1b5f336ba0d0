"""Sessions of GitHub Copilot CLI: ``~/.copilot/session-state/<session>/events.jsonl``.

A line is an event with a ``type`` such as ``user.message`` or ``tool.execution_complete``, and its ``data``. Read are
the user's messages as they were sent (with the date and reminders around them), the system's notices, the model's
answers with reasoning and calls, results with images, and the last system prompt. Left out are hooks, permissions,
subagents, texts of skills and encrypted reasoning. The file does not contain tool definitions, nor the prompt tokens of
a single call, so there is no usage.

A compaction runs beside the conversation: its summary replaces the messages from before it began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._builder import Builder, FileRecords
from ._parts import Content, base64_part, call, content_of, dict_of, summary, text_of, text_part

_AREAS = ("session", "user", "assistant", "tool", "system", "hook", "subagent", "skill", "permission")

_EVENTS = {
    "user.message": ("content", "transformedContent"),
    "assistant.message": ("content", "reasoningText", "toolRequests"),
    "tool.execution_complete": ("result", "error", "toolTelemetry"),
}
"""Fields of sent events that are read, or repeat others for the screen or for statistics."""
_REQUEST = ("arguments", "name", "intentionSummary", "toolTitle")
_RESULT = ("content", "detailedContent", "binaryResultsForLlm")


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether only a Copilot CLI session has such a line."""
    area, dot, _ = text_of(value.get("type")).partition(".")
    return bool(dot) and area in _AREAS and isinstance(value.get("data"), dict)


def read(records: FileRecords, *, whole: bool) -> Builder:
    """Return the messages of the prompt; `whole` keeps those that a compaction replaced."""
    session = _Session(whole=whole)
    for record in records:
        value = record.value
        if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
            session.skip(record, "no event")
        elif value.get("agentId") or value["data"].get("parentToolCallId"):
            session.leave("subagent", value.get("type"))
        else:
            session.add(text_of(value.get("type")), value)
    return session


@dataclass(slots=True)
class _Session(Builder):
    """The messages in Chat's shape.

    Attributes:
        start: number of messages at the start of the current compaction.
    """

    start: int | None = None

    def add(self, kind: str, event: dict[str, Any]) -> None:
        """Add an event's data."""
        data, content = event["data"], text_of(event["data"].get("content"))
        if kind in _EVENTS:
            self.leave_fields([event], ("data",), kind)
            self.leave_fields([data], _EVENTS[kind], kind)
        if kind == "user.message":
            self.say("user", text_of(data.get("transformedContent")) or content)
        elif kind == "system.notification":
            self.say("user", content)
        elif kind == "system.message":  # each turn repeats the system prompt
            self.system = content or self.system
        elif kind == "assistant.message":
            self._add_answer(data, content)
        elif kind == "tool.execution_complete":
            self.result(data.get("toolCallId"), self._result_content(data))
        elif kind == "session.compaction_start":
            self.start = len(self.messages)
        elif kind == "session.compaction_complete":
            self._compact(data)
        elif kind in ("session.usage_info", "session.truncation"):
            self.name_window(data.get("tokenLimit"))
        elif kind in ("session.start", "session.model_change"):
            self.model = text_of(data.get("newModel") or data.get("selectedModel")) or self.model
        else:
            self.leave(kind)

    def _add_answer(self, data: dict[str, Any], content: str) -> None:
        """Add a model's message with its calls."""
        requests = self.objects(data.get("toolRequests"), "assistant.message", "toolRequests")
        for each in requests:
            self.leave_fields([each], _REQUEST, "toolRequests")
        calls = [call(each.get("toolCallId"), each.get("name"), each.get("arguments")) for each in requests]
        self.model = text_of(data.get("model")) or self.model
        self.answer(content, calls, text_of(data.get("reasoningText")))

    def _compact(self, data: dict[str, Any]) -> None:
        """Replace the messages from before the compaction's start; ignore a failed compaction."""
        start, self.start = self.start, None
        if data.get("success") and text_of(data.get("summaryContent")):
            self.compact([summary(data["summaryContent"])], self.messages[start:] if start is not None else ())
        else:
            self.leave("session.compaction_complete", "failed")

    def _result_content(self, data: dict[str, Any]) -> Content:
        """Return a call's result or error as the model got it."""
        kind, result, error = "tool.execution_complete", dict_of(data.get("result")), dict_of(data.get("error"))
        self.leave_fields([result], _RESULT, kind, "result")
        parts = [text_part(text_of(result.get("content")) or error.get("message"))]
        for binary in self.objects(result.get("binaryResultsForLlm"), kind):
            if text_of(binary.get("mimeType")).startswith("image/") and text_of(binary.get("data")):
                parts.append(base64_part(binary["mimeType"], binary["data"]))
            else:
                self.leave(kind, binary.get("type") or binary.get("mimeType"))
        return content_of(parts)
