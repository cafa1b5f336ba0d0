"""Sessions of Gemini CLI: ``~/.gemini/tmp/<project>/chats/session-*.json`` and, since 2026, ``.jsonl``.

The older file is one object with ``messages``. In the newer one a line is a message, which is repeated when it changes,
or a change of the list: ``$rewindTo`` removes the messages from an id on, ``$set`` replaces all messages, which is what
a compression does. Read are messages of user and model, calls with their results, images and usage (thoughts count as
output). Left out are thoughts, which are never sent again, and notices and errors of the program. The file does not
contain the system prompt and the tools. A compression of the older version leaves no trace.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..messages.usage import Usage
from ._builder import UNCHARGED, Builder, FileRecords
from ._gemini import GeminiBuilder
from ._parts import Content, call, dict_of, images_of, list_of, text_of, words_of

_UNSENT = ("info", "error", "warning")
_MESSAGE = ("content", "thoughts", "toolCalls")
_CALL = ("name", "args", "result", "description", "resultDisplay")  # the last two are for the screen


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether only a Gemini CLI session has such an object or line."""
    is_head = isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str)
    return is_head or (value.get("type") == "gemini" and "content" in value)


def read(records: FileRecords, *, whole: bool) -> Builder:
    """Return the messages after all changes; `whole` keeps those that a compression replaced."""
    session = _Session(whole=whole)
    for record in records:
        if not isinstance(record.value, dict) or not session.change(record.value):
            session.skip(record, "no message and no change of one")
    places: dict[str, range] = {}
    ends: list[str] = []
    for key, entry in session.entries.items():
        begins = len(session.messages)
        session.add(key, entry)
        places[key] = range(begins, len(session.messages))
        if key in session.ends:
            session.mark()
            ends.append(key)
    for context, key in zip(session.contexts, ends, strict=False):
        context += [at for kept in session.ends[key] for at in places.get(kept, ())]
    return session


@dataclass(slots=True)
class _Session(GeminiBuilder):
    """The messages in the file's shape, to which changes are applied, and then in Chat's shape.

    Attributes:
        entries: the file's messages by id, in order.
        replaced: ids of the messages before the last replacement: with `whole`, later prompts do not begin with this
            list; otherwise, usage of the kept messages is for another list.
        ends: by the id of the last message before each replacement, the ids of the new list.
        answered: ids of the calls with a result.
        open: function names of the open calls by id, oldest first: not all results have an id.
    """

    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)
    ends: dict[str, list[str]] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    open: dict[str, str] = field(default_factory=dict)

    def change(self, value: dict[str, Any]) -> bool:
        """Apply an object or line; return False if it does not belong to a session."""
        if isinstance(value.get("$rewindTo"), str):
            keys = list(self.entries)
            for key in keys[keys.index(value["$rewindTo"]) if value["$rewindTo"] in keys else 0 :]:
                self.leave(self.entries.pop(key).get("type"), "rewound")
        elif isinstance(value.get("$set"), dict):
            if isinstance(value["$set"].get("messages"), list):
                self._replace(self.objects(value["$set"]["messages"], "$set"))
            else:
                self.leave("$set", *sorted(value["$set"])[:3])
        elif isinstance(value.get("messages"), list):
            self._put(self.objects(value["messages"], "messages"))
        elif isinstance(value.get("type"), str) and "content" in value:
            self._put([value])
        elif recognizes(value):
            self.leave("session")
        else:
            return False
        return True

    def _put(self, entries: list[dict[str, Any]]) -> None:
        """Add messages; replace a known one in its place."""
        for entry in entries:
            self.entries[text_of(entry.get("id")) or f"message {len(self.entries)}"] = entry

    def _replace(self, entries: list[dict[str, Any]]) -> None:
        """Replace all messages by others, which may lack, shorten or insert some."""
        before, self.entries = self.entries, {}
        self._put(entries)
        stays = {key for key in before if before[key].get("content") == self.entries.get(key, {}).get("content")}
        if before.keys() != stays:
            self.replaced = set(before)
        if not before.keys() <= self.entries.keys():
            self.ends[[*before][-1]] = [*self.entries]
        if self.whole:
            new = {key: before.get(key, entry) for key, entry in self.entries.items()}
            self.entries = new if before.keys() <= new.keys() else before | new
        for key in before.keys() - self.entries.keys():
            self.leave(before[key].get("type"), "compacted")
        for entry in before.values():
            self.model = text_of(entry.get("model")) or self.model

    def add(self, key: str, entry: dict[str, Any]) -> None:
        """Add a message."""
        kind, parts = entry.get("type"), self.parts(entry.get("content"), entry.get("type"))
        if kind in _UNSENT:
            self.leave(kind)
            return
        self.leave_fields([entry], _MESSAGE, kind)
        if kind == "gemini":
            self._add_answer(key, entry, parts)
            return
        for response in filter(None, (dict_of(part.get("functionResponse")) for part in parts)):
            name = text_of(response.get("name"))
            ref = text_of(response.get("id")) or next((ref for ref, each in self.open.items() if each == name), "")
            if ref and ref not in self.answered:  # the result may also be stored with its call
                self._add_result(ref, self.content([{"functionResponse": response}], "result"))
        self.say("user", self.content([part for part in parts if "functionResponse" not in part], kind))

    def _add_answer(self, key: str, entry: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        """Add a model's message, its calls, and the results stored with them."""
        if self.replaced and self.whole:
            self.is_prompt = self.is_prompt and key in self.replaced
        is_of_list = self.whole or key not in self.replaced
        charged = Usage.recorded(entry.get("tokens")) if is_of_list else UNCHARGED
        self.model = text_of(entry.get("model")) or self.model
        self.leave("gemini", "thoughts", count=len(list_of(entry.get("thoughts"))))
        made = self.objects(entry.get("toolCalls"), "gemini", "toolCalls")
        for each in made:
            self.leave_fields([each], _CALL, "toolCalls")
        made = made or [function for part in parts if (function := dict_of(part.get("functionCall")))]
        content = self.content([part for part in parts if "functionCall" not in part], "gemini")
        self.leave("gemini/picture", count=len(images_of(content)))
        named = [(text_of(each.get("id")) or f"{key}_{n}", each) for n, each in enumerate(made)]
        calls = [call(ref, each.get("name"), each.get("args")) for ref, each in named]
        self.answer(words_of(content), calls, charged=charged)
        for ref, each in named:
            self.open[ref] = text_of(each.get("name"))
            if result := self.parts(each.get("result"), "result"):
                self._add_result(ref, self.content(result, "result"))

    def _add_result(self, ref: str, content: Content) -> None:
        """Add a call's result and close the call."""
        self.answered.add(ref)
        self.open.pop(ref, None)
        self.result(ref, content)
