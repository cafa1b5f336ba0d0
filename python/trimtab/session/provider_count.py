"""The provider's own count of a request, beside ours: asked for when it is wanted, never by itself, and kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._core import digest
from ..errors import CountError

if TYPE_CHECKING:
    from ..models.model import Model

KEPT = 64
"""Answers that are kept: the last ones."""


@dataclass(frozen=True, slots=True)
class Check:
    """A count beside the provider's.

    Attributes:
        counted: tokens of the request, as counted here.
        answered: tokens of it, as the provider's endpoint says.
    """

    counted: int
    answered: int

    @property
    def error(self) -> float:
        """How far the count is off, as a share of the answer; below 0 where it is too low."""
        return (self.counted - self.answered) / max(self.answered, 1)

    def explain(self) -> str:
        """Both, in a line."""
        return f"checked        {self.answered:>11,}  by the provider, {self.counted:,} here: {100 * self.error:+.2f} %"


@dataclass(slots=True)
class Checks:
    """The answers of a provider's counting endpoint, by request.

    Attributes:
        answers: tokens by the request's digest, the latest last.
        last: the last check; None before the first.
    """

    answers: dict[str, int] = field(default_factory=dict)
    last: Check | None = None

    def known(self, request: dict[str, Any]) -> int | None:
        """The answer to a request that was asked before."""
        return self.answers.get(_key(request))

    def take(self, request: dict[str, Any], answer: object, counted: int) -> Check:
        """Keeps an answer: a number, or what the provider's client gives.

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
        self.last = Check(counted, tokens)
        return self.last


def asking(model: Model, name: str, messages: list[Any], system: object, tools: object) -> dict[str, Any]:
    """The keywords of Anthropic's ``client.messages.count_tokens`` or OpenAI's ``client.responses.input_tokens.count``.

    Raises:
        ValueError: the model's provider has no endpoint that counts these messages.
    """
    if model.provider == "anthropic":
        request = {"messages": messages, "system": system}
    elif not model.prompt.name.startswith("OpenAI"):
        msg = f"{name} has no counting endpoint that is asked here: Claude's have, and OpenAI's"
        raise ValueError(msg)
    elif any(not isinstance(item, dict) or item.get("tool_calls") or item.get("role") == "tool" for item in messages):
        msg = "OpenAI's endpoint counts items of the Responses API, and these are messages of Chat Completions"
        raise ValueError(msg)
    else:
        request = {"input": messages, "instructions": system}
    beside = {**request, "tools": tools}
    return {"model": name, **{key: value for key, value in beside.items() if value}}


def ask(client: Any, request: dict[str, Any]) -> Any:
    """What the client answers, or the awaitable of an asynchronous one."""
    count = client.messages.count_tokens if "messages" in request else client.responses.input_tokens.count
    return count(**request)


def failed(error: Exception) -> CountError:
    """What a client raised, as one error whatever it was."""
    return CountError(f"{CountError.words}: {error}")


def _key(request: dict[str, Any]) -> str:
    return digest(json.dumps(request, sort_keys=True, default=str))
