"""Claude as a summarizer, through Anthropic's own client (``trimtab[anthropic]``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...models.prices import priced
from ..ask import Answer
from ..attempts import Limits
from ..faults import NoMessageError
from ..prompt import render, turn
from .client import AsyncCalls, Calls, asked, most

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from ...models.model import Model
    from ..ask import Ask, Usage

MODEL = "claude-haiku-5-5"
THINKING = {"thinking", "redacted_thinking"}


@dataclass(frozen=True, slots=True)
class Anthropic:
    """A summarizer that Claude writes. Keys and addresses that are not given are found as the SDK finds them.

    Attributes:
        model: an id of Anthropic's; None is the one that the policy or the prices choose, else claude-haiku-5-5.
        base_url: where the API is.
        api_key: the key; never shown.
        limits: how long and how often it is asked. The SDK's own retries are off.
        window: tokens that the model takes at once; a zone with more is asked for in parts. The table's where None.
        options: what each call of the session's sends besides (``thinking``, ``betas`` and the like), so that one that
            rides its cache begins as they do.
    """

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    limits: Limits = field(default_factory=Limits)
    window: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What results and events call it."""
        return f"anthropic:{self.model or MODEL}"

    def session(self) -> Calls:
        """For plain callers: the SDK's plain client."""
        return Calls(self, "Anthropic")

    def asession(self) -> AsyncCalls:
        """For a running event loop: the SDK's asynchronous client."""
        return AsyncCalls(self, "AsyncAnthropic")

    package = "anthropic"
    shape = "anthropic"
    cheap = MODEL

    def client(self, sdk: ModuleType, kind: str) -> Any:
        """A client of the SDK's."""
        given = {"api_key": self.api_key, "base_url": self.base_url}
        return getattr(sdk, kind)(max_retries=0, **{key: value for key, value in given.items() if value is not None})

    def create(self, client: Any, ask: Ask, seconds: float | None) -> Any:
        """The call: a message, or what gives one when awaited."""
        model = asked(self, ask)
        if ask.ride is not None:
            return client.messages.create(
                model=model, max_tokens=most(ask), timeout=seconds, **ask.ride.request(turn(ask)), **self.options
            )
        prompt = render(ask)
        return client.messages.create(
            model=model,
            max_tokens=most(ask),
            system=prompt.system,
            messages=[{"role": "user", "content": prompt.user}],
            timeout=seconds,
        )

    @staticmethod
    def serves(model: Model) -> bool:
        """Whether the session's model can be asked as well."""
        return model.name.startswith("claude")

    def answer(self, message: Any, ask: Ask) -> Answer:
        """What a message says.

        Raises:
            NoMessageError: the server sent something else.
        """
        blocks = getattr(message, "content", None)
        if not isinstance(blocks, list):
            raise NoMessageError(f"the answer is no message ({type(message).__name__})")
        held = [(getattr(block, "type", None), getattr(block, "text", None)) for block in blocks]
        other = tuple(str(kind) for kind, _ in held if kind != "text" and kind not in THINKING)
        text = "".join(text for kind, text in held if kind == "text" and isinstance(text, str))
        usage = priced(_usage(getattr(message, "usage", None)), asked(self, ask))
        return Answer(text, getattr(message, "stop_reason", None), other, usage)


def _usage(usage: object) -> Usage:
    """What was charged, in the names that the API has for it."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    found: Usage = {name: value for name in names if isinstance(value := getattr(usage, name, None), int)}
    return {"calls": 1, **found}
