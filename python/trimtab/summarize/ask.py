"""A request for a summary, and its answer."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .._repr import short
from ..messages.request import keywords
from .sections import AGENT, CHAT, task

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..messages.types import Message
    from ..models.provider import Provider
    from ..planning.stages import Template
    from .sections import Section

TASK = task(AGENT)
"""The content of a summary, unless the policy has its own words."""


Usage: TypeAlias = "dict[str, float]"
"""The bill of a provider for a summary, over all calls: ``calls`` (billed answers), ``input_tokens`` (not cached),
``cache_read_input_tokens``, ``cache_creation_input_tokens``, ``output_tokens`` (thinking included), and ``cost`` (US
dollars, if the prices are known)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one call.

    Attributes:
        text: the text blocks, joined.
        stop: the provider's stop reason; None if it states none.
        other: types of the blocks that are neither text nor thinking.
        usage: what was billed.
        dropped: sentences and bullets that a check took out of the text, each with the reason.
        added: rules and other facts of the messages that a check added to the text.
    """

    __repr__ = short

    text: str
    stop: str | None = "end_turn"
    other: tuple[str, ...] = ()
    usage: Usage = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A summary request as a model reads it.

    Attributes:
        system: role and task.
        user: the user message: the transcript as data inside a boundary, and the request.
        nonce: marks the boundary; occurs nowhere in the transcript.
    """

    system: str
    user: str
    nonce: str

    @property
    def text(self) -> str:
        """Both texts as one, for a summarizer without a system prompt."""
        return f"{self.system}\n\n{self.user}\n"


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """The session's own next request; the provider's cache holds its beginning.

    Attributes:
        provider: shape of the messages.
        messages: all messages, thinking included.
        system: system text beside the messages.
        tools: tool definitions.
        marks_cache: whether a server of Chat Completions reads ``cache_control``.
    """

    provider: str
    messages: tuple[Message, ...]
    system: object
    tools: object
    marks_cache: bool

    def request(self, turn: str) -> dict[str, Any]:
        """Return the keywords of the call, with one more user turn behind the messages."""
        messages = [*self.messages, {"role": "user", "content": turn}]
        return keywords(self.provider, messages, self.system, self.tools, marks_cache=self.marks_cache)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of the messages that a summary must have, and their state as code computed it.

    Attributes:
        rules: the paragraphs in which the user gives a rule, verbatim.
        request: the first request; empty if an earlier summary has it.
        written: the files that calls wrote.
        tasks: the tasks that are not done: text and status.
        tests: the last run of each test or build command, and whether it shows a failure; None if it says nothing.
        state: the offline summary.
        language: code of the conversation's language; None if its words do not tell.
        chat: whether no message calls a tool.
    """

    __repr__ = short

    rules: tuple[str, ...] = ()
    request: str = ""
    written: tuple[str, ...] = ()
    tasks: tuple[tuple[str, str], ...] = ()
    tests: tuple[tuple[str, bool | None], ...] = ()
    state: str = ""
    language: str | None = None
    chat: bool = False

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections of the summary."""
        return CHAT if self.chat else AGENT


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for the summary of the messages that leave the context.

    Attributes:
        messages: the messages to summarize, whole, oldest first, in the provider's shape.
        provider: shape of the messages.
        max_tokens: most tokens of the summary, by ``count``.
        count: counts the tokens of a text.
        instructions: the caller's instructions.
        previous: the earlier summary, to be updated.
        after: the messages behind the summary; the summary need not repeat them.
        replaces: tokens of the replaced messages; the summary must have fewer. 0 if unknown.
        task: the content of the summary.
        correction: what was wrong with the last answer; None the first time.
        nonce: marks the boundary around the messages; new for each request.
        template: the policy's words; None uses ``task``.
        model: the policy's model; None leaves it to the summarizer.
        context: text of a hook.
        reuse_cache: the session's own request, if the summary is requested behind it with ``turn(ask)``.
        facts: what the answer is held to; None takes it as it is, as the policies with a template do.
        structured: whether the answer is JSON by ``sections.schema``, because the provider's API enforces it.
    """

    __repr__ = short

    messages: tuple[Message, ...]
    provider: Provider
    max_tokens: int
    count: Callable[[str], int]
    instructions: str | None = None
    previous: str | None = None
    after: tuple[Message, ...] = ()
    replaces: int = 0
    task: str = TASK
    correction: str | None = None
    nonce: str = field(default_factory=lambda: os.urandom(6).hex(), compare=False)
    template: Template | None = None
    model: str | None = None
    context: str | None = None
    reuse_cache: SessionRequest | None = None
    facts: Facts | None = None
    structured: bool = False


class Summarizer(Protocol):
    """A function from messages to a text of at most ``ask.max_tokens``; may be asynchronous."""

    def __call__(self, ask: Ask, /) -> str | Answer | Awaitable[str | Answer]:
        """Return the summary."""
        ...
