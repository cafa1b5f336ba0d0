"""Build OpenAI Chat messages from formats with their own message shape."""

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
    """A conversation under construction.

    Attributes:
        whole: whether compacted messages stay.
        messages: messages so far.
        usage: usage of the calls.
        skipped: unreadable parts.
        model: the last model.
        is_prompt: whether the messages are a real prompt, without compacted ones.
        compactions: positions after the messages that each compaction replaced, with ``whole``.
        pictures: images of the last results: a tool message holds text only, and results must be adjacent.
        account: counts of omitted contents.
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
        """Add a user or system message, unless it is empty."""
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
        """Add a model's message, and its usage as prompt and output tokens.

        A message with reasoning alone is omitted. A call without an id gets one, but no result will match it.
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
        """Add a call's result; its images follow in a user message after the last result."""
        if not isinstance(content, str):
            self.pictures += [part for part in content if part["type"] != "text"]
            content = "\n".join(part["text"] for part in content if part["type"] == "text")
        self.messages.append({"role": "tool", "tool_call_id": ref, "content": content})

    def compact(self, head: Sequence[dict[str, Any]], tail: Sequence[dict[str, Any]] = ()) -> None:
        """Replace the messages by those a compaction left: `head`, which may repeat the first ones, then `tail`.

        With `whole`, keep all messages and append the new ones.
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
        """Record the position of a compaction, with `whole`."""
        self._show()
        if self.whole:
            self.compactions.append(len(self.messages))

    def skip(self, record: Record, what: str) -> None:
        """Record an unreadable part of a record."""
        self.skipped.append(Skipped(record.line, record.offset, what))

    def transcript(self, format: str, *, system: str | None = None, tools: Any = None) -> Transcript:
        """Return the transcript, before repair."""
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
    """Return the record that holds the whole session, if there is one, and skip the others.

    Raises:
        MessageError: several records hold a session.
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
    """Return an entry of ``tool_calls``; arguments become JSON text."""
    given = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return {"id": ref, "type": "function", "function": {"name": name, "arguments": given}}


def calls_of(message: dict[str, Any], account: Account) -> list[dict[str, Any]]:
    """Return the calls of a message that is in Chat's shape."""
    return [
        call(text_of(entry.get("id")), text_of(function.get("name")), function.get("arguments"))
        for entry in account.objects(message.get("tool_calls"), "tool_calls")
        if (function := dict_of(entry.get("function")))
    ]


def joined(parts: Iterable[dict[str, Any]], kind: str) -> str:
    """Return the texts of the parts of one type, one per line; the text of a thinking part is in ``thinking``."""
    name = kind if kind == "thinking" else "text"
    return "\n".join(text_of(part.get(name)) for part in parts if part.get("type") == kind)


def text_part(text: str) -> dict[str, Any]:
    """Return a text part of a content."""
    return {"type": "text", "text": text}


def picture(mime: str, data: str) -> dict[str, Any]:
    """Return an image part of a content, from base64."""
    return {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}}


def told(parts: Iterable[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Return the parts as a content: text alone becomes one string."""
    kept = [part for part in parts if part["type"] != "text" or part["text"]]
    if all(part["type"] == "text" for part in kept):
        return "\n".join(part["text"] for part in kept)
    return kept


def text_of(value: object) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def parts_of(value: object) -> list[dict[str, Any]]:
    """Return the valid parts of a content in Chat's shape."""
    parts = [part for part in list_of(value) if isinstance(part.get("type"), str)]
    return [part for part in parts if isinstance(part.get("text"), str) or part["type"] not in ("text", "refusal")]


def dict_of(value: object) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list; `Account.objects` also counts the other entries."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def sum_of(counts: dict[str, Any], *names: str) -> int:
    """Return the sum of a usage's counts with these names."""
    return sum(counts[name] for name in names if isinstance(counts.get(name), int))


def summary(text: str) -> dict[str, Any]:
    """Return the message with a compaction's summary."""
    return {"role": "user", "content": f"<summary>\n{text}\n</summary>"}
