"""The tokens of rendered prompts, whoever renders them, and what is estimated from these."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from .. import _core
from .._log import log, outline
from ..errors import CountError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .chat import Contents


@dataclass(frozen=True, slots=True)
class RenderedTokens:
    """The tokens of a rendered prompt.

    Attributes:
        head: in front of the first message: the beginning of the prompt, the tools, the template's own system text.
        messages: of each message, with what the template puts around it.
        tail: behind the last message: what the answer begins with.
    """

    head: int
    messages: tuple[int, ...]
    tail: int

    @property
    def total(self) -> int:
        """Tokens of the whole prompt."""
        return self.head + sum(self.messages) + self.tail


class PromptRenderer(Protocol):
    """Renders the whole prompts of a model, and counts them."""

    def __hash__(self) -> int:
        """Return the hash of its settings: the tokens of tools are kept by it."""

    @property
    def name(self) -> str:
        """Name of the model, for errors."""

    @property
    def vocabulary(self) -> str:
        """Path of the vocabulary's file; empty for one that is built in."""

    @property
    def contents(self) -> Contents:
        """Contents that it reads."""

    @property
    def parses(self) -> bool:
        """Whether it reads the arguments of calls as objects; else as JSON text."""

    def count(
        self,
        counter: _core.Counter,
        messages: Sequence[Mapping[str, Any]],
        provider: str,
        *,
        system: object = None,
        tools: object = None,
    ) -> RenderedTokens:
        """Return the tokens of a whole prompt, as the model's server renders it.

        Raises:
            CountError: the messages cannot be rendered.
            ImportError: an extra is not installed.
        """


def texts_of_each(counter: _core.Counter, messages: Sequence[Mapping[str, Any]], provider: str) -> list[int]:
    """Return the tokens of each message's texts."""
    return [_core.Ledger.of([message], counter=counter, provider=provider).total for message in messages]


def estimated_tools(renderer: PromptRenderer, counter: _core.Counter, tools: str) -> int:
    """Return the tokens that tool definitions, given as JSON, add to a prompt.

    Where they cannot be rendered, those of the JSON: that is warned of once.
    """
    try:
        return _tool_tokens(renderer, counter, tools)
    except (CountError, ImportError) as error:
        warn(renderer, error)
        return counter.count(tools)


def warn(renderer: PromptRenderer, error: Exception) -> None:
    """Warn once that prompts are estimated, because they cannot be rendered."""
    _warn(what_renders(renderer, renderer.name), outline(error))


def what_renders(renderer: PromptRenderer | None, name: str) -> str:
    """Return what renders a model's prompts, for people: a chat template, unless its format is built in."""
    return f"the {'rendering' if renderer and not renderer.vocabulary else 'chat template'} of {name}"


@lru_cache(64)
def _tool_tokens(renderer: PromptRenderer, counter: _core.Counter, tools: str) -> int:
    """Return the tokens of tool definitions; cached, because every call of a session sends the same tools."""
    user, given = {"role": "user", "content": "."}, json.loads(tools)
    words = [{"role": "system", "content": "."}, user]
    try:
        without = renderer.count(counter, words, "openai_chat").total
    except CountError:  # it takes no system text
        words = [user]
        without = renderer.count(counter, words, "openai_chat").total
    return renderer.count(counter, words, "openai_chat", tools=given).total - without


@lru_cache(64)
def _warn(what: str, reason: str) -> None:
    log.warning("%s cannot render some messages, which are estimated: %s", what, reason)
