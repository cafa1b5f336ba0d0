"""Gemini CLI sessions: ``~/.gemini/tmp/<project>/chats/session-*.json`` and, since 2026, ``.jsonl``.

The older file is one object with ``messages``; the newer one has a line a change, in which a message stands as often
as it changed, ``$rewindTo`` takes messages back and ``$set`` replaces all of them, as a compression does. Mapped: what
the user and the model said, calls with their results, pictures, and what each answer was charged (thoughts count as
output). Left out: thoughts, which are never sent again; notices and errors of the program; the system prompt and the
tools, which are not in the file. A compression of the older version leaves no trace.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._chat import Chat, call, dict_of, list_of, picture, sum_of, text_of, text_part, told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..messages.types import Transcript
    from ._account import Account
    from ._records import Record

_UNSENT = ("info", "error", "warning")
_TOLD = ("content", "thoughts", "toolCalls")
_CALL = ("name", "args", "result", "description", "resultDisplay")  # the last two are for the screen


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether only a Gemini CLI session has such an object or line."""
    is_head = isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str)
    return is_head or (value.get("type") == "gemini" and "content" in value)


def read(records: Iterable[Record], *, whole: bool) -> Transcript:
    """Return the messages after all changes; `whole` keeps those that a compression replaced."""
    chat = Chat(whole)
    log = _Log(whole, chat.account)
    for record in records:
        if not isinstance(record.value, dict) or not log.add(record.value):
            chat.skip(record, "no message and no change of one")
    session = _Session(chat, log.replaced)
    for ref, message in log.messages.items():
        session.add(ref, message)
        if ref in log.ends:
            chat.mark()
    return chat.transcript("gemini_cli")


@dataclass(slots=True)
class _Log:
    """The messages by id, to which changes are applied.

    Attributes:
        whole: whether replaced messages stay.
        account: counts of omitted contents.
        messages: the session's messages, in order.
        replaced: ids of the messages before the last replacement: with `whole`, later prompts do not begin with this
            list; otherwise, usage of the kept messages is for another list.
        ends: ids of the last message before each replacement.
    """

    whole: bool
    account: Account
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)
    ends: set[str] = field(default_factory=set)

    def add(self, value: dict[str, Any]) -> bool:
        """Apply an object or line; return False if it does not belong to a session."""
        if isinstance(value.get("$rewindTo"), str):
            keys = list(self.messages)
            for key in keys[keys.index(value["$rewindTo"]) if value["$rewindTo"] in keys else 0 :]:
                self.account.leave(self.messages.pop(key).get("type"), "rewound")
        elif isinstance(value.get("$set"), dict):
            if isinstance(value["$set"].get("messages"), list):
                self._replace(self.account.objects(value["$set"]["messages"], "$set"))
            else:
                self.account.leave("$set", *sorted(value["$set"])[:3])
        elif isinstance(value.get("messages"), list):
            self._put(self.account.objects(value["messages"], "messages"))
        elif isinstance(value.get("type"), str) and "content" in value:
            self._put([value])
        else:
            is_head = recognizes(value)
            self.account.leave("session", count=int(is_head))
            return is_head
        return True

    def _put(self, messages: Sequence[dict[str, Any]]) -> None:
        """Add messages; replace a known one in its place."""
        for message in messages:
            self.messages[text_of(message.get("id")) or f"message {len(self.messages)}"] = message

    def _replace(self, messages: Sequence[dict[str, Any]]) -> None:
        """Replace all messages by others, which may lack, shorten or insert some."""
        before, self.messages = self.messages, {}
        self._put(messages)
        stays = {key for key in before if before[key].get("content") == self.messages.get(key, {}).get("content")}
        if before.keys() != stays:
            self.replaced = set(before)
        if not before.keys() <= self.messages.keys():
            self.ends.add([*before][-1])
        if self.whole:
            new = {key: before.get(key, message) for key, message in self.messages.items()}
            self.messages = new if before.keys() <= new.keys() else before | new
        for key in before.keys() - self.messages.keys():
            self.account.leave(before[key].get("type"), "compacted")


@dataclass(slots=True)
class _Session:
    """The messages in Chat's shape.

    Attributes:
        chat: messages so far.
        replaced: see `_Log`.
        answered: ids of the calls with a result.
        waiting: ids of open calls by function name, oldest first: not all results have an id.
    """

    chat: Chat
    replaced: set[str]
    answered: set[str] = field(default_factory=set)
    waiting: dict[str, list[str]] = field(default_factory=dict)

    def add(self, key: str, message: dict[str, Any]) -> None:
        """Add a message."""
        parts = _parts(message.get("content"), self.chat.account, message.get("type"))
        if message.get("type") not in _UNSENT:
            self.chat.account.fields(message, _TOLD, message.get("type"))
        if message.get("type") == "gemini":
            self._answer(key, message, parts)
        elif message.get("type") in _UNSENT:
            self.chat.account.leave(message["type"])
        else:
            for part in parts:
                if response := dict_of(part.get("functionResponse")):
                    self._result(response)
            self.chat.say("user", self._told([part for part in parts if "functionResponse" not in part], message))

    def _answer(self, key: str, message: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        """Add a model's message, its calls, and the results stored with them."""
        tokens = dict_of(message.get("tokens"))
        if self.replaced and self.chat.whole:
            self.chat.is_prompt = self.chat.is_prompt and key in self.replaced
        is_of_list = self.chat.whole or key not in self.replaced
        charged = sum_of(tokens, "input") if is_of_list else 0, sum_of(tokens, "output", "thoughts")
        self.chat.model = text_of(message.get("model")) or self.chat.model
        self.chat.account.leave("gemini", "thoughts", count=len(list_of(message.get("thoughts"))))
        made = self.chat.account.objects(message.get("toolCalls"), "gemini", "toolCalls")
        for each in made:
            self.chat.account.fields(each, _CALL, "toolCalls")
        if not made:
            made = [function for part in parts if (function := dict_of(part.get("functionCall")))]
        refs = [text_of(each.get("id")) or f"{key}_{n}" for n, each in enumerate(made)]
        names = [text_of(each.get("name")) for each in made]
        said = _said([part for part in parts if "functionCall" not in part], self.chat.account, "gemini")
        words = "\n".join(part["text"] for part in said if part["type"] == "text" and part["text"])
        self.chat.account.leave("gemini/picture", count=sum(part["type"] != "text" for part in said))
        calls = [call(ref, name, each.get("args")) for ref, name, each in zip(refs, names, made, strict=True)]
        self.chat.answer(words, calls, charged=charged)
        for ref, name, each in zip(refs, names, made, strict=True):
            self.waiting.setdefault(name, []).append(ref)
            result = _parts(each.get("result"), self.chat.account, "result")
            if result:
                self._close(ref, name, self._told(result, {"type": "result"}))

    def _told(self, parts: list[dict[str, Any]], message: dict[str, Any]) -> str | list[dict[str, Any]]:
        return told(_said(parts, self.chat.account, message.get("type")))

    def _result(self, response: dict[str, Any]) -> None:
        """Add a result from a user's turn, unless it is also stored with its call."""
        name = text_of(response.get("name"))
        ref = text_of(response.get("id")) or next(iter(self.waiting.get(name, [])), "")
        if ref and ref not in self.answered:
            self._close(ref, name, _output(response))

    def _close(self, ref: str, name: str, content: str | list[dict[str, Any]]) -> None:
        self.answered.add(ref)
        if ref in self.waiting.get(name, []):
            self.waiting[name].remove(ref)
        self.chat.result(ref, content)


def _parts(content: Any, account: Account, kind: object) -> list[dict[str, Any]]:
    """Return the parts of a content: a text, a part, or a list of both."""
    entries = content if isinstance(content, list) else [content]
    parts = [text_part(e) if isinstance(e, str) else e for e in entries if isinstance(e, (str, dict))]
    account.leave(kind, "no part", count=len(entries) - len(parts) - (content is None))
    return parts


def _said(parts: Sequence[dict[str, Any]], account: Account, kind: object) -> list[dict[str, Any]]:
    """Return parts in Chat's shape: texts, images and results; another file becomes text with its URI."""
    said = []
    for part in parts:
        blob, file = dict_of(part.get("inlineData")), dict_of(part.get("fileData"))
        if isinstance(part.get("text"), str) and not part.get("thought"):
            said.append(text_part(part["text"]))
        elif text_of(blob.get("mimeType")).startswith("image/"):
            said.append(picture(blob["mimeType"], text_of(blob.get("data"))))
        elif blob or file:
            said.append(text_part(f"[{text_of((blob or file).get('mimeType'))}: {text_of(file.get('fileUri'))}]"))
        elif "functionResponse" in part:
            said.append(text_part(_output(dict_of(part["functionResponse"]))))
        else:
            account.leave(kind, "thought" if part.get("thought") else next(iter(part), "an empty part"))
    return said


def _output(response: dict[str, Any]) -> str:
    """Return a function's output as text."""
    given = response.get("response")
    if isinstance(given, dict) and len(given) == 1 and isinstance(text := next(iter(given.values())), str):
        return text
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
