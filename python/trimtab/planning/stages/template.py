"""How a model is asked for a summary: the words of a request, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..._repr import short
from ...counting.truncate import truncate

if TYPE_CHECKING:
    from ...counting.truncate import Category


@dataclass(frozen=True, slots=True)
class Template:
    """The words around the messages that leave. ``summarize`` renders it.

    Attributes:
        opening: what is asked for; stands in front of the transcript, or behind the messages where they go as they are.
        system: the system text of the call; empty sends none.
        topics: what the summary must cover, in order.
        topic: how one of them is written; ``{n}`` and ``{name}`` are filled in.
        closing: what stands behind the topics.
        instructions: how custom instructions are put; ``{text}`` is filled in.
        previous: how an earlier summary is put; ``{text}`` is filled in.
        context: how lines of others are put, such as a plugin's; ``{text}`` is filled in.
        begin: what stands in front of the transcript.
        line: one message; ``{role}`` and ``{content}`` are filled in.
        end: what stands behind the transcript.
        call: one call; ``{name}`` and ``{input}`` are filled in.
        result: one result; ``{id}`` and ``{content}`` are filled in.
        failure: one result that reports an error.
        thinking: one block of thinking; empty leaves it out, as it must be where another model is asked.
        picture: what stands for a picture or a document.
        most: of one message's content, in bytes; None takes it whole.
        most_of_result: of one result's content, in bytes; what is cut ends in ``...``.
        system_too: system messages are part of the transcript.
        as_messages: the messages go as they are, and ``opening`` behind them as one more user turn.
        headings: each topic must be a heading of the answer.
    """

    __repr__ = short

    opening: str
    system: str = ""
    topics: tuple[str, ...] = ()
    topic: str = "\n{n}. {name}"
    closing: str = ""
    instructions: str = "\n\nAdditional instructions: {text}"
    previous: str = "\n\n<previous_summary>\n{text}\n</previous_summary>"
    context: str = "\n\n{text}"
    begin: str = "\n\n"
    line: str = "[{role}]: {content}\n\n"
    end: str = ""
    call: str = "[Tool: {name}, Input: {input}]"
    result: str = "[Tool Result for {id}: {content}]"
    failure: str = "[Tool Error for {id}: {content}]"
    thinking: str = ""
    picture: str = "[image]"
    most: int | None = None
    most_of_result: int | None = None
    system_too: bool = False
    as_messages: bool = False
    headings: bool = False

    def request(self, instructions: str | None = None, previous: str | None = None, context: str | None = None) -> str:
        """What is asked for, in words, without the transcript."""
        topics = "".join(self.topic.format(n=n, name=name) for n, name in enumerate(self.topics, 1))
        more = ((self.previous, previous), (self.instructions, instructions), (self.context, context))
        return self.opening + topics + self.closing + "".join(put.format(text=text) for put, text in more if text)

    def task(self, context: str | None = None) -> str:
        """What the summary is to hold, for a summarizer that puts the rest in its own words."""
        return "\n\n".join(text for text in (self.system, self.request(context=context)) if text)

    def missing(self, summary: str) -> list[str]:
        """Topics that a summary should have as headings, and has not."""
        lines = [line.strip(" #*:0123456789.") for line in summary.splitlines()]
        return [name for name in self.topics if self.headings and name not in lines]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a summary stands, and what stands around it.

    Attributes:
        shape: ``user``; ``user_ack`` (and the assistant acknowledges it); ``system``; ``assistant``;
            ``question`` (the user asks, and the summary is the assistant's answer). A provider that refuses the shape
            gets the nearest one that it takes.
        prefix: what stands in front of the summary.
        ack: what the assistant says to it.
        question: what the user asks where the assistant is to answer with the summary.
        goes_on: what the user says behind the summary after an automatic compaction; empty says nothing.
        notice: what stands in a summary's place where there is none; ``{count}`` and ``{about}`` are filled in.
    """

    __repr__ = short

    shape: Literal["user", "user_ack", "system", "assistant", "question"] = "user"
    prefix: str = ""
    ack: str = "Understood. I continue from there."
    question: str = "What did we do so far?"
    goes_on: str = ""
    notice: str = "[trimtab: {count} earlier messages were left out here to save room; they are archived]"


CATEGORIES: dict[str, Category] = {
    "HeadTail": "head-tail",
    "MatchList": "match-list",
    "FileContent": "file-content",
    "Generic": "generic",
}
"""Categories by the names that seed 003 has for them."""

LINES = 60 + 40 + 1
"""Most lines of a command's output: sixty of the head, forty of the tail, and the notice (seed 003, layer 4)."""

ROOMS = (0, 40, 120)
"""Room for the notice beyond the cap, in characters: none where the cap has it, no more than it takes where not."""

NOTHING = "[{bytes} bytes omitted]"


@dataclass(frozen=True, slots=True)
class Ingest:
    """How a tool's result is cut before it enters the transcript.

    Attributes:
        tokens: most of one result, at four bytes each; 0 takes it whole.
        categories: a tool's name, or its beginning with a ``*``, to the category of its output.
        otherwise: the category of all other tools.
    """

    __repr__ = short

    tokens: int
    categories: tuple[tuple[str, str], ...]
    otherwise: str

    def taken(self, text: str, category: str) -> str:
        """A tool's output as it enters the transcript: whole within the cap, cut as its category says beyond.

        Where the cap has no room for the notice of what is gone, the notice stands beyond it.
        """
        most = self.tokens * 4
        if not most or len(text.encode("utf-8", "replace")) <= most:
            return text
        kind = CATEGORIES.get(category, "generic")
        lines = LINES if kind == "head-tail" else None
        cuts = (truncate(text, chars=most + room, lines=lines, category=kind) for room in ROOMS)
        return next(
            (cut for cut in cuts if "omitted" in cut), NOTHING.format(bytes=len(text.encode("utf-8", "replace")))
        )

    def category(self, tool: str) -> str:
        """The category of a tool's output."""
        for name, category in self.categories:
            if tool == name or (name.endswith("*") and tool.startswith(name[:-1])):
                return category
        return self.otherwise
