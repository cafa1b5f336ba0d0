"""Stand-ins of a case for the model, the listeners and the hooks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from trimtab import hooks
from trimtab.events import CompactBoundary, Step
from trimtab.summarize import Ask, Function, Limits, request

WORDS = {"text": "what was said, in words"}
"""The model's answer if a case names none."""


class Stub:
    """A model that says what a case says, and remembers what it was asked."""

    def __init__(self, answers: Any = None) -> None:
        self.asks: list[Ask] = []
        given = answers or WORDS
        self.answers = itertools.chain(given, itertools.repeat(WORDS)) if isinstance(given, list) else given

    def __call__(self, ask: Ask) -> str:
        self.asks.append(ask)
        return self.say()

    def say(self) -> str:
        answer = self.answers if isinstance(self.answers, Mapping | str) else next(self.answers)
        said = {"text": answer} if isinstance(answer, str) else answer
        if said.get("error"):
            raise RuntimeError(said["error"])
        return said.get("text") or ""

    @property
    def prompts(self) -> list[str]:
        return [request(ask).prompt for ask in self.asks]

    @property
    def writer(self) -> Function:
        return Function(self, limits=Limits(tries=True))


class Told:
    """Listens, and says it in the words of a case."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.reviews: list[hooks.Review] = []

    @property
    def order(self) -> list[str]:
        return [event.name for event in self.events if isinstance(event, Step)]

    @property
    def boundary(self) -> dict[str, Any] | None:
        found = [event.payload() for event in self.events if isinstance(event, CompactBoundary)]
        return next((each | each["compact_metadata"] for each in found), None)

    def hook(self, outputs: Any) -> Callable[[hooks.Review], hooks.Verdict]:
        said = [output.get("custom_instructions") for output in outputs or () if output]
        verdict = hooks.Verdict(instructions=next((text for text in said if text), None))

        def ask(review: hooks.Review) -> hooks.Verdict:
            self.reviews.append(review)
            return verdict

        return ask
