"""A model behind OpenAI's chat API as a summarizer: OpenAI, vLLM, Ollama, llama.cpp (``trimtab[openai]``)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...errors import NoMessageError
from ...models.model import priced
from ..ask import Answer
from ..sections import schema
from .client import NO_KEY, Client, output_limit, sections_of

if TYPE_CHECKING:
    from types import ModuleType

    from ...models.model import Model
    from ..ask import Ask, Prompt, Usage

REASONING = 4_096
"""Output tokens for the reasoning of OpenAI's models, which counts against the same limit as the answer."""

_OPENAI_URL = re.compile(r"://[^/]*\bopenai\b")
_OPENAI_MODEL = re.compile(r"gpt-|o\d|chatgpt|codex")
_STRUCTURED = re.compile(r"gpt-(?:4o|4\.1|[5-9])|o[1345](?:-|$)")
_REASONING_TEXT = re.compile(r"\s*<think>(?:.*?</think>\s*|.*\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OpenAI(Client):
    """Summarizes with a model behind OpenAI's chat API.

    The SDK finds an address that is not given, and OpenAI's own key. Another server gets the key that is named for it,
    or none; the server of ``OPENAI_BASE_URL`` gets ``OPENAI_API_KEY``. A redirect to another server is a failure.

    Attributes:
        model: an id that the server knows; None asks the policy's model or the cheapest, else gpt-5.4-mini.
        base_url: address of the API, such as ``http://localhost:11434/v1``; None is OpenAI's own.
        api_key: the key; never shown.
        limits: deadline, number of calls and pauses; the SDK's own retries are off.
        window: the model's window in tokens; a larger zone is summarized in parts. None uses the model table.
        options: further keywords of the session's calls (``reasoning_effort``), repeated where a request reuses the
            session's cache, because they are part of the cached prompt.
        key_env: name of the environment variable that holds the key, read with each summary.
    """

    package = "openai"
    sdk_class = "OpenAI"
    shape = "openai_chat"
    cheap = "gpt-5.4-mini"
    domain = "openai.com"
    structures = _STRUCTURED

    def open(self, sdk: ModuleType, prefix: str = "") -> Any:
        """Return a client of the SDK, which refuses to start without a key; a local server needs none."""
        try:
            return Client.open(self, sdk, prefix)
        except sdk.OpenAIError:
            if self.base_url is None or self.api_key is not None:
                raise
            return replace(self, api_key=NO_KEY).open(sdk, prefix)

    def prompted(self, prompt: Prompt) -> dict[str, Any]:
        """Return the system message and the user message of a prompt."""
        return {"messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]}

    def create(self, client: Any, ask: Ask, seconds: float | None) -> Any:
        """Call ``chat.completions.create``."""
        # OpenAI's newer models refuse `max_tokens`; many other servers know nothing else.
        tokens = output_limit(ask)
        limit = {"max_completion_tokens": tokens + REASONING} if self._is_openai else {"max_tokens": tokens}
        form = {"name": "summary", "strict": True, "schema": schema(sections_of(ask))}
        request = {**limit, **self.keywords(ask, {"response_format": {"type": "json_schema", "json_schema": form}})}
        return client.chat.completions.create(model=self.asked(ask), timeout=seconds, **request)

    @property
    def _is_openai(self) -> bool:
        """Whether the server is OpenAI's own."""
        return self.base_url is None or bool(_OPENAI_URL.search(self.base_url))

    def serves(self, model: Model) -> bool:
        """Return whether the server is OpenAI's own and has the model; another server has models of its own."""
        return self._is_openai and bool(_OPENAI_MODEL.match(model.name))

    def answer(self, completion: Any, ask: Ask) -> Answer:
        """Return the answer in a completion, without reasoning in front of it.

        Raises:
            NoMessageError: the server sent something else.
        """
        choices: Any = getattr(completion, "choices", None)
        message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
        if message is None:
            raise NoMessageError(f"the answer is no message ({type(completion).__name__})")
        stop = "refusal" if getattr(message, "refusal", None) else getattr(choices[0], "finish_reason", None)
        text, other = _parts(getattr(message, "content", None))
        text = _REASONING_TEXT.sub("", text, count=1)
        if getattr(message, "tool_calls", None) or getattr(message, "function_call", None):
            other = (*other, "tool_calls")
        return Answer(text, stop, other, priced(_usage(getattr(completion, "usage", None)), self.asked(ask)))


def _parts(content: object) -> tuple[str, tuple[str, ...]]:
    """Return the text of a content, and the types of its other parts; some servers send a list."""
    if not isinstance(content, list):
        return (content, ()) if isinstance(content, str) else ("", ())
    parts = [part if isinstance(part, dict) else {} for part in content]
    texts = [part["text"] for part in parts if part.get("type") == "text" and isinstance(part.get("text"), str)]
    return "".join(texts), tuple(str(part.get("type")) for part in parts if part.get("type") != "text")


def _usage(usage: object) -> Usage:
    """Return the billed tokens, by the names of ``Usage``: the API includes cached tokens in the prompt's."""
    prompt, output = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
    found: Usage = {"calls": 1}
    if isinstance(prompt, int):
        read = cached if isinstance(cached, int) else 0
        found.update(input_tokens=prompt - read, cache_read_input_tokens=read)
    if isinstance(output, int):
        found["output_tokens"] = output
    return found
