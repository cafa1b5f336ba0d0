"""OpenAI's SDK: a client whose calls fit the model's window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from .clients import Endpoint, Guard

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..models.model import Model
    from ..session.compactor import Compactor

C = TypeVar("C")

ENDPOINTS = {
    "/chat/completions": Endpoint("openai_chat", "messages", ""),
    "/responses": Endpoint("openai_responses", "input", "instructions", held=("previous_response_id", "conversation")),
}


def wrap(
    client: C,
    model: str | Model | Compactor | None = None,
    *,
    session: str | Callable[[Mapping[str, Any]], str] | None = None,
    **options: Any,
) -> C:
    """Return a client like the given one, whose calls fit the model's window.

    It has the client's own interface, synchronous or asynchronous: ``chat.completions`` and ``responses`` with
    ``create``, ``parse``, ``stream`` and raw responses. The caller hands in its whole history at each call; the last
    compaction stands in for the messages that it was made of. A call that is refused as too long is repeated with fewer
    messages. Where the server holds the conversation (``previous_response_id=``, ``conversation=``) only new items are
    sent: nothing is compacted, which is logged once.

    Args:
        client: any client of the SDK, Azure's too; it is not changed, and shares its connections.
        model: an id, a ``Model``, or a ``Compactor``; None takes the model that each call names.
        session: the conversation's name, or a function that returns it from the body of a call; None tells
            conversations apart by how they begin.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor, or this release of the SDK cannot be wrapped.
        ValueError: an option has an unknown value.
    """
    return Guard(ENDPOINTS, "chat.completions", model, session, options).guarded(client)
