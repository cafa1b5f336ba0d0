"""Copilot CLI sessions: ``~/.copilot/session-state/<session>/events.jsonl``.

Mapped: what the user said as it was sent (with the date and reminders around it), notices of the system, the model's
answers with their reasoning and calls, the results, pictures among them, and the last system prompt. Left out: hooks,
permissions, what subagents did, texts of skills, tool definitions (not in the file), reasoning that only its provider
can read. The file does not say what a single call's prompt was charged, so there is no usage.

A compaction runs beside the conversation: its summary stands for what was there when it began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._chat import Chat, call, dict_of, picture, summary, text_of, text_part, told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..messages.types import Transcript
    from ._account import Account
    from ._records import Record

_AREAS = ("session", "user", "assistant", "tool", "system", "hook", "subagent", "skill", "permission")

_TOLD = {
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


def read(records: Iterable[Record], *, whole: bool) -> Transcript:
    """Return the messages of the prompt; `whole` keeps those that a compaction replaced."""
    session = _Session(Chat(whole))
    for record in records:
        value = record.value
        if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
            session.chat.skip(record, "no event")
        elif value.get("agentId") or value["data"].get("parentToolCallId"):
            session.chat.account.leave("subagent", value.get("type"))
        else:
            kind = text_of(value.get("type"))
            if kind in _TOLD:
                session.chat.account.fields(value, ("data",), kind)
                session.chat.account.fields(value["data"], _TOLD[kind], kind)
            session.add(kind, value["data"])
    return session.chat.transcript("copilot_cli", system=session.system)


@dataclass(slots=True)
class _Session:
    """The session so far.

    Attributes:
        chat: its messages.
        system: the last system prompt; each turn repeats it.
        mark: number of messages at the start of the current compaction.
    """

    chat: Chat
    system: str | None = None
    mark: int | None = None

    def add(self, kind: str, data: dict[str, Any]) -> None:
        """Add an event's data."""
        content = text_of(data.get("content"))
        if kind == "user.message":
            self.chat.say("user", text_of(data.get("transformedContent")) or content)
        elif kind == "system.notification":
            self.chat.say("user", content)
        elif kind == "system.message":
            self.system = content or self.system
        elif kind == "assistant.message":
            self._answer(data, content)
        elif kind == "tool.execution_complete":
            self.chat.result(text_of(data.get("toolCallId")), _content(data, self.chat.account))
        elif kind == "session.compaction_start":
            self.mark = len(self.chat.messages)
        elif kind == "session.compaction_complete":
            self._compact(data)
        elif kind in ("session.start", "session.model_change"):
            self.chat.model = text_of(data.get("newModel") or data.get("selectedModel")) or self.chat.model
        else:
            self.chat.account.leave(kind)

    def _answer(self, data: dict[str, Any], content: str) -> None:
        """Add a model's message with its calls."""
        requests = self.chat.account.objects(data.get("toolRequests"), "assistant.message", "toolRequests")
        for made in requests:
            self.chat.account.fields(made, _REQUEST, "toolRequests")
        calls = [
            call(text_of(made.get("toolCallId")), text_of(made.get("name")), made.get("arguments")) for made in requests
        ]
        self.chat.model = text_of(data.get("model")) or self.chat.model
        self.chat.answer(content, calls, text_of(data.get("reasoningText")))

    def _compact(self, data: dict[str, Any]) -> None:
        """Replace the messages from before the compaction's start; ignore a failed compaction."""
        text = text_of(data.get("summaryContent"))
        mark, self.mark = self.mark, None
        if data.get("success") and text:
            self.chat.compact([summary(text)], self.chat.messages[mark:] if mark is not None else ())
        else:
            self.chat.account.leave("session.compaction_complete", "failed")


def _content(data: dict[str, Any], account: Account) -> str | list[dict[str, Any]]:
    """Return a call's result or error as the model got it."""
    result, error = dict_of(data.get("result")), dict_of(data.get("error"))
    account.fields(result, _RESULT, "tool.execution_complete", "result")
    pictures = []
    for binary in account.objects(result.get("binaryResultsForLlm"), "tool.execution_complete"):
        if text_of(binary.get("mimeType")).startswith("image/") and text_of(binary.get("data")):
            pictures.append(picture(binary["mimeType"], binary["data"]))
        else:
            account.leave("tool.execution_complete", binary.get("type") or binary.get("mimeType"))
    return told([text_part(text_of(result.get("content")) or text_of(error.get("message"))), *pictures])
