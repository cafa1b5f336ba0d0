"""Whom to ask for a summary, and how: by the policy's word, the caller's, or the price table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..models.model import Model, retired
from ..models.prices import priced
from .writers.client import window_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..planning.stages import SummarizeZone

WORDS = 500
"""Tokens of what is asked, beside the messages."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a summary's calls are made of, in tokens.

    Attributes:
        zone: of the messages that leave.
        prompt: of the session's whole next prompt: system text, tools and messages.
        cached: of these, what the provider's cache has, by what the last call was charged; 0 where that is not known.
        answer: most tokens of the summary.
    """

    zone: int
    prompt: int
    cached: int
    answer: int


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to come by a summary.

    Attributes:
        author: what results and events call it.
        model: who is asked; None leaves it to the summarizer.
        rides: the session's own request is sent again, with one more turn of the user's behind it, so that the
            provider's cache has its beginning; else the messages that leave are sent alone, as data.
        cost: US dollars at most, an answer at its limit counted; NaN where a price is not known.
        window: tokens that it takes at once; None takes any number.
        why: why this one, where a better known one is passed over.
    """

    author: str
    model: str | None
    rides: bool = False
    cost: float = math.nan
    window: int | None = None
    why: str = ""

    def __str__(self) -> str:
        """The offer as a person reads it."""
        how = " riding the session's cache" if self.rides else ""
        cost = "price not known" if math.isnan(self.cost) else f"at most ${self.cost:.4f}"
        return f"{self.author}{how}, {cost}{f'; {self.why}' if self.why else ''}"


def offers(  # noqa: PLR0917 - who may be asked, by whom, and how much of it
    writer: object, name: str, stage: SummarizeZone, session: str, model: Model, sizes: Sizes, *, rides: bool
) -> tuple[Offer, ...]:
    """The ways to come by a summary, the one to take first.

    A model that the caller names is asked, else the one that the policy names, else the cheapest of the summarizer's
    own, the session's, and the session's cache. A price that is not known is above every other.

    Args:
        writer: the summarizer.
        name: its name.
        stage: the policy's.
        session: the id of the session's model.
        model: the session's model.
        sizes: of the calls.
        rides: whether the session's own request can be sent again.
    """
    package = getattr(writer, "package", None)
    if package is None:
        named = Model.named(stage.model) if stage.model else model
        return (Offer(name, stage.model, window=window_of(writer) or named.window),)

    def each() -> Iterator[Offer]:
        for asked, why in _asked(writer, stage, session, model):
            known = model if asked == session else Model.named(asked)
            cost = _cost(asked, {"input_tokens": sizes.zone + WORDS, "output_tokens": sizes.answer})
            author, window = f"{package}:{asked}", getattr(writer, "window", None) or known.window
            yield Offer(author, asked, cost=cost, window=window, why=why)
            if rides and asked == session and sizes.prompt + WORDS + sizes.answer <= window:
                fresh = max(sizes.prompt - sizes.cached, 0) + WORDS
                read = min(sizes.cached, sizes.prompt)
                usage = {"input_tokens": fresh, "cache_read_input_tokens": read, "output_tokens": sizes.answer}
                yield Offer(author, asked, rides=True, cost=_cost(asked, usage), window=window, why=why)

    return tuple(sorted(each(), key=lambda offer: math.inf if math.isnan(offer.cost) else offer.cost))


def _asked(writer: object, stage: SummarizeZone, session: str, model: Model) -> Iterator[tuple[str, str]]:
    """The models that come into question, and why, where that is not plain."""
    own: str = getattr(writer, "cheap", "")
    same = bool(getattr(writer, "serves", lambda _: False)(model))
    if given := getattr(writer, "model", None):
        yield given, ""
    elif stage.model:
        gone = retired(stage.model)
        yield (own, f"{stage.model} is retired") if gone else (stage.model, "")
    elif not stage.by_price:
        yield stage.asked(session) if same else own, ""
    else:
        yield own, ""
        if same and session != own:
            yield session, ""


def _cost(model: str, usage: Mapping[str, float]) -> float:
    return priced({**usage}, model).get("cost", math.nan)
