"""The provider's own count of a request, beside ours: asked for on demand only, and kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._core import digest
from ..errors import CountError

if TYPE_CHECKING:
    from ..models.model import Model

KEPT = 64
"""Number of answers that are kept, the latest ones."""


@dataclass(frozen=True, slots=True)
class ProviderCount:
    """A count of a request, here and by its provider.

    Attributes:
        counted: tokens of the request, as counted here.
        answered: tokens of the request, as the provider's endpoint counts them.
    """

    counted: int
    answered: int

    @property
    def error(self) -> float:
        """The error of the count here, as a share of the answer; below 0 where it is too low."""
        return (self.counted - self.answered) / max(self.answered, 1)

    def explain(self) -> str:
        """Both counts, in a line."""
        return f"checked        {self.answered:>11,}  by the provider, {self.counted:,} here: {100 * self.error:+.2f} %"


@dataclass(slots=True)
class ProviderCounts:
    """The answers of a provider's counting endpoint, by request.

    Attributes:
        answers: tokens by the request's digest, the latest last.
        last: the last pair of counts; None before the first.
    """

    answers: dict[str, int] = field(default_factory=dict)
    last: ProviderCount | None = None

    def known(self, request: dict[str, Any]) -> int | None:
        """The kept answer to a request, or None."""
        return self.answers.get(_key(request))

    def keep(self, request: dict[str, Any], answer: object, counted: int) -> ProviderCount:
        """Keeps an answer: a number, or the object that the provider's client returns.

        Raises:
            CountError: it names no tokens.
        """
        tokens = getattr(answer, "input_tokens", answer)
        if type(tokens) is not int:
            raise CountError(f"{CountError.words}: got {answer!r}")
        key = _key(request)
        self.answers.pop(key, None)
        self.answers[key] = tokens
        while len(self.answers) > KEPT:
            del self.answers[next(iter(self.answers))]
        self.last = ProviderCount(counted, tokens)
        return self.last


def asking(model: Model, name: str, messages: list[Any], system: object, tools: object) -> dict[str, Any]:
    """The keywords of Anthropic's ``client.messages.count_tokens`` or OpenAI's ``client.responses.input_tokens.count``.

    Raises:
        ValueError: the model's provider has no endpoint that counts these messages.
    """
    if model.provider == "anthropic":
        request = {"messages": messages, "system": system}
    elif not model.prompt.name.startswith("OpenAI"):
        msg = f"{name} has no counting endpoint that is supported here: models of Anthropic and OpenAI have one"
        raise ValueError(msg)
    elif any(not isinstance(item, dict) or item.get("tool_calls") or item.get("role") == "tool" for item in messages):
        msg = "OpenAI's endpoint counts items of the Responses API, and these are messages of Chat Completions"
        raise ValueError(msg)
    else:
        request = {"input": messages, "instructions": system}
    beside = {**request, "tools": tools}
    return {"model": name, **{key: value for key, value in beside.items() if value}}


def ask(client: Any, request: dict[str, Any]) -> Any:
    """The client's answer, or the awaitable of an asynchronous client."""
    count = client.messages.count_tokens if "messages" in request else client.responses.input_tokens.count
    return count(**request)


def failed(error: Exception) -> CountError:
    """A client's exception as a ``CountError``."""
    return CountError(f"{CountError.words}: {error}")


def _key(request: dict[str, Any]) -> str:
    return digest(json.dumps(request, sort_keys=True, default=str))
