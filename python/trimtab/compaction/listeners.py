"""The functions that are told events: those of a Compactor, and those of one of its sessions."""

from __future__ import annotations

from functools import partial
from inspect import iscoroutine, iscoroutinefunction
from logging import INFO
from traceback import format_exc, format_tb
from typing import TYPE_CHECKING, Any, TypeVar

from .._log import details, log, outline
from .._mask import mask
from ..events import KINDS, BackedOff, Compacted, FellBack, Refused, Step, UsageIgnored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..events import Event

L = TypeVar("L", bound="Callable[[Any], object]")

AWAITS = dict.fromkeys(("fit", "compact", "overflow"), "a listener")
"""Blocking methods that tell events, and what they cannot await."""


def is_async(function: object) -> bool:
    """Return whether calling a function or an object surely gives an awaitable."""
    while isinstance(function, partial):
        function = function.func
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def check_callable(name: str, function: object, *, plain: bool = False) -> None:
    """Reject what cannot be called; with ``plain``, what surely gives an awaitable too.

    Raises:
        TypeError: names the argument.
    """
    if not callable(function):
        raise TypeError(f"{name} must be a function, got {function!r:.60}")
    if plain and is_async(function):
        raise TypeError(f"{name} must be a plain function: nothing awaits it")


class Listeners:
    """Functions by the events that they are told.

    Args:
        every: plain functions that are told each event.
        above: the Compactor's, for those of a session; they are told first.

    Attributes:
        added: name of the event and function, in the order of ``add``.

    Raises:
        TypeError: one of ``every`` is no function, or asynchronous.
    """

    def __init__(self, every: Iterable[Callable[[Event], object]] = (), above: Listeners | None = None) -> None:
        """Take the functions that are told each event."""
        self._every = tuple(every)
        for listener in self._every:
            check_callable("listeners", listener)
        if any(map(is_async, self._every)):
            raise TypeError("a listener is not awaited where it is told every event: add it with on(EVENT)")
        self._above = above
        self.added: list[tuple[str, Callable[[Any], object]]] = []

    def adds(self, event: str, awaited: Callable[[], None]) -> Callable[[L], L]:
        """Return a decorator that adds a function.

        Args:
            event: name of an event's class in lower case.
            awaited: called when the function is asynchronous.

        Raises:
            ValueError: there is no such event; lists those that there are.
        """
        if event not in KINDS:
            msg = f"unknown event {event!r}, known are {', '.join(KINDS)}"
            raise ValueError(msg)

        def add(function: L) -> L:
            if not callable(function):
                msg = f"a listener must be a function, got {function!r}"
                raise TypeError(msg)
            if is_async(function):
                if KINDS[event] is UsageIgnored:
                    raise TypeError("record and learn tell usageignored, and await nothing: pass a plain function")
                awaited()
            self.added.append((event, function))
            return function

        return add

    def _told(self, event: Event) -> Iterator[Callable[[Any], object]]:
        """Yield the functions for an event, the Compactor's first, in the order in which they were added."""
        if self._above is not None:
            yield from self._above._told(event)  # noqa: SLF001 - its own class
        yield from self._every
        yield from [function for name, function in self.added if isinstance(event, KINDS[name])]

    def tell(self, event: Event) -> None:
        """Log an event and tell it; an exception of a listener is logged, and changes nothing."""
        _log(event)
        for listener in self._told(event):
            try:
                if iscoroutine(answer := listener(event)):
                    answer.close()
                    log.error("a listener of %s is asynchronous: only asynchronous methods await it", _name(event))
            except Exception as error:  # noqa: BLE001 - a listener cannot undo the compaction
                _log_failure(event, error)

    async def atell(self, event: Event) -> None:
        """``tell`` in a running event loop: a coroutine is awaited before the next listener is told."""
        _log(event)
        for listener in self._told(event):
            try:
                if iscoroutine(answer := listener(event)):
                    await answer
            except Exception as error:  # noqa: BLE001 - a listener cannot undo the compaction
                _log_failure(event, error)


def _name(event: Event) -> str:
    return type(event).__name__


def _log(event: Event) -> None:
    """Log an event by its numbers and names; texts of others go to the logger for details."""
    match event:
        case Compacted():
            words = "compacted (%s, %s): %d tokens before, %d after, summarizer %s, ref %s"
            if not log.isEnabledFor(INFO):
                return  # to mask a name takes a look at the whole environment
            author = event.summarizer and mask(event.summarizer)
            log.info(words, event.trigger, event.strategy, event.tokens_before, event.tokens_after, author, event.ref)
        case Refused():
            log.info("not compacted (%s): refused, or not smaller", event.trigger)
            details.info("not compacted (%s): %s", event.trigger, event.reason)
        case FellBack():
            log.warning("summarizer %s failed; %s instead", mask(event.summarizer), event.instead)
            details.warning("summarizer %s failed: %s", mask(event.summarizer), event.reason)
        case BackedOff():
            log.warning("automatic compaction backs off until %s: %s", event.until, event.reason)
        case UsageIgnored():
            log.warning("the recorded usage is ignored: %s", event.reason)
        case Step():
            log.debug("step %s", event.name)


def _log_failure(event: Event, error: Exception) -> None:
    """Log where a listener raised what; its text may quote a message, and goes to the logger for details."""
    log.error("a listener raised on %s: %s\n%s", _name(event), outline(error), "".join(format_tb(error.__traceback__)))
    details.error("a listener raised on %s\n%s", _name(event), mask(format_exc()))
