"""Who is asked before something happens, and may change it or refuse."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ._repr import short

if TYPE_CHECKING:
    from .planning.plan import Plan


TRIGGERS = ("auto", "manual")
"""Who wants a compaction: a program whose trigger was passed, or the user."""


@dataclass(frozen=True, slots=True)
class Review:
    """The question: may this compaction be?

    Asked twice: before anything is decided, and with the plan, before anything is done.

    Attributes:
        trigger: ``manual`` or ``auto``.
        instructions: what the summary is to stress.
        plan: None the first time.
    """

    __repr__ = short

    trigger: str
    instructions: str | None
    plan: Plan | None

    def payload(self) -> dict[str, str | None]:
        """The input of a PreCompact hook as seed 000 gives it."""
        return {"trigger": self.trigger, "custom_instructions": self.instructions}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A hook's answer; None says go on.

    Attributes:
        refuse: why not; None lets it be.
        instructions: replaces the instructions; None leaves them.
        context: is added to what a model is asked.
    """

    __repr__ = short

    refuse: str | None = None
    instructions: str | None = None
    context: str | None = None


PreCompact: TypeAlias = Callable[[Review], Verdict | Awaitable[Verdict | None] | None]
"""A hook: plain, or a coroutine function where the asynchronous methods are used. One that raises refuses."""


def noop(review: Review, /) -> None:
    """The hook where there is none: goes on."""
