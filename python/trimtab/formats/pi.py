"""Sessions of pi, a coding agent: ``~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl``, versions 1 to 3.

A line is an entry: a header (``session``), a ``message``, a ``custom_message`` of an extension, a ``branch_summary``, a
``compaction``, a ``model_change`` or a setting. Entries form a tree; the path from the root to the last entry is the
prompt. Where an entry follows one that was never written, or a cycle, the nearest earlier entry takes its place. A
compaction has a summary, and names the first entry that was kept after it.

Read are messages of user, agent and tools, thinking, commands of the user, messages of extensions, summaries of
abandoned branches, images and usage. Left out are entries on other branches, settings, labels, states of extensions,
failed and aborted answers (pi does not send them again), commands run with ``!!`` and signatures of thinking. The file
does not contain the system prompt and the tools.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..messages.usage import Usage
from ._builder import Builder, FileRecords
from ._chain import nearest
from ._parts import Content, base64_part, call, content_of, dict_of, joined, summary, text_of, text_part
from ._record import FileRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

_ENTRY = ("message", "content", "summary", "details")  # details are for the screen
_MESSAGE = ("content", "command", "output", "summary", "details", "errorMessage")


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether only a pi session has such a line."""
    if value.get("type") == "session":
        return isinstance(value.get("id"), str) and "cwd" in value
    return value.get("type") == "message" and isinstance(dict_of(value.get("message")).get("role"), str)


def read(records: FileRecords, *, whole: bool) -> Builder:
    """Return the messages on the path to the last entry; `whole` keeps those that a compaction replaced."""
    session = _Session(whole=whole)
    path = session.path(records)
    ends = [i for i, entry in enumerate(path) if entry.kind == "compaction" and not whole]
    last = first = ends[-1] if ends else -1
    if ends:
        first = _first_kept(path, last)
        session.say(**summary(path[last].value.get("summary")))
    before = (_model(entry) for entry in reversed(path[: max(first, 0)]))
    session.model = next(filter(None, before), None)
    begins: list[int] = []
    for i, entry in enumerate(path):
        begins.append(len(session.messages))
        if not whole:
            session.is_prompt = i > last  # kept messages followed others in their prompts
        if i < first:
            session.leave(entry.kind, "compacted")
        elif i > last or entry.kind != "compaction":
            tail = _first_kept(path, i) if whole and entry.kind == "compaction" else i
            session.add(entry.value, session.messages[begins[tail] :])
    return session


def _first_kept(path: list[_Entry], last: int) -> int:
    """Return the place on the path of the first entry that the compaction there kept; its own place without one."""
    compaction = path[last].value
    starts = (i for is_first in (_is_first, _follows_first) for i in range(last) if is_first(path[i], compaction))
    return next(starts, last)


@dataclass(slots=True, eq=False)
class _Entry(FileRecord):
    """An entry's position in the tree.

    Attributes:
        number: number of the entry in the file, which version 1 refers to.
        key: its id, or a generated name.
        parent: the id of the entry it follows.
        kind: its type.
    """

    key: str
    parent: str
    kind: str


def _is_first(entry: _Entry, compaction: dict[str, Any]) -> bool:
    """Return whether a compaction kept the entries from this one on; version 1 counts lines with the header."""
    if isinstance(compaction.get("firstKeptEntryIndex"), int):
        return bool(entry.number == compaction["firstKeptEntryIndex"])
    return bool(entry.key == compaction.get("firstKeptEntryId"))


def _follows_first(entry: _Entry, compaction: dict[str, Any]) -> bool:
    """Return whether an entry follows the first that a compaction kept, which was never written."""
    return bool(entry.parent and entry.parent == compaction.get("firstKeptEntryId"))


def _role(message: dict[str, Any]) -> str:
    """Return a message's role; one that was lost, as some extensions lose it, is a result's where it answers a call."""
    return text_of(message.get("role")) or ("toolResult" if text_of(message.get("toolCallId")) else "")


def _model(entry: _Entry) -> str:
    """Return the model that an entry names, empty if it names none."""
    if entry.kind not in ("message", "model_change"):
        return ""
    return text_of(entry.value.get("modelId")) or text_of(dict_of(entry.value.get("message")).get("model"))


class _Session(Builder):
    """The messages in Chat's shape."""

    def path(self, records: FileRecords) -> list[_Entry]:
        """Return the entries from the root to the last one; entries of version 1 have no ids and form one path."""
        entries: dict[str, _Entry] = {}
        kinds: dict[str, str] = {}
        last = ""
        for number, record in enumerate(records):
            value = record.value
            if not isinstance(value, dict) or not isinstance(value.get("type"), str):
                self.skip(record, "no entry")
            elif value["type"] == "message" and not _role(dict_of(value.get("message"))):
                self.skip(record, "no message in it")
            elif value["type"] == "session":
                self.leave("session")
            else:
                key = text_of(value.get("id")) or f"entry {number}"
                parent = text_of(value.get("parentId", last))
                parent = entries[parent].key if parent in entries else parent
                kind = kinds.setdefault(value["type"], value["type"])
                entries[key] = _Entry(number, record.offset, record.value, record.file, key, parent, kind)
                entries[key].release()
                last = key
        path: dict[str, _Entry] = {}
        order = sorted(entries.values(), key=lambda entry: entry.number)
        at = entries.get(last)
        while at:
            path[at.key] = at
            above = entries.get(at.parent)
            is_broken = at.parent and (above is None or above.key in path)
            at = nearest(order, at.number, path) if is_broken else above
        for key in entries.keys() - path.keys():
            self.leave(entries[key].kind, "other branch")
        return list(path.values())[::-1]

    def add(self, entry: dict[str, Any], tail: Sequence[dict[str, Any]] = ()) -> None:
        """Add an entry; a compaction kept the messages of `tail`."""
        kind = entry["type"]
        self.leave_fields([entry], _ENTRY, kind)
        if kind == "message":
            self._add_message(entry["message"])
        elif kind == "custom_message":
            self.say("user", self._content(entry.get("content"), kind))
        elif kind == "branch_summary" and text_of(entry.get("summary")):
            self.say(**summary(entry["summary"]))
        elif kind == "compaction":
            self.compact([summary(entry["summary"])] if text_of(entry.get("summary")) else [], tail)
        elif kind == "model_change":
            self.model = text_of(entry.get("modelId")) or self.model
        else:
            self.leave(kind)

    def _add_message(self, message: dict[str, Any]) -> None:
        """Add a message by its role."""
        role, content = _role(message), message.get("content")
        self.leave_fields([message], _MESSAGE, "message", role)
        if role == "assistant":
            self._add_answer(message, self.objects(content, "message", role))
        elif role == "toolResult":
            self.result(message.get("toolCallId"), self._content(content, role))
        elif role == "bashExecution" and message.get("excludeFromContext"):
            self.leave("message", role, "excluded")
        elif role == "bashExecution":
            self.say("user", _command(message))
        elif role in ("branchSummary", "compactionSummary"):
            self.say(**summary(message.get("summary")))
        else:  # of the user, or of an extension in their name
            self.say("user", self._content(content, role))

    def _add_answer(self, message: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        """Add a model's message, unless it failed."""
        if message.get("stopReason") in ("error", "aborted"):
            self.leave("message/assistant", message["stopReason"])
            return
        for part in parts:
            if part.get("type") not in ("text", "thinking", "toolCall"):
                self.leave("message/assistant", part.get("type") or "without a type")
        charged = Usage.recorded(message.get("usage"))
        self.model = text_of(message.get("model")) or self.model
        made = [part for part in parts if part.get("type") == "toolCall"]
        calls = [call(part.get("id"), part.get("name"), part.get("arguments")) for part in made]
        self.answer(joined(parts, "text"), calls, joined(parts, "thinking", "thinking"), charged=charged)

    def _content(self, content: Any, role: str) -> Content:
        """Return the texts and images of a content; count other parts as omitted."""
        if isinstance(content, str):
            return content
        parts = []
        for part in self.objects(content, "message", role):
            if part.get("type") == "image":
                parts.append(base64_part(part.get("mimeType"), part.get("data")))
            elif part.get("type") == "text":
                parts.append(text_part(part.get("text")))
            else:
                self.leave("message", role, part.get("type") or "without a type")
        return content_of(parts)


def _command(message: dict[str, Any]) -> str:
    """Return a command that the user ran, with its output."""
    code = message.get("exitCode")
    end = "cancelled" if message.get("cancelled") else f"exit code {code}" if code else ""
    return "\n".join(filter(None, [f"$ {text_of(message.get('command'))}", text_of(message.get("output")), end]))
