"""Any callable as a summarizer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..attempts import Limits
from ..write import Threaded

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..ask import Answer, Ask


@dataclass(frozen=True, slots=True)
class Function:
    """A summarizer that a callable writes: plain, on a thread of its own, or asynchronous.

    Attributes:
        function: gives a text or an ``Answer`` for an ``Ask``; ``summarize.render(ask)`` is the prompt for a model.
        label: what results and events call it; the callable's own name otherwise.
        limits: how long and how often it is asked.
        window: tokens that it takes at once, those of the transcript's model where None; a zone with more is asked for
            in parts.
    """

    function: Callable[[Ask], str | Answer | Awaitable[str | Answer]]
    label: str | None = None
    limits: Limits = field(default_factory=Limits)
    window: int | None = None

    @property
    def name(self) -> str:
        """What results and events call it."""
        return self.label or str(getattr(self.function, "__name__", type(self.function).__name__))

    def session(self) -> _Calls:
        """For plain callers."""
        return _Calls(self.function)

    def asession(self) -> Threaded:
        """For a running event loop."""
        return Threaded(_Calls(self.function))


class _Calls:
    def __init__(self, function: Callable[[Ask], object]) -> None:
        self._function = function

    def call(self, ask: Ask, _: float | None, /) -> object:
        return self._function(ask)

    def close(self) -> None:
        """Nothing is held open, and nothing can end a call: one that hangs is left behind."""
