"""Any model behind OpenAI's chat API as a summarizer: OpenAI, vLLM, Ollama, llama.cpp (``trimtab[openai]``)."""

from __future__ import annotations

import re
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

MODEL = "gpt-5-mini"
REASONING = 4_096
"""Tokens that a model of OpenAI's may think beside its answer: they count against the same limit."""

_OWN = re.compile(r"://[^/]*\bopenai\b")
_MODELS = re.compile(r"gpt-|o\d|chatgpt|codex")
_THOUGHT = re.compile(r"\s*<think>(?:.*?</think>\s*|.*\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OpenAI:
    """A summarizer behind OpenAI's chat API. Keys and addresses that are not given are found as the SDK finds them.

    Attributes:
        model: an id that the server knows; None is the one that the policy or the prices choose, else gpt-5-mini.
        base_url: where the API is, such as ``http://localhost:11434/v1``; OpenAI's own otherwise.
        api_key: the key; never shown. A server of another address that wants none needs none.
        limits: how long and how often it is asked. The SDK's own retries are off.
        window: tokens that the model takes at once; a zone with more is asked for in parts. The table's where None.
        options: what each call of the session's sends besides (``reasoning_effort`` and the like), so that one that
            rides its cache begins as they do.
    """

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    limits: Limits = field(default_factory=Limits)
    window: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    package = "openai"
    shape = "openai_chat"
    cheap = MODEL

    @property
    def name(self) -> str:
        """What results and events call it."""
        return f"openai:{self.model or MODEL}"

    def session(self) -> Calls:
        """For plain callers: the SDK's plain client."""
        return Calls(self, "OpenAI")

    def asession(self) -> AsyncCalls:
        """For a running event loop: the SDK's asynchronous client."""
        return AsyncCalls(self, "AsyncOpenAI")

    def client(self, sdk: ModuleType, kind: str) -> Any:
        """A client of the SDK's."""
        given = {"api_key": self.api_key, "base_url": self.base_url, "max_retries": 0}
        given = {key: value for key, value in given.items() if value is not None}
        try:
            return getattr(sdk, kind)(**given)
        except sdk.OpenAIError:
            if self.base_url is None or self.api_key is not None:
                raise
            return getattr(sdk, kind)(**given, api_key="none")  # a local server asks for no key, the SDK does

    def create(self, client: Any, ask: Ask, seconds: float | None) -> Any:
        """The call: a completion, or what gives one when awaited."""
        # OpenAI's newer models refuse `max_tokens`; many other servers know nothing else.
        limit = {"max_completion_tokens": most(ask) + REASONING} if self._own else {"max_tokens": most(ask)}
        model = asked(self, ask)
        if ask.ride is not None:
            request = {**limit, **ask.ride.request(turn(ask)), **self.options}
            return client.chat.completions.create(model=model, timeout=seconds, **request)
        prompt = render(ask)
        return client.chat.completions.create(
            model=model,
            messages=[{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            timeout=seconds,
            **limit,
        )

    @property
    def _own(self) -> bool:
        """Whether the server is OpenAI's own."""
        return self.base_url is None or bool(_OWN.search(self.base_url))

    def serves(self, model: Model) -> bool:
        """Whether the session's model can be asked as well: another server has models of its own."""
        return self._own and bool(_MODELS.match(model.name))

    def answer(self, completion: Any, ask: Ask) -> Answer:
        """What a completion says; what a model thought aloud in front of it is no part of it.

        Raises:
            NoMessageError: the server sent something else.
        """
        choices: Any = getattr(completion, "choices", None)
        message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
        if message is None:
            raise NoMessageError(f"the answer is no message ({type(completion).__name__})")
        stop = "refusal" if getattr(message, "refusal", None) else getattr(choices[0], "finish_reason", None)
        called = getattr(message, "tool_calls", None) or getattr(message, "function_call", None)
        texts, other = _parts(getattr(message, "content", None))
        text, other = _THOUGHT.sub("", texts, count=1), (*other, "tool_calls") if called else other
        return Answer(text, stop, other, priced(_usage(getattr(completion, "usage", None)), asked(self, ask)))


def _parts(content: object) -> tuple[str, tuple[str, ...]]:
    """The text of a content, and the types of what is not text: some servers send parts."""
    if not isinstance(content, list):
        return (content, ()) if isinstance(content, str) else ("", ())
    parts = [part if isinstance(part, dict) else {} for part in content]
    texts = [part["text"] for part in parts if part.get("type") == "text" and isinstance(part.get("text"), str)]
    return "".join(texts), tuple(str(part.get("type")) for part in parts if part.get("type") != "text")


def _usage(usage: object) -> Usage:
    """What was charged, in the names of ``Usage``: what a cache had is told apart."""
    prompt, output = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
    found: Usage = {"calls": 1}
    if isinstance(prompt, int):
        read = cached if isinstance(cached, int) else 0
        found.update(input_tokens=prompt - read, cache_read_input_tokens=read)
    if isinstance(output, int):
        found["output_tokens"] = output
    return found
