"""Hooks: called before a compaction, to change or refuse it; and summaries that they or the caller give."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ._repr import short

if TYPE_CHECKING:
    from .planning.plan import Plan


Cause: TypeAlias = Literal["auto", "manual"]
"""Cause of a compaction: the policy's trigger, or the user."""


@dataclass(frozen=True, slots=True)
class Review:
    """A request to allow a compaction: made before planning, and again with the plan.

    Attributes:
        trigger: ``manual`` or ``auto``.
        instructions: instructions for the summary.
        plan: the plan; None before planning.
    """

    __repr__ = short

    trigger: Cause
    instructions: str | None
    plan: Plan | None

    def payload(self) -> dict[str, str | None]:
        """Return the input of Claude Code's PreCompact hook."""
        return {"trigger": self.trigger, "custom_instructions": self.instructions}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A hook's answer; None means continue.

    Attributes:
        refuse: the reason to refuse; None allows the compaction.
        instructions: new instructions; None keeps the old ones.
        context: text to add to the summary request.
        summary: the summary to use; the summarizer is asked all the same if it is blank, over the plan's limit
            (``Summarize.max_tokens``) or no shorter than what it replaces. Unused if nothing is summarized, and if the
            caller gives a summary. None asks the summarizer.
    """

    __repr__ = short

    refuse: str | None = None
    instructions: str | None = None
    context: str | None = None
    summary: str | None = None


CALLER: Literal["given"] = "given"
HOOK: Literal["pre_compact"] = "pre_compact"


@dataclass(frozen=True, slots=True)
class Given:
    """A given summary.

    Attributes:
        text: its text, as it was given.
        author: ``given`` by the caller, whose text stands as it is or is an error; or by the hook ``pre_compact``, in
            whose place the summarizer is asked if the text cannot be used.
    """

    text: object
    author: Literal["given", "pre_compact"]


def by_caller(summary: str | None, instructions: str | None = None) -> Given | None:
    """Return the caller's summary, or None without one; look at the caller's instructions too.

    Raises:
        TypeError: one of them is no text.
    """
    for name, text in {"summary": summary, "instructions": instructions}.items():
        if text is not None and not isinstance(text, str):
            raise TypeError(f"{name} must be a str, got {type(text).__name__}")
    return None if summary is None else Given(summary, CALLER)


PreCompact: TypeAlias = Callable[[Review], Verdict | Awaitable[Verdict | None] | None]
"""A hook: a function, or a coroutine function for the asynchronous methods. An exception refuses the compaction."""


def noop(review: Review, /) -> None:
    """Allow every compaction; the default hook."""
