"""Decides when to call a summarizer again: a generator whose calls and pauses a driver makes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from .._mask import mask_known
from ..errors import SummaryError
from ..messages.surrogates import sendable
from .ask import Answer
from .faults import ModelFault, fault
from .flaws import EXTRACT, flaw, gap
from .held import held, lacks, own

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from .ask import Ask, Usage


@dataclass(frozen=True, slots=True)
class Limits:
    """Deadline, number of calls and pauses of a summarizer.

    Attributes:
        seconds: deadline of all calls together, in seconds; None for a summarizer that cannot hang.
        tries: most calls, the corrected one included.
        pause: seconds; a random part of ``pause * 2**n`` precedes the n-th retry.
    """

    seconds: float | None = 60.0
    tries: int = 3
    pause: float = 0.5

    def __post_init__(self) -> None:
        """Reject limits that allow no call."""
        if self.seconds is not None and not 0 < self.seconds < float("inf"):
            msg = f"seconds must be a positive number, got {self.seconds!r}"
            raise ValueError(msg)
        if not isinstance(self.tries, int):
            msg = f"tries must be an int, got {self.tries!r}"
            raise TypeError(msg)
        if self.tries < 1 or not 0 <= self.pause < float("inf"):
            msg = f"need tries >= 1 and pause >= 0, got {self.tries!r} and {self.pause!r}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Try:
    """Call the summarizer once; the answer is what it returns, and what it raises is thrown in."""

    ask: Ask
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait; the answer is None."""

    seconds: float


Step: TypeAlias = Try | Pause


def attempts(
    ask: Ask,
    limits: Limits,
    *,
    clock: Callable[[], float],
    chance: Callable[[], float],
    credentials: Callable[[], tuple[object, ...]] = tuple,
) -> Generator[Step, Any, Answer]:
    """Return an answer that passes every check, with the usage of all calls.

    A temporary failure is retried: after ``Retry-After`` if that is before the deadline, else after a random part of a
    pause that doubles (full jitter). A rejected answer is requested once more with the reason; so is one that lacks
    only a required heading, or claims what stands nowhere in the messages, and it is used if no better one follows. All
    calls share one deadline. An answer that is held to facts is returned as ``held`` leaves it.

    Args:
        ask: the request.
        limits: deadline, number of calls and pauses.
        clock: a monotonic clock, in seconds.
        chance: random numbers from 0 to 1.
        credentials: returns the credentials in use, which are masked in answers and reasons.

    Raises:
        SummaryError: no answer passes; states why.
    """
    end = float("inf") if limits.seconds is None else clock() + limits.seconds
    usage: Usage = {}
    usable: Answer | None = None
    for number in range(1, limits.tries + 1):
        left = end - clock()
        try:
            answer = answer_of((yield Try(ask, None if limits.seconds is None else left)))
        except Exception as error:
            found = fault(error, credentials())
            wait = _wait(found, number, limits, chance())
            if not found.again or number == limits.tries or clock() + wait >= end:
                if usable is not None:
                    return _held(replace(usable, usage=usage), ask)
                raise SummaryError(_reason(found, number, limits, end - clock()), usage=usage) from error
            yield Pause(wait)
            continue
        text = own(answer.text) if ask.facts is not None and answer.stop != EXTRACT else answer.text
        answer = replace(answer, text=mask_known(text, credentials()))
        usage = total(usage, answer.usage)
        wrong = flaw(answer, ask)
        usable = answer if wrong is None else usable
        lacks = wrong or gap(answer, ask)
        if lacks is None or ask.correction is not None or number == limits.tries or clock() >= end:
            if usable is None:
                raise SummaryError(wrong or "", usage=usage)
            return _held(replace(usable, usage=usage), ask)
        ask = replace(ask, correction=lacks)
    raise AssertionError("the last try returns or raises")


def _held(answer: Answer, ask: Ask) -> Answer:
    """Return an answer as ``held`` leaves it.

    Raises:
        SummaryError: nothing of it is left.
    """
    if ask.facts is None or answer.stop == EXTRACT:
        return answer
    left = held(answer, ask)
    if not left.text:
        raise SummaryError(lacks(answer.text, ask) or "the answer is blank", usage=answer.usage)
    return left


def total(one: Usage, other: Usage) -> Usage:
    """Return the sum of two usages."""
    return {**one, **{key: one.get(key, 0) + value for key, value in other.items()}}


def answer_of(value: object) -> Answer:
    """Return a summarizer's answer as an ``Answer`` without lone surrogates.

    Raises:
        SummaryError: it is neither an ``Answer`` nor a text.
    """
    if isinstance(value, Answer):
        return replace(value, text=sendable(value.text))
    if isinstance(value, str):
        return Answer(sendable(value))
    raise SummaryError(f"the answer is {type(value).__name__}, not text")


def _wait(found: ModelFault, number: int, limits: Limits, chance: float) -> float:
    """Return the seconds before the next call, at least those that the provider asks for."""
    jitter = chance * limits.pause * 2.0 ** (number - 1)
    return jitter if found.after is None else found.after + jitter * 0.5


def _reason(found: ModelFault, number: int, limits: Limits, left: float) -> str:
    tries = f" ({number} tries)" if number > 1 else ""
    if found.again and number < limits.tries:
        if found.after is not None and left > 0:
            return f"{found.reason}{tries}; it asks to wait {found.after:,.0f} s, {max(left, 0):.0f} s are left"
        return f"{found.reason}{tries}; the {limits.seconds:g} s are over"
    return f"{found.reason}{tries}"
