"""A model's chat template, and the tokens of the prompts that it makes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core
from .._log import log, outline
from .._repr import short
from ..errors import CountError
from .chat import as_chat, as_functions, system_message
from .renderer import RENDERER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .chat import Contents
    from .renderer import Parts


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


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A model's chat template with the vocabulary that its prompts are counted in.

    Attributes:
        name: of the model, for errors.
        source: the template, in Jinja.
        vocabulary: path of the vocabulary's file.
        names: special tokens that the template may name, as ``bos_token``.
        added: the added tokens of a vocabulary that is no ``tokenizer.json``: each with its text, and whether it takes
            white space in front of it and behind it along, is none inside of a word, is looked for after the others.
        contents: what the template reads as a message's content.
        parses: whether it reads the arguments of calls as objects, as most do; else as JSON text.
        options: further values of the template, such as ``enable_thinking``.
        begins: what the server puts in front of a prompt that does not begin with it; empty for nothing.
    """

    __repr__ = short

    name: str
    source: str = field(repr=False)
    vocabulary: str
    names: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    added: tuple[tuple[str, bool, bool, bool, bool], ...] | None = field(default=None, repr=False)
    contents: Contents = "text"
    parses: bool = True
    options: tuple[tuple[str, Any], ...] = ()
    begins: str = field(default="", repr=False)

    @property
    def file(self) -> str:
        """Name of the vocabulary's file."""
        return Path(self.vocabulary).name

    def parts(self, messages: Sequence[Mapping[str, Any]], tools: object = None, *, is_answered: bool = False) -> Parts:
        """Return the prompt of messages that are as servers hand them over.

        Args:
            messages: in Chat Completions' shape.
            tools: functions.
            is_answered: the prompt ends with the last message, not with the beginning of an answer.

        Raises:
            CountError: the template refuses them, or takes too much time or memory.
            ImportError: the extra ``open`` is not installed.
        """
        values = {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": not is_answered}
        try:
            parts = RENDERER.render(self.source, values | dict(self.names) | dict(self.options))
        except CountError as error:
            raise CountError(f"the chat template of {self.name} cannot be rendered: {error}") from None
        begins = "".join(text for _, text in parts[:2]).startswith(self.begins)
        return parts if begins else [(-1, self.begins), *parts]

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

        Args:
            counter: of the vocabulary.
            messages: plain dicts.
            provider: their shape.
            system: system text beside the messages.
            tools: tool definitions, in Chat Completions' or Anthropic's shape.

        Raises:
            CountError: the template refuses them, or takes too much time or memory; or no server takes their shape.
            ImportError: the extra ``open`` is not installed.
        """
        placed = as_chat(messages, provider, self.contents, parses=self.parses)
        own = system_message(system)
        parts = self.parts([*own, *(message for _, message in placed)], as_functions(tools))
        counts = self.tokens(counter, [text for _, text in parts])
        # Behind the last message stands the answer's beginning; a system text beside the list belongs to the head.
        owners = [-1] * len(own) + [index for index, _ in placed] + [len(messages)]
        head, tail, found = 0, 0, [0] * len(messages)
        for (place, _), tokens in zip(parts, counts, strict=True):
            owner = owners[place] if place >= 0 else -1
            if owner < 0:
                head += tokens
            elif owner < len(messages):
                found[owner] += tokens
            else:
                tail += tokens
        return RenderedTokens(head, tuple(found), tail)

    def tool_tokens(self, counter: _core.Counter, tools: str) -> int:
        """Return the tokens that tool definitions, given as JSON, add to a prompt.

        Raises:
            CountError: the template refuses them.
            ImportError: the extra ``open`` is not installed.
        """
        return _tool_tokens(self, counter, tools)

    def estimated_tools(self, counter: _core.Counter, tools: str) -> int:
        """Return the same; the tokens of the JSON where the template refuses the tools, which is warned of once."""
        try:
            return _tool_tokens(self, counter, tools)
        except CountError as error:
            self.warn(error)
            return counter.count(tools)

    def warn(self, error: CountError) -> None:
        """Warn once that the template refuses what servers would hand to it, so that its prompts are estimated."""
        _warn(self.name, outline(error))

    def tokens(self, counter: _core.Counter, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each part of one rendered text."""
        counts: list[int] = _added(self.vocabulary, self.added).count(counter, texts).tolist()
        return counts


@cache
def _added(vocabulary: str, added: tuple[tuple[str, bool, bool, bool, bool], ...] | None) -> _core.AddedTokens:
    """Return the added tokens of a vocabulary, which is read once."""
    return _core.AddedTokens(file=Path(vocabulary).read_bytes()) if added is None else _core.AddedTokens(added)


@lru_cache(64)
def _tool_tokens(template: ChatTemplate, counter: _core.Counter, tools: str) -> int:
    """Return the tokens of tool definitions; cached, because every call of a session sends the same tools."""
    words = [{"role": "system", "content": "."}, {"role": "user", "content": "."}]
    without = template.count(counter, words, "openai_chat").total
    return template.count(counter, words, "openai_chat", tools=json.loads(tools)).total - without


@lru_cache(64)
def _warn(name: str, reason: str) -> None:
    log.warning("the chat template of %s cannot be rendered, its prompts are estimated: %s", name, reason)
