"""Build a transcript, in OpenAI Chat's shape if the format has its own message shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import _core
from ..errors import MessageError
from ..messages.types import BilledCall, Charged, Skipped, Transcript
from ..messages.usage import Usage, is_tokens
from ._parts import Content, call, dict_of, images_of, text_of, text_part, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..models.provider import Provider
    from ._record import FileRecord

FileRecords: TypeAlias = "Iterable[FileRecord]"
"""The values of a file, in order."""

IMAGES = "[pictures of the results above]"

UNCHARGED = Usage()
"""Usage of a call of which a file says nothing, or whose prompt was another list."""

SMALLEST_WINDOW = 1_000
"""Tokens below which a number is no context window: system text and tools of an agent have more."""

MOST_KINDS, LONGEST = 1_000, 60
"""Limits on the number of kinds and the characters of each part of a name, because names come from the file."""


@dataclass(slots=True)
class Builder:
    """A transcript under construction.

    Attributes:
        whole: whether compacted messages stay.
        provider: the messages' shape.
        messages: messages so far.
        usage: usage of the calls.
        skipped: unreadable parts.
        model: the last model.
        system: the system prompt, if it is not a message.
        tools: tool definitions.
        window: the agent's own context window; the last one that the file names.
        default_window: the window that the agent gives a model unless it is told otherwise, if the file shows none.
        is_prompt: whether the messages are a real prompt, without compacted ones.
        compactions: positions after the messages that each compaction replaced, with ``whole``.
        contexts: of each of them, the positions of the messages that the prompt has right after it.
        images: images of the last results: a tool message holds text only, and results must be adjacent.
        left_out: counts of contents that no message holds, by kind: the file's own types, outermost first.
        calls: billed calls, also those whose prompt was another list.
        now: time of the entry that is read, in seconds since 1970; None if the reader knows none.
    """

    whole: bool = False
    provider: Provider = "openai_chat"
    messages: list[dict[str, Any]] = field(default_factory=list)
    usage: list[Charged] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    model: str | None = None
    system: str | list[dict[str, Any]] | None = None
    tools: Any = None
    window: int | None = None
    default_window: int | None = None
    is_prompt: bool = True
    compactions: list[int] = field(default_factory=list)
    contexts: list[list[int]] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    calls: list[BilledCall] = field(default_factory=list)
    now: float | None = None

    def leave(self, *names: object, count: int = 1) -> None:
        """Count omitted entries; parts of the name that are no text are ignored."""
        kind = "/".join(name[:LONGEST] for name in names if isinstance(name, str) and name) or "without a type"
        if kind not in self.left_out and len(self.left_out) >= MOST_KINDS:
            kind = "other kinds"
        if count > 0:
            self.left_out[kind] = self.left_out.get(kind, 0) + count

    def leave_fields(self, values: list[dict[str, Any]], known: Sequence[str], *names: object) -> None:
        """Count the unknown fields with text in entries that become messages: with a string of three words.

        Identifiers, numbers, times and settings do not count: they are not part of a prompt.
        """
        for name in _core.worded(values, known):
            self.leave(*names, name)

    def objects(self, value: object, *names: object) -> list[dict[str, Any]]:
        """Return the objects of a list, and count its other entries as omitted."""
        if value is None or value == "":
            return []
        entries = value if isinstance(value, list) else [value]
        found = [entry for entry in entries if isinstance(entry, dict)]
        self.leave(*names, "no object", count=len(entries) - len(found))
        return found

    def say(self, role: str, content: Content) -> None:
        """Add a user or system message, unless it is empty."""
        if content:
            self.show_images()
            self.messages.append({"role": role, "content": content})

    def answer(
        self,
        text: str,
        calls: Sequence[dict[str, Any]] = (),
        reasoning: str = "",
        *,
        charged: Usage = UNCHARGED,
    ) -> None:
        """Add a model's message, and the usage of its call.

        A message with reasoning alone is omitted. A call without an id gets one, but no result will match it.
        """
        if not text and not calls:
            self.leave("reasoning alone", count=int(bool(reasoning)))
            return
        self.show_images()
        self.charge(charged)
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if reasoning:
            message["reasoning_content"] = reasoning
        if calls:
            at = len(self.messages)
            message["tool_calls"] = [{**each, "id": each["id"] or f"call_{at}_{n}"} for n, each in enumerate(calls)]
        self.messages.append(message)

    def charge(self, usage: Usage, before: int | None = None) -> None:
        """Record the usage of a call whose prompt was the messages before `before`, by default all."""
        if not usage.prompt:
            return
        at = len(self.messages) if before is None else before
        self.calls.append(BilledCall(at, usage, self.model or "", self.now, len(self.compactions)))
        if self.is_prompt:
            self.usage.append(Charged(at, usage.prompt, usage.output, usage.earlier))

    def name_window(self, tokens: object, *, default: bool = False) -> None:
        """Record the agent's context window, or the one that it gives any model; ignore a value that cannot be one."""
        if not is_tokens(tokens) or tokens < SMALLEST_WINDOW:
            return
        if default:
            self.default_window = tokens
        else:
            self.window = tokens

    def result(self, ref: object, content: Content) -> None:
        """Add a call's result; its images follow in a user message after the last result."""
        self.images += images_of(content)
        self.messages.append({"role": "tool", "tool_call_id": text_of(ref), "content": words_of(content)})

    def compact(self, head: Sequence[dict[str, Any]], tail: Sequence[dict[str, Any]] = ()) -> None:
        """Replace the messages by those a compaction left: `head`, which may repeat the first ones, then `tail`.

        With ``whole``, keep all messages and append the new ones.
        """
        self.mark()
        if self.whole:
            places = {id(message): at for at, message in enumerate(self.messages)}
            for message in head:
                if id(message) not in places:
                    places[id(message)] = len(self.messages)
                    self.messages.append(message)
            self.contexts[-1] = [places[id(message)] for message in (*head, *tail)]
            self.is_prompt = False
        else:
            kept = {id(message) for message in (*head, *tail)}
            gone = sum(id(message) not in kept for message in self.messages)
            self.leave("compacted messages", count=gone)
            self.messages = [*head, *tail]
            self.usage, self.calls = [], []

    def mark(self, context: Iterable[int] = ()) -> None:
        """Record the position of a compaction, and those of the messages of the next prompt, with ``whole``."""
        self.show_images()
        if self.whole:
            self.compactions.append(len(self.messages))
            self.contexts.append([*context])

    def skip(self, record: FileRecord, reason: str) -> None:
        """Record an unreadable part of a record."""
        self.skipped.append(Skipped(record.number, record.offset, reason))

    def single(self, records: FileRecords, recognizes: Callable[[dict[str, Any]], bool]) -> list[FileRecord]:
        """Return the record that holds the whole session, or none, and skip the others.

        Raises:
            MessageError: several records hold a session.
        """
        found: list[FileRecord] = []
        for record in records:
            if isinstance(record.value, dict) and recognizes(record.value):
                found.append(record)
            else:
                self.skip(record, "not part of the session")
        if len(found) > 1:
            raise several("session", len(found), found)
        return found

    def calls_of(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the calls of a message in Chat's shape."""
        entries = self.objects(message.get("tool_calls"), "tool_calls")
        functions = [(entry.get("id"), dict_of(entry.get("function"))) for entry in entries]
        return [call(ref, each.get("name"), each.get("arguments")) for ref, each in functions if each]

    def show_images(self) -> None:
        """Add the images of the last results as a user message."""
        images, self.images = self.images, []
        if images:
            self.messages.append({"role": "user", "content": [text_part(IMAGES), *images]})

    def transcript(self, format: str, skipped: Iterable[Skipped], lines: int) -> Transcript:
        """Return the transcript, before repair; `skipped` are the file's unreadable places, `lines` its lines."""
        self.show_images()
        return Transcript(
            self.messages,
            self.provider,
            format,
            model=self.model,
            system=self.system,
            tools=self.tools if isinstance(self.tools, list) and self.tools else None,
            window=self.window,
            default_window=self.default_window,
            usage=self.usage,
            skipped=sorted([*skipped, *self.skipped], key=lambda skip: skip.offset),
            lines=lines,
            compactions=self.compactions,
            contexts=self.contexts,
            left_out=self.left_out,
            calls=self.calls,
        )


def several(kind: str, count: int, records: Sequence[FileRecord]) -> MessageError:
    """Return the error for a file with several sessions or requests, which begin at these records."""
    places = ", ".join(f"line {record.number} (byte {record.offset})" for record in records[:5])
    return MessageError(f"{count} {kind}s in one file, from {places}", hint=f"read one {kind} at a time")
