"""Sessions of Qwen Code: ``~/.qwen/projects/<project>/chats/<id>.jsonl``.

A line is a record with the ``uuid`` of the one before it: ``user``, ``assistant`` and ``tool_result`` hold a content
in Gemini's shape, ``system`` holds what the program did. The prompt is the path to the last record, so that what was
rewound is not in it. A compression (``chat_compression``) stores the list that stands for all before it. Read are
messages of user and model, calls with their results, images, usage (thoughts count as output) and the window. Left
out are thoughts, which are never sent again, and what subagents wrote. The file does not contain the system prompt
and the tools.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..messages.usage import Usage
from ._builder import UNCHARGED, Builder, FileRecords
from ._gemini import GeminiBuilder
from ._parts import call, dict_of, images_of, text_of, words_of

_TYPES = ("user", "assistant", "tool_result", "system")

_RECORD = ("message", "systemPayload", "toolCallResult", "usageMetadata", "gitBranch", "cwd", "promptId", "goalContext")
"""Fields of a record that are read, that repeat its message for the screen, or that say where it was written."""

_MESSAGE = ("role", "parts")


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether only a Qwen Code session has such a line."""
    is_record = value.get("type") in _TYPES and all(isinstance(value.get(key), str) for key in ("uuid", "sessionId"))
    return is_record and ("systemPayload" in value or isinstance(dict_of(value.get("message")).get("parts"), list))


def read(records: FileRecords, *, whole: bool) -> Builder:
    """Return the messages on the path to the last record; `whole` keeps those that a compression replaced."""
    session = _Session(whole=whole)
    for value in session.path(records):
        session.add(value)
    return session


@dataclass(slots=True)
class _Session(GeminiBuilder):
    """The messages in Chat's shape.

    Attributes:
        open: function names of the open calls by id, oldest first: not all results have an id.
    """

    open: dict[str, str] = field(default_factory=dict)

    def path(self, records: FileRecords) -> list[dict[str, Any]]:
        """Return the records from the first to the last one, by their links."""
        found: dict[str, dict[str, Any]] = {}
        for record in records:
            value = record.value
            if not isinstance(value, dict) or value.get("type") not in _TYPES or not isinstance(value.get("uuid"), str):
                self.skip(record, "no record of Qwen Code")
            elif value.get("isSidechain") or value.get("agentId"):
                self.leave("subagent")
            elif value["uuid"] in found and isinstance(value.get("message"), dict):
                self._join(found[value["uuid"]], value)
            else:
                found.setdefault(value["uuid"], value)
        path: list[dict[str, Any]] = []
        key = next(reversed(found), None)
        while key in found and key is not None:
            path.append(found.pop(key))
            key = path[-1].get("parentUuid")
        for value in found.values():
            self.leave(value.get("type"), value.get("subtype"), "rewound")
        return path[::-1]

    def _join(self, first: dict[str, Any], more: dict[str, Any]) -> None:
        """Add the parts of a record to those of the one with its id, which may have been written in pieces."""
        before = dict_of(first.get("message"))
        parts = [*self.parts(before.get("parts"), "message"), *self.parts(more["message"].get("parts"), "message")]
        first.update({**more, "parentUuid": first.get("parentUuid"), "message": {**before, "parts": parts}})

    def add(self, value: dict[str, Any]) -> None:
        """Add a record."""
        self.name_window(value.get("contextWindowSize"))
        self.model = text_of(value.get("model")) or self.model
        payload = dict_of(value.get("systemPayload"))
        if value["type"] == "system":
            history = payload.get("compressedHistory")
            if value.get("subtype") != "chat_compression" or not isinstance(history, list):
                self.leave("system", value.get("subtype"))
                return
            head = _Session()
            for content in self.objects(history, "compressedHistory"):
                head.say_content(content)
            self.compact(head.messages)
            return
        message = dict_of(value.get("message"))
        self.leave_fields([value], _RECORD, value["type"])
        self.leave_fields([message], _MESSAGE, value["type"], "message")
        self.say_content(message, Usage.recorded(value.get("usageMetadata")))

    def say_content(self, content: dict[str, Any], charged: Usage = UNCHARGED) -> None:
        """Add a content: results first, because the text behind them answers nothing."""
        parts = self.parts(content.get("parts"), content.get("role"))
        if content.get("role") == "model":
            self._add_answer(parts, charged)
            return
        for response in filter(None, (dict_of(part.get("functionResponse")) for part in parts)):
            name = text_of(response.get("name"))
            ref = text_of(response.get("id")) or next((ref for ref, each in self.open.items() if each == name), "")
            self.open.pop(ref, None)
            self.result(ref, self.content([{"functionResponse": response}], "result"))
        self.say("user", self.content([part for part in parts if "functionResponse" not in part], "user"))

    def _add_answer(self, parts: list[dict[str, Any]], charged: Usage) -> None:
        made = [function for part in parts if (function := dict_of(part.get("functionCall")))]
        content = self.content([part for part in parts if "functionCall" not in part], "model")
        self.leave("model/picture", count=len(images_of(content)))
        named = [(text_of(each.get("id")) or f"call_{len(self.messages)}_{n}", each) for n, each in enumerate(made)]
        self.open.update((ref, text_of(each.get("name"))) for ref, each in named)
        calls = [call(ref, each.get("name"), each.get("args")) for ref, each in named]
        self.answer(words_of(content), calls, charged=charged)
