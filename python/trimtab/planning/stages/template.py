"""The words of a summary request, the place of a summary, and the cut of a new tool result, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..._repr import short
from ...counting.truncate import shortened
from ..edits import NOTICE

if TYPE_CHECKING:
    from ..._core import Counter
    from ...counting.truncate import Category


@dataclass(frozen=True, slots=True)
class Template:
    """The words of a summary request; ``summarize.request`` renders them.

    Attributes:
        opening: the request; precedes the transcript, or follows the messages if ``as_messages`` is set.
        system: the system text of the call; empty sends none.
        topics: the topics of the summary, in order.
        topic: format of one topic, with ``{n}`` and ``{name}``.
        closing: the text behind the topics.
        instructions: format of the caller's instructions, with ``{text}``.
        previous: format of the earlier summary, with ``{text}``.
        context: format of context lines, for example of a plugin, with ``{text}``.
        begin: the text in front of the transcript.
        line: format of one message, with ``{role}`` and ``{content}``.
        end: the text behind the transcript.
        call: format of one tool call, with ``{name}`` and ``{input}``.
        result: format of one tool result, with ``{id}`` and ``{content}``.
        failure: format of a tool result that reports an error, with ``{id}`` and ``{content}``.
        thinking: format of a thinking block; empty leaves thinking out, as another model requires.
        image: the placeholder of an image or a document.
        max_message_bytes: most bytes of one message; None takes it whole.
        max_result_bytes: most bytes of one result, a final ``...`` included; None takes it whole.
        include_system: include system messages in the transcript.
        as_messages: send the messages unchanged, followed by ``opening`` as a user message.
        require_headings: the summary must have a heading for each topic.
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
    image: str = "[image]"
    max_message_bytes: int | None = None
    max_result_bytes: int | None = None
    include_system: bool = False
    as_messages: bool = False
    require_headings: bool = False

    def request(self, instructions: str | None = None, previous: str | None = None, context: str | None = None) -> str:
        """Return the request without the transcript."""
        topics = "".join(self.topic.format(n=n, name=name) for n, name in enumerate(self.topics, 1))
        more = ((self.previous, previous), (self.instructions, instructions), (self.context, context))
        return self.opening + topics + self.closing + "".join(put.format(text=text) for put, text in more if text)

    def task(self, context: str | None = None) -> str:
        """Return the system text and the request, for a summarizer with its own prompt."""
        return "\n\n".join(text for text in (self.system, self.request(context=context)) if text)

    def missing(self, summary: str) -> list[str]:
        """Return the required headings that a summary lacks."""
        lines = [line.strip(" #*:0123456789.") for line in summary.splitlines()]
        return [name for name in self.topics if self.require_headings and name not in lines]


@dataclass(frozen=True, slots=True)
class Place:
    """The message shape of a summary and the text around it.

    Attributes:
        shape: ``user``, ``system`` or ``assistant`` message; ``user_ack`` adds an acknowledgement by the assistant;
            ``question`` is a user's question that the summary answers. A provider that refuses the shape gets the
            nearest one that it accepts.
        prefix: the text in front of the summary.
        ack: the assistant's acknowledgement, with ``user_ack``, or where the provider refuses two user messages in a
            row; empty adds none.
        question: the user's question in front of an assistant's summary.
        continuation: the user's text behind the summary after an automatic compaction; empty adds none.
        notice: the text in place of messages that left without a summary, with ``{count}`` and ``{about}``.
    """

    __repr__ = short

    shape: Literal["user", "user_ack", "system", "assistant", "question"] = "user"
    prefix: str = ""
    ack: str = "Understood. I continue from there."
    question: str = "What did we do so far?"
    continuation: str = ""
    notice: str = NOTICE

    def beside(self, provider: str) -> tuple[str, ...]:
        """Return the texts that may stand beside a summary in this shape."""
        if self.shape in {"assistant", "question"}:
            return (self.question,)
        return (self.ack,) if self.shape == "user_ack" or provider == ALTERNATES else ()


ALTERNATES = "bedrock"
"""The provider that refuses two user messages in a row."""

CATEGORIES: dict[str, Category] = {
    "HeadTail": "head-tail",
    "MatchList": "match-list",
    "FileContent": "file-content",
    "Generic": "generic",
}
"""Category of ``truncate`` by sven's name (sven, layer 4: OutputCategory)."""

LINES = 60 + 40 + 1
"""Most lines of a command's output: 60 of the head, 40 of the tail, one notice (sven, layer 4: OutputCategory)."""


@dataclass(frozen=True, slots=True)
class Ingest:
    """The cut of a tool's result before it enters the transcript.

    The cap is in one unit: an output within it is unchanged, and a cut output, with its notice, is within it.

    Attributes:
        tokens: most tokens of one result; 0 takes it whole.
        categories: pairs of a tool's name and the category of its output; a final ``*`` matches any rest.
        otherwise: the category of all other tools.
        unit: ``tokens`` of the model's counter, or ``bytes``: a token is four bytes of UTF-8.
        in_fit: ``fit`` also cuts the results of its list that are new since the last call.
    """

    __repr__ = short

    tokens: int
    categories: tuple[tuple[str, str], ...] = ()
    otherwise: str = "Generic"
    unit: Literal["tokens", "bytes"] = "tokens"
    in_fit: bool = False

    def exceeds(self, text: str, counter: Counter) -> bool:
        """Return whether a tool's output exceeds the cap."""
        if self.unit == "bytes":
            return 0 < self.tokens * 4 < len(text.encode("utf-8", "surrogatepass"))
        return self.tokens > 0 and counter.exceeds(text, self.tokens)

    def cut(self, text: str, category: str, counter: Counter, more: str = "") -> str:
        """Return a tool's output, cut by its category if it exceeds the cap.

        Args:
            text: the output.
            category: sven's name of its category.
            counter: the model's counter.
            more: where the whole output is, for the notice.
        """
        if not self.exceeds(text, counter):
            return text
        kind = CATEGORIES.get(category, "generic")
        lines = LINES if kind == "head-tail" else None
        most = [None, lines, None, self.tokens * 4] if self.unit == "bytes" else [self.tokens, lines, None, None]
        return shortened(text, most, kind, counter, more)

    def category(self, tool: str) -> str:
        """Return the category of a tool's output."""
        for name, category in self.categories:
            if tool == name or (name.endswith("*") and tool.startswith(name[:-1])):
                return category
        return self.otherwise
