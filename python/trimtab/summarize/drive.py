"""Two drivers of a generator that decides: one calls, one awaits."""

from __future__ import annotations

import inspect
from contextvars import copy_context
from functools import partial
from types import GeneratorType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from contextvars import Context

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
        made: T = done.value
        return made
    finally:
        flow.close()


def _check_not_awaitable(found: object) -> object:
    if not hasattr(type(found), "__await__") and not isinstance(found, GeneratorType):
        return found  # nearly always: to ask `inspect` takes six times as long
    if inspect.iscoroutine(found):
        found.close()
    if inspect.isawaitable(found):
        raise AwaitableError("a hook or a summarizer is asynchronous: use acompact or afit")
    return found


Outcome: TypeAlias = "tuple[Any, BaseException | None]"
"""A result or an exception as a value: some exceptions, StopIteration first, cannot be raised across threads."""


def outcome(work: Callable[[], object]) -> Outcome:
    """Return the outcome of ``work``."""
    try:
        return work(), None
    except BaseException as error:  # noqa: BLE001 - raised again by ``result``
        return None, error


def result(outcome: Outcome) -> Any:
    """Return the result, or raise the exception."""
    found, error = outcome
    if error is not None:
        raise error
    return found


async def in_thread(work: Callable[[], object]) -> Outcome:
    """Return the outcome of ``work``, which runs in a thread of the running event loop.

    A thread cannot be stopped: a cancelled task waits for its end, so that nothing else touches what it works on.
    """
    import asyncio  # noqa: PLC0415 - 24 ms, paid only with a running loop

    # A future, which the end of the loop does not cancel as it cancels the task of `asyncio.to_thread`.
    run = partial(copy_context().run, outcome, work)
    thread = asyncio.get_running_loop().run_in_executor(None, run)
    cancelled: asyncio.CancelledError | None = None
    while not thread.done():
        try:
            await asyncio.wait({thread})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return thread.result()


async def adrive(
    flow: Generator[Step, Any, T],
    step: Step,
    answer: Callable[[Step], Awaitable[object]],
    long: type | None = None,
) -> T:
    """``drive`` in a running event loop; behind a step of the type ``long`` the generator runs in a thread.

    Its steps in threads have one context, whose values the task has between them: a span is left where it was entered.
    """
    context: Context | None = None
    try:
        while True:
            if context is None and long is not None and isinstance(step, long):
                context = copy_context()
            try:
                found = await answer(step)
            except Exception as error:  # noqa: BLE001 - the generator decides what a failure means
                go = partial(flow.throw, error)
            else:
                go = partial(flow.send, found)
            if context is None:
                step = go()
                continue
            reached = await in_thread(partial(context.run, go))
            _adopt(context)
            step = result(reached)
    except StopIteration as done:
        made: T = done.value
        return made
    finally:
        flow.close() if context is None else context.run(flow.close)


def _adopt(context: Context) -> None:
    """Set the variables of a context in the running one."""
    for variable, value in context.items():
        if variable.get(None) is not value:
            variable.set(value)
