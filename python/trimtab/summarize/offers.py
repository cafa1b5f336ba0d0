"""The ways to get a summary: by the caller's model, the policy's, or the price table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..models.model import Model, retired

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..planning.stages import SummarizeZone
    from .writers.client import Client

WORDS = 500
"""Tokens of a summary request besides the messages, with a policy's words."""

STATE = 2_000
"""The same with trimtab's own: the task and the computed state."""

BEHIND = 3_000
"""Tokens of the newest messages, which trimtab's own request shows where it sends the removed messages alone."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Tokens of a summary's calls.

    Attributes:
        zone: tokens of the messages that leave.
        prompt: tokens of the session's whole next prompt: system text, tools and messages.
        cached: tokens of that prompt in the provider's cache, by the usage of the last call; 0 if unknown.
        answer: most tokens of the summary.
    """

    zone: int
    prompt: int
    cached: int
    answer: int


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to get a summary.

    Attributes:
        author: the name in results and events.
        model: the model to ask; None leaves it to the summarizer.
        reuse_cache: send the session's own request again with one more user turn, so that the provider's cache holds
            its beginning; otherwise send the messages that leave alone, as data.
        cost: most US dollars, with an answer at its limit; NaN if a price is unknown.
        window: the model's window in tokens; None accepts any number.
        why: the reason if a better known way is passed over.
    """

    author: str
    model: str | None
    reuse_cache: bool = False
    cost: float = math.nan
    window: int | None = None
    why: str = ""

    def __str__(self) -> str:
        """Return the offer as text for people."""
        how = " reusing the session's cache" if self.reuse_cache else ""
        cost = "price unknown" if math.isnan(self.cost) else f"at most ${self.cost:.4f}"
        return f"{self.author}{how}, {cost}{f'; {self.why}' if self.why else ''}"


def offers(  # noqa: PLR0917 - the summarizer, the policy, the session and its sizes
    writer: object, name: str, stage: SummarizeZone, session: str, model: Model, sizes: Sizes, *, reuse_cache: bool
) -> tuple[Offer, ...]:
    """Return the ways to get a summary, the one to try first in front.

    The caller's model is asked, else the policy's, else the cheapest of the summarizer's own, the session's, and the
    session's with its cached prompt. An unknown price is higher than any other.

    Args:
        writer: the summarizer.
        name: its name.
        stage: the policy's summary stage.
        session: the id of the session's model.
        model: the session's model.
        sizes: tokens of the calls.
        reuse_cache: whether the session's own request can be sent again.
    """
    from .writers.client import Client  # noqa: PLC0415 - loaded for those who ask for offers

    if not isinstance(writer, Client):
        named = Model.named(stage.model) if stage.model else model
        return (Offer(name, stage.model, window=getattr(writer, "window", None) or named.window),)

    words, behind = (STATE, BEHIND) if stage.template is None else (WORDS, 0)

    def each() -> Iterator[Offer]:
        for asked, why in _asked(writer, stage, session, model):
            known = model if asked == session else Model.named(asked)
            author, window = f"{writer.package}:{asked}", writer.window or known.window
            price = Model.named(asked).price
            cost = price.of(sizes.zone + words + behind, output=sizes.answer)
            yield Offer(author, asked, cost=cost, window=window, why=why)
            if reuse_cache and asked == session and sizes.prompt + words + sizes.answer <= window:
                read = min(sizes.cached, sizes.prompt)
                cost = price.of(sizes.prompt - read + words, read, sizes.answer)
                yield Offer(author, asked, reuse_cache=True, cost=cost, window=window, why=why)

    return tuple(sorted(each(), key=lambda offer: math.inf if math.isnan(offer.cost) else offer.cost))


def _asked(writer: Client, stage: SummarizeZone, session: str, model: Model) -> Iterator[tuple[str, str]]:
    """Yield the models to consider, each with the reason if there is one."""
    same = writer.serves(model)
    if writer.model:
        yield writer.model, ""
    elif stage.model:
        gone = retired(stage.model)
        yield (writer.cheap, f"{stage.model} is retired") if gone else (stage.model, "")
    elif not stage.by_price:
        yield session if same else writer.cheap, ""
    else:
        yield writer.cheap, ""
        if same and session != writer.cheap:
            yield session, ""
