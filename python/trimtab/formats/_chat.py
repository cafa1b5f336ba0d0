"""OpenAI Chat messages out of formats that have a shape of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import MessageError
from ..messages.types import Charged, Skipped, Transcript
from ._account import Account

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ._records import Record

PICTURES = "[pictures of the results above]"


@dataclass(slots=True)
class Chat:
    """A conversation while it is put together.

    Attributes:
        whole: what a compaction replaced stays.
        messages: what was said so far.
        usage: what calls were charged.
        skipped: what could not be read.
        model: the model that spoke last.
        is_prompt: the messages are what a call would send; not so with compacted ones among them.
        compactions: where what a compaction replaced ends, where it stays.
        pictures: of the results at the end: a tool message takes text only, and nothing may stand between results.
        account: what is left out.
    """

    whole: bool = False
    messages: list[dict[str, Any]] = field(default_factory=list)
    usage: list[Charged] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    model: str | None = None
    is_prompt: bool = True
    compactions: list[int] = field(default_factory=list)
    pictures: list[dict[str, Any]] = field(default_factory=list)
    account: Account = field(default_factory=Account)

    def say(self, role: str, content: str | Sequence[dict[str, Any]]) -> None:
        """Adds what a user or the system says; nothing if it says nothing."""
        if content:
            self._show()
            self.messages.append({"role": role, "content": content if isinstance(content, str) else list(content)})

    def answer(
        self,
        text: str,
        calls: Sequence[dict[str, Any]] = (),
        reasoning: str = "",
        *,
        charged: tuple[Any, Any] = (0, 0),
    ) -> None:
        """Adds what the model says, and what it was charged for prompt and output.

        Reasoning alone has no effect on a prompt. A call without an id gets one, but its result cannot be found.
        """
        if not text and not calls:
            self.account.leave("reasoning alone", count=int(bool(reasoning)))
            return
        self._show()
        prompt, output = (count if isinstance(count, int) else 0 for count in charged)
        if prompt > 0 and self.is_prompt:
            self.usage.append(Charged(len(self.messages), prompt, output))
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if reasoning:
            message["reasoning_content"] = reasoning
        if calls:
            place = len(self.messages)
            message["tool_calls"] = [{**each, "id": each["id"] or f"call_{place}_{n}"} for n, each in enumerate(calls)]
        self.messages.append(message)

    def result(self, ref: str, content: str | Sequence[dict[str, Any]]) -> None:
        """Adds what a call gave; its pictures come in a user message behind the last result."""
        if not isinstance(content, str):
            self.pictures += [part for part in content if part["type"] != "text"]
            content = "\n".join(part["text"] for part in content if part["type"] == "text")
        self.messages.append({"role": "tool", "tool_call_id": ref, "content": content})

    def compact(self, head: Sequence[dict[str, Any]], tail: Sequence[dict[str, Any]] = ()) -> None:
        """Begins anew with what a compaction left: `head`, which is new but for what stands first, then `tail`.

        With `whole` all stays, and behind it comes what is new.
        """
        self.mark()
        if self.whole:
            known = {id(message) for message in self.messages}
            self.messages += [message for message in head if id(message) not in known]
            self.is_prompt = False
        else:
            kept = {id(message) for message in (*head, *tail)}
            gone = sum(id(message) not in kept for message in self.messages)
            self.account.leave("compacted messages", count=gone)
            self.messages = [*head, *tail]
            self.usage = []

    def mark(self) -> None:
        """Notes that a compaction replaced what was said so far, where that stays."""
        self._show()
        if self.whole:
            self.compactions.append(len(self.messages))

    def skip(self, record: Record, what: str) -> None:
        """Names a part of a record that could not be read."""
        self.skipped.append(Skipped(record.line, record.offset, what))

    def transcript(self, format: str, *, system: str | None = None, tools: Any = None) -> Transcript:
        """All of it, for `read` to repair."""
        self._show()
        return Transcript(
            self.messages,
            "openai_chat",
            format,
            model=self.model,
            system=system,
            tools=tools if isinstance(tools, list) and tools else None,
            usage=self.usage,
            skipped=self.skipped,
            compactions=self.compactions,
            left_out=self.account.kinds,
        )

    def _show(self) -> None:
        pictures, self.pictures = self.pictures, []
        if pictures:
            self.messages.append({"role": "user", "content": [text_part(PICTURES), *pictures]})


def single(
    records: Iterable[Record], recognizes: Callable[[dict[str, Any]], bool]
) -> tuple[list[Record], list[Skipped]]:
    """The record that holds the whole session, if there is one; the others are named.

    Raises:
        MessageError: there are several.
    """
    found: list[Record] = []
    others: list[Skipped] = []
    for record in records:
        if isinstance(record.value, dict) and recognizes(record.value):
            found.append(record)
        else:
            others.append(Skipped(record.line, record.offset, "not part of the session"))
    if len(found) > 1:
        places = ", ".join(f"line {record.line} (byte {record.offset})" for record in found[:5])
        raise MessageError(f"{len(found)} sessions in one file, from {places}", hint="read one session at a time")
    return found, others


def call(ref: str, name: str, arguments: Any) -> dict[str, Any]:
    """One entry of ``tool_calls``; arguments that are no text yet become JSON."""
    given = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return {"id": ref, "type": "function", "function": {"name": name, "arguments": given}}


def text_part(text: str) -> dict[str, Any]:
    """A part of a content that holds words."""
    return {"type": "text", "text": text}


def picture(mime: str, data: str) -> dict[str, Any]:
    """A part of a content that holds a picture, from its base64."""
    return {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}}


def told(parts: Iterable[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """A content: words alone as one string, as most say it."""
    kept = [part for part in parts if part["type"] != "text" or part["text"]]
    if all(part["type"] == "text" for part in kept):
        return "\n".join(part["text"] for part in kept)
    return kept


def text_of(value: object) -> str:
    """A name or a text; a file may hold anything in its place."""
    return value if isinstance(value, str) else ""


def parts_of(value: object) -> list[dict[str, Any]]:
    """The parts of a content that is in this shape already."""
    parts = [part for part in list_of(value) if isinstance(part.get("type"), str)]
    return [part for part in parts if isinstance(part.get("text"), str) or part["type"] not in ("text", "refusal")]


def dict_of(value: object) -> dict[str, Any]:
    """An object, empty if a file has anything else in its place."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[dict[str, Any]]:
    """The objects of a list, where nothing else that stands in it could be sent (see `Account.objects`)."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def sum_of(counts: dict[str, Any], *names: str) -> int:
    """The sum of some of a usage's counts, where they are there."""
    return sum(counts[name] for name in names if isinstance(counts.get(name), int))


def summary(text: str) -> dict[str, Any]:
    """The message that stands for what a compaction removed."""
    return {"role": "user", "content": f"<summary>\n{text}\n</summary>"}
