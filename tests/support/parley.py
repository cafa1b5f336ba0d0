"""A framework of one class, made up for ``docs/dev/add-a-framework.md``: an agent whose plugins see each model call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


class Plugin:
    """What an agent asks before and after each model call."""

    def before_call(self, agent: Agent, messages: Sequence[Any]) -> list[Any]:
        """Return the messages to send instead."""
        return [*messages]

    def after_call(self, agent: Agent, usage: Any) -> None:
        """Look at the usage of an answer."""


@dataclass
class Agent:
    """Keeps a list of messages as OpenAI's Chat Completions have them, and sends it to a model.

    Attributes:
        name: names the conversation.
        model: takes a list, and returns an answer and its usage.
        plugins: asked in their order.
        system: the system text.
        messages: all that was said.
    """

    name: str
    model: Callable[[list[Any]], tuple[Any, Any]]
    plugins: Sequence[Plugin] = ()
    system: str = ""
    messages: list[Any] = field(default_factory=list)

    def run(self, text: str) -> str:
        """Return the model's answer to the user's text."""
        self.messages.append({"role": "user", "content": text})
        for plugin in self.plugins:
            self.messages = plugin.before_call(self, self.messages)
        answer, usage = self.model(self.messages)
        self.messages.append(answer)
        for plugin in self.plugins:
            plugin.after_call(self, usage)
        return str(answer["content"])
