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
    """Summarizes with a callable: plain, on a thread of its own, or asynchronous.

    Attributes:
        function: returns a text or an ``Answer`` for an ``Ask``; ``summarize.render(ask)`` is the prompt for a model.
        label: the name in results and events; None uses the callable's own.
        limits: deadline, number of calls and pauses.
        window: most tokens of one request; a larger zone is summarized in parts. None uses the window of the
            transcript's model.
    """

    function: Callable[[Ask], str | Answer | Awaitable[str | Answer]]
    label: str | None = None
    limits: Limits = field(default_factory=Limits)
    window: int | None = None

    @property
    def name(self) -> str:
        """The name in results and events."""
        return self.label or str(getattr(self.function, "__name__", type(self.function).__name__))

    def session(self) -> _Calls:
        """Return a session with blocking calls."""
        return _Calls(self.function)

    def asession(self) -> Threaded:
        """Return a session for a running event loop."""
        return Threaded(_Calls(self.function))


class _Calls:
    def __init__(self, function: Callable[[Ask], object]) -> None:
        self._function = function

    def call(self, ask: Ask, _: float | None, /) -> object:
        return self._function(ask)

    def close(self) -> None:
        """Do nothing: a call that hangs is left behind."""
