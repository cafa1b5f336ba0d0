"""The facts that a model's summary is held to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._repr import short
from .sections import AGENT, CHAT

if TYPE_CHECKING:
    from .sections import Section


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
