"""Anthropic's SDK: a client whose calls fit the model's window, a middleware that does the same, its tool runner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from .clients import Endpoint, Guard
from .sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from ..models.model import Model
    from ..session.compactor import Compactor

C = TypeVar("C")

ENDPOINTS = {"/v1/messages": Endpoint("anthropic", "messages", "system", held=("thread",))}


def wrap(
    client: C,
    model: str | Model | Compactor | None = None,
    *,
    session: str | Callable[[Mapping[str, Any]], str] | None = None,
    **options: Any,
) -> C:
    """Return a client like the given one, whose calls fit the model's window.

    It has the client's own interface, synchronous or asynchronous: ``messages`` and ``beta.messages`` with ``create``,
    ``parse``, ``stream``, raw responses, and the tool runner. The caller hands in its whole history at each call; the
    last compaction stands in for the messages that it was made of. A call that is refused as too long is repeated with
    fewer messages. In a thread that the server holds (``thread=``, which the tool runner uses unless it is
    False) only new messages are sent: nothing is compacted, which is logged once.

    Args:
        client: any client of the SDK; it is not changed, and shares its connections.
        model: an id, a ``Model``, or a ``Compactor``; None takes the model that each call names.
        session: the conversation's name, or a function that returns it from the body of a call; None tells
            conversations apart by how they begin.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor, or this release of the SDK cannot be wrapped.
        ValueError: an option has an unknown value.
    """
    return Guard(ENDPOINTS, "messages", model, session, options).guarded(client)


def middleware(
    model: str | Model | Compactor | None = None,
    *,
    session: str | Callable[[Mapping[str, Any]], str] | None = None,
    **options: Any,
) -> Any:
    """Return a middleware whose client's calls fit the model's window: ``Anthropic(middleware=[middleware(...)])``.

    It does what ``wrap`` does, inside of the SDK's own retries, for clients that are made elsewhere. The usage of a
    streamed answer is not read: the session counts itself.

    Args:
        model: as in ``wrap``.
        session: as in ``wrap``.
        **options: keywords of a new ``Compactor``.
    """
    from .anthropic_middleware import FittingMiddleware  # noqa: PLC0415 - the SDK is loaded where it is used

    return FittingMiddleware(Guard(ENDPOINTS, "messages", model, session, options))


def compacting(runner: Any, model: str | Model | Compactor, **options: Any) -> Iterator[Any]:
    """Yield the messages of a tool runner, which compacts on the provider's server when the prompt is due for it.

    ``runner.compact_before_next_turn()`` is called by the tokens of the billed prompt, past the policy's trigger. The
    beta flag ``compact-2026-09-04`` is the caller's to send (``betas=``). For a runner whose conversation the server
    holds too, of which no client sees the whole list.

    Args:
        runner: of ``client.beta.messages.tool_runner``.
        model: an id, a ``Model``, or a ``Compactor``.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
    """
    from .anthropic_middleware import Due  # noqa: PLC0415

    due = Due(Sessions(model, {"provider": "anthropic", **options} if isinstance(model, str) else options))
    for message in runner:
        yield message
        final = getattr(message, "get_final_message", None)  # a stream's, once it was read
        if due(message if final is None else final()):
            runner.compact_before_next_turn()


async def acompacting(runner: Any, model: str | Model | Compactor, **options: Any) -> AsyncIterator[Any]:
    """Yield the messages of an asynchronous tool runner like ``compacting``."""
    from .anthropic_middleware import Due  # noqa: PLC0415

    due = Due(Sessions(model, {"provider": "anthropic", **options} if isinstance(model, str) else options))
    async for message in runner:
        yield message
        final = getattr(message, "get_final_message", None)
        if due(message if final is None else await final()):
            runner.compact_before_next_turn()
