"""Claude as a summarizer, through Anthropic's SDK (``trimtab[anthropic]``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import NoMessageError
from ...models.model import priced
from ..ask import Answer
from ..sections import schema
from .client import Client, output_limit, sections_of

if TYPE_CHECKING:
    from ...models.model import Model
    from ..ask import Ask, Prompt, Usage

_STRUCTURED = re.compile(r"claude-(?:[a-z]+-(?:4-[5-9]|[5-9])|opus-4-1)")

THINKING = {"thinking", "redacted_thinking"}


@dataclass(frozen=True, slots=True)
class Anthropic(Client):
    """Summarizes with Claude.

    The SDK finds an address that is not given, and Anthropic's own key. Another server gets the key that is named for
    it, or none; the server of ``ANTHROPIC_BASE_URL`` gets the environment's. A redirect to another server is a failure.

    Attributes:
        model: an id of Anthropic's; None asks the policy's model or the cheapest, else claude-haiku-5-5.
        base_url: address of the API.
        api_key: the key; never shown.
        limits: deadline, number of calls and pauses; the SDK's own retries are off.
        window: the model's window in tokens; a larger zone is summarized in parts. None uses the model table.
        options: further keywords of the session's calls (``thinking``, ``betas``), repeated where a request reuses the
            session's cache, because they are part of the cached prompt.
        key_env: name of the environment variable that holds the key, read with each summary.
    """

    package = "anthropic"
    sdk_class = "Anthropic"
    shape = "anthropic"
    cheap = "claude-haiku-5-5"
    domain = "anthropic.com"
    structures = _STRUCTURED

    def prompted(self, prompt: Prompt) -> dict[str, Any]:
        """Return the system text and the user message of a prompt."""
        return {"system": prompt.system, "messages": [{"role": "user", "content": prompt.user}]}

    def create(self, client: Any, ask: Ask, seconds: float | None) -> Any:
        """Call ``messages.create``."""
        # In the body, because older releases of the SDK have no such keyword.
        form = {"output_config": {"format": {"type": "json_schema", "schema": schema(sections_of(ask))}}}
        request = self.keywords(ask, {"extra_body": form})
        return client.messages.create(model=self.asked(ask), max_tokens=output_limit(ask), timeout=seconds, **request)

    def serves(self, model: Model) -> bool:
        """Return whether the model is one of Anthropic's."""
        return model.name.startswith("claude")

    def answer(self, message: Any, ask: Ask) -> Answer:
        """Return the answer in a message.

        Raises:
            NoMessageError: the server sent something else.
        """
        blocks = getattr(message, "content", None)
        if not isinstance(blocks, list):
            raise NoMessageError(f"the answer is no message ({type(message).__name__})")
        parts = [(getattr(block, "type", None), getattr(block, "text", None)) for block in blocks]
        other = tuple(str(kind) for kind, _ in parts if kind != "text" and kind not in THINKING)
        text = "".join(text for kind, text in parts if kind == "text" and isinstance(text, str))
        usage = priced(_usage(getattr(message, "usage", None)), self.asked(ask))
        return Answer(text, getattr(message, "stop_reason", None), other, usage)


def _usage(usage: object) -> Usage:
    """Return the billed tokens, by the API's names."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    found: Usage = {name: value for name in names if isinstance(value := getattr(usage, name, None), int)}
    return {"calls": 1, **found}
