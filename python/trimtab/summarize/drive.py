"""Two drivers of a generator that decides: one calls, one awaits."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

Step = TypeVar("Step")
T = TypeVar("T")


class AwaitableError(TypeError):
    """A synchronous method got an awaitable."""


def drive(flow: Generator[Step, Any, T], step: Step, answer: Callable[[Step], object]) -> T:
    """Return the result of a generator whose steps ``answer`` answers.

    An exception of ``answer`` is raised inside the generator.

    Args:
        flow: the generator, started.
        step: its first step.
        answer: returns the answer to a step.

    Raises:
        AwaitableError: an answer is awaitable; the generator is closed.
    """
    try:
        while True:
            try:
                found = _check_not_awaitable(answer(step))
            except AwaitableError:
                raise
            except Exception as error:  # noqa: BLE001 - the generator decides what a failure means
                step = flow.throw(error)
            else:
                step = flow.send(found)
    except StopIteration as done:
        result: T = done.value
        return result
    finally:
        flow.close()


def _check_not_awaitable(found: object) -> object:
    if inspect.iscoroutine(found):
        found.close()
    if inspect.isawaitable(found):
        raise AwaitableError("a hook or a summarizer is asynchronous: use acompact or afit")
    return found


async def adrive(flow: Generator[Step, Any, T], step: Step, answer: Callable[[Step], Awaitable[object]]) -> T:
    """``drive`` in a running event loop."""
    try:
        while True:
            try:
                found = await answer(step)
            except Exception as error:  # noqa: BLE001 - the generator decides what a failure means
                step = flow.throw(error)
            else:
                step = flow.send(found)
    except StopIteration as done:
        result: T = done.value
        return result
    finally:
        flow.close()
