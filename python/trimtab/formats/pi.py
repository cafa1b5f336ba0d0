"""pi sessions: ``~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl``, versions 1 to 3.

Entries make a tree; the last one is where the session stands, and the way to it from the root is the prompt. Mapped:
messages of user, agent and tools, thinking, commands that the user ran, messages of extensions, summaries of branches
that were left, pictures, and what each answer was charged. Left out: entries beside that way, settings, labels, states
of extensions, answers that failed or were aborted (pi does not send them again), commands run with ``!!``, signatures
of thinking, the system prompt and the tools, which are not in the file.

A compaction entry has a summary, and names the first of the entries that were kept behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._chat import Chat, call, dict_of, joined, picture, sum_of, summary, text_of, text_part, told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..messages.types import Transcript
    from ._account import Account
    from ._records import Record

_TOLD = ("message", "content", "summary", "details")  # details are for the screen
_SAID = ("content", "command", "output", "summary", "details", "errorMessage")


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether only a pi session has such a line."""
    if value.get("type") == "session":
        return isinstance(value.get("id"), str) and "cwd" in value
    return value.get("type") == "message" and isinstance(dict_of(value.get("message")).get("role"), str)


@dataclass(slots=True, eq=False)
class _Entry:
    """An entry's position in the tree.

    Attributes:
        at: number of the entry in the file, which version 1 refers to.
        key: its id, or a generated name.
        parent: the id of the entry it follows.
        kind: its type.
        record: the entry itself.
    """

    at: int
    key: str
    parent: str
    kind: str
    record: Record


def read(records: Iterable[Record], *, whole: bool) -> Transcript:
    """Return the messages on the path to the last entry; `whole` keeps those that a compaction replaced."""
    session = _Session(Chat(whole))
    path = _path(records, session.chat)
    ends = [i for i, entry in enumerate(path) if entry.kind == "compaction"]
    if not ends or whole:
        for entry in path:
            session.add(entry.record.value)
        return session.chat.transcript("pi")
    compaction = path[ends[-1]].record.value
    kept = [i for i in range(ends[-1]) if _is_first(path[i], compaction)]
    session.chat.say("user", _summary_text(compaction))
    session.chat.is_prompt = False  # the kept messages followed others in their prompts
    stays = kept[0] if kept else ends[-1]
    for entry in path[:stays]:
        session.chat.account.leave(entry.kind, "compacted")
    for entry in path[stays : ends[-1]]:
        if entry.kind != "compaction":
            session.add(entry.record.value)
    session.chat.is_prompt = True
    for entry in path[ends[-1] + 1 :]:
        session.add(entry.record.value)
    return session.chat.transcript("pi")


def _is_first(entry: _Entry, compaction: dict[str, Any]) -> bool:
    """Return whether a compaction kept the entries from this one on; version 1 counts lines with the header."""
    if isinstance(compaction.get("firstKeptEntryIndex"), int):
        return bool(entry.at == compaction["firstKeptEntryIndex"])
    return bool(entry.key == compaction.get("firstKeptEntryId"))


def _path(records: Iterable[Record], chat: Chat) -> list[_Entry]:
    """Return the entries from the root to the last one; entries of version 1 have no ids and form one path."""
    entries: dict[str, _Entry] = {}
    kinds: dict[str, str] = {}
    last = ""
    for at, record in enumerate(records):
        value = record.value
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            chat.skip(record, "no entry")
        elif value["type"] == "message" and not _is_message(value.get("message")):
            chat.skip(record, "no message in it")
        elif value["type"] == "session":
            chat.account.leave("session")
        else:
            key = text_of(value.get("id")) or f"entry {at}"
            parent = text_of(value.get("parentId", last))
            parent = entries[parent].key if parent in entries else parent
            entries[key] = _Entry(at, key, parent, kinds.setdefault(value["type"], value["type"]), record)
            last = key
        record.release()
    path: dict[str, _Entry] = {}
    while last in entries and last not in path:
        path[last] = entries[last]
        last = entries[last].parent
    for key in entries.keys() - path.keys():
        chat.account.leave(entries[key].kind, "other branch")
    return list(path.values())[::-1]


def _is_message(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("role"), str)


@dataclass(slots=True)
class _Session:
    """The messages in Chat's shape."""

    chat: Chat

    def add(self, entry: dict[str, Any]) -> None:
        """Add an entry."""
        kind = entry["type"]
        self.chat.account.fields(entry, _TOLD, kind)
        if kind == "message":
            self._say(entry["message"])
        elif kind == "custom_message":
            self.chat.say("user", told(_parts(entry.get("content"), self.chat.account, kind)))
        elif kind == "branch_summary" and text_of(entry.get("summary")):
            self.chat.say("user", summary(entry["summary"])["content"])
        elif kind == "compaction":
            self.chat.compact([summary(text)] if (text := text_of(entry.get("summary"))) else [])
        elif kind == "model_change":
            self.chat.model = text_of(entry.get("modelId")) or self.chat.model
        else:
            self.chat.account.leave(kind)

    def _say(self, message: dict[str, Any]) -> None:
        """Add a message by its role."""
        role, content, account = message["role"], message.get("content"), self.chat.account
        account.fields(message, _SAID, "message", role)
        if role == "assistant":
            self._answer(message, account.objects(content, "message", role))
        elif role == "toolResult":
            self.chat.result(text_of(message.get("toolCallId")), told(_parts(content, account, role)))
        elif role == "bashExecution":
            if message.get("excludeFromContext"):
                account.leave("message", role, "excluded")
            else:
                self.chat.say("user", _command(message))
        elif role in ("branchSummary", "compactionSummary"):
            self.chat.say("user", summary(text_of(message.get("summary")))["content"])
        else:  # of the user, or of an extension in their name
            self.chat.say("user", told(_parts(content, account, role)))

    def _answer(self, message: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        """Add a model's message."""
        if message.get("stopReason") in ("error", "aborted"):
            self.chat.account.leave("message/assistant", message["stopReason"])
            return
        for part in parts:
            if part.get("type") not in ("text", "thinking", "toolCall"):
                self.chat.account.leave("message/assistant", part.get("type") or "without a type")
        usage = dict_of(message.get("usage"))
        charged = sum_of(usage, "input", "cacheRead", "cacheWrite"), usage.get("output")
        self.chat.model = text_of(message.get("model")) or self.chat.model
        calls = [
            call(text_of(part.get("id")), text_of(part.get("name")), part.get("arguments"))
            for part in parts
            if part.get("type") == "toolCall"
        ]
        self.chat.answer(joined(parts, "text"), calls, joined(parts, "thinking"), charged=charged)


def _summary_text(entry: dict[str, Any]) -> str:
    return str(summary(text_of(entry.get("summary")))["content"])


def _parts(content: Any, account: Account, role: str) -> list[dict[str, Any]]:
    """Return the texts and images of a content; count other parts as omitted."""
    if isinstance(content, str):
        return [text_part(content)]
    parts = []
    for part in account.objects(content, "message", role):
        if part.get("type") == "image":
            parts.append(picture(text_of(part.get("mimeType")), text_of(part.get("data"))))
        elif part.get("type") == "text":
            parts.append(text_part(text_of(part.get("text"))))
        else:
            account.leave("message", role, part.get("type") or "without a type")
    return parts


def _command(message: dict[str, Any]) -> str:
    """Return a command that the user ran, with its output."""
    code = message.get("exitCode")
    end = "cancelled" if message.get("cancelled") else f"exit code {code}" if code else ""
    return "\n".join(filter(None, [f"$ {text_of(message.get('command'))}", text_of(message.get("output")), end]))
