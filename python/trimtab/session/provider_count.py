"""A provider's own count of a request beside trimtab's; answers are kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._core import digest
from .._mask import mask
from ..compaction.effects import Count
from ..errors import CountError
from ..messages.request import keywords

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..compaction.effects import Flow
    from ..compaction.settings import Settings
    from ..messages.types import Message

KEPT = 64
"""Number of answers that are kept, the newest ones."""


@dataclass(frozen=True, slots=True)
class ProviderCount:
    """Two counts of one request.

    Attributes:
        counted: tokens by trimtab's count.
        answered: tokens by the provider's counting endpoint.
    """

    counted: int
    answered: int

    @property
    def error(self) -> float:
        """The error of trimtab's count as a share of the provider's; negative if trimtab's is too low."""
        return (self.counted - self.answered) / max(self.answered, 1)

    def explain(self) -> str:
        """Return both counts in one line."""
        return f"checked        {self.answered:>11,}  by the provider, {self.counted:,} here: {100 * self.error:+.2f} %"


@dataclass(slots=True)
class ProviderCounts:
    """Answers of a provider's counting endpoint, by request.

    Attributes:
        answers: tokens by the request's digest, the newest last.
        last: the newest pair of counts; None before the first.
    """

    answers: dict[str, int] = field(default_factory=dict)
    last: ProviderCount | None = None

    def ask(self, client: Any, request: dict[str, Any], counted: int) -> Flow[ProviderCount]:
        """Return both counts of a request; ask the endpoint unless its answer is known.

        Raises:
            CountError: the client raised, or its answer names no tokens.
        """
        key = digest(json.dumps(request, sort_keys=True, default=str))
        tokens = self.answers.pop(key, None)
        if tokens is None:
            try:
                answer = yield Count(client, request)
            except Exception as error:
                raise CountError(f"{CountError.words}: {mask(str(error), _keys(client))}") from error
            tokens = getattr(answer, "input_tokens", answer)
            if type(tokens) is not int:
                raise CountError(f"{CountError.words}: got {mask(repr(answer), _keys(client))}")
        self.answers[key] = tokens
        while len(self.answers) > KEPT:
            del self.answers[next(iter(self.answers))]
        self.last = ProviderCount(counted, tokens)
        return self.last


def _keys(client: Any) -> tuple[object, ...]:
    """Return the keys of a client, by the attributes of both SDKs."""
    return getattr(client, "api_key", None), getattr(client, "auth_token", None)


def request_of(
    settings: Settings, messages: Sequence[Message], system: object = None, tools: object = None
) -> dict[str, Any]:
    """Return the keywords of Anthropic's ``messages.count_tokens`` or OpenAI's ``responses.input_tokens.count``.

    Raises:
        ValueError: the model's provider has no endpoint that counts these messages, or takes no such tools or system
            text.
    """
    shape = "openai_responses"
    if settings.model.provider == "anthropic":
        shape = "anthropic"
    elif not settings.model.prompt.name.startswith("OpenAI"):
        msg = (
            f"{settings.model_id} has no counting endpoint that trimtab knows: models of Anthropic and OpenAI have one"
        )
        raise ValueError(msg)
    elif any(not isinstance(item, dict) or item.get("tool_calls") or item.get("role") == "tool" for item in messages):
        msg = "OpenAI's endpoint counts items of the Responses API, not messages of Chat Completions"
        raise ValueError(msg)
    return {"model": settings.model_id, **keywords(shape, [*messages], system, tools)}
