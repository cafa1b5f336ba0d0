"""A model's chat template, and the tokens of the prompts that it makes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core
from .._repr import short
from ..errors import CountError
from .chat import as_chat, as_functions, system_message
from .rendered import RenderedTokens, texts_of_each
from .renderer import RENDERER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .chat import Contents
    from .renderer import Parts


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A model's chat template with the vocabulary that its prompts are counted in.

    Attributes:
        name: of the model, for errors.
        source: the template, in Jinja.
        source_of_tools: another one for prompts with tools; empty where the first takes them.
        vocabulary: path of the vocabulary's file.
        names: special tokens that the template may name, as ``bos_token``.
        added: added tokens beside those that a ``tokenizer.json`` lists: each with its text, and whether it takes white
            space in front of it and behind it along, is none inside of a word, is looked for after the others.
        contents: what the template reads as a message's content.
        parses: whether it reads the arguments of calls as objects, as most do; else as JSON text.
        options: further values of the template, such as ``enable_thinking``, as a JSON object.
        begins: what the server puts in front of a prompt that does not begin with it; empty for nothing.
    """

    __repr__ = short

    name: str
    source: str = field(repr=False)
    vocabulary: str
    names: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    added: tuple[tuple[str, bool, bool, bool, bool], ...] = field(default=(), repr=False)
    contents: Contents = "text"
    parses: bool = True
    options: str = "{}"
    begins: str = field(default="", repr=False)
    source_of_tools: str = field(default="", repr=False)

    @property
    def file(self) -> str:
        """Name of the vocabulary's file."""
        return Path(self.vocabulary).name

    def parts(self, messages: Sequence[Mapping[str, Any]], tools: object = None) -> Parts:
        """Return the prompt of messages that are as servers hand them over.

        Args:
            messages: in Chat Completions' shape.
            tools: functions.

        Raises:
            CountError: the template refuses them, or takes too much time or memory.
            ImportError: the extra ``open`` is not installed.
        """
        if not messages:
            raise CountError("there are no messages to render")
        values = {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": True}
        source = self.source_of_tools if tools and self.source_of_tools else self.source
        try:
            parts = RENDERER.render(source, values | dict(self.names) | json.loads(self.options))
        except CountError as error:
            raise CountError(f"the chat template of {self.name} cannot render this: {error}") from None
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
        if not any(found):  # the template took the messages out of their list: nothing tells which one it is at
            head, found, tail = _shared(head + tail, texts_of_each(counter, messages, provider))
        return RenderedTokens(head, tuple(found), tail)

    def tokens(self, counter: _core.Counter, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each part of one rendered text.

        Raises:
            CountError: the vocabulary's file is gone, or cannot be read any more.
        """
        try:
            stamp = Path(self.vocabulary).stat().st_mtime_ns
            added = _added(self.vocabulary, self.added, stamp)
        except (OSError, ValueError) as error:
            raise CountError(f"{self.vocabulary}: {error}") from None
        return added.count(counter, texts)


def _shared(total: int, texts: list[int]) -> tuple[int, list[int], int]:
    """Return a prompt's tokens by what its messages say: in front of these, of each, and behind them."""
    over = sum(texts) - total
    for at in range(len(texts) - 1, -1, -1):
        less = min(max(over, 0), texts[at])
        texts[at] -= less
        over -= less
    return max(-over, 0), texts, 0


@lru_cache(16)
def _added(vocabulary: str, added: tuple[tuple[str, bool, bool, bool, bool], ...], _stamp: int) -> _core.AddedTokens:
    """Return the added tokens of a vocabulary, which is read again when it has changed."""
    file = Path(vocabulary).read_bytes() if vocabulary.endswith(".json") else None
    return _core.AddedTokens(added, file=file)
