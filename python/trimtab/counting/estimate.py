"""Estimates by length, as values: what a policy counts with where it does not count as the model does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .._log import log
from .._repr import short
from ..errors import CountError
from .counter import Counter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..messages.types import Message


@dataclass(frozen=True, slots=True)
class Calibration:
    """Learns what a counted token comes to, from what calls were charged (seed 003, layer 1).

    Attributes:
        weight: of the newest call in the moving average.
        least: the factor never falls below this.
        most: nor rises above this.
        terms: what of a call's usage was input.
    """

    __repr__ = short

    weight: float = 0.2
    least: float = 0.5
    most: float = 3.0
    terms: tuple[str, ...] = ("input", "cache_read")

    def learned(self, factor: float, charged: int, counted: int) -> float:
        """The factor after a call that was charged ``charged`` tokens for what was counted as ``counted``.

        No prompt costs nothing: where either is 0 nothing was said of it, and nothing is learned.
        """
        if counted <= 0 or charged <= 0:
            return factor
        moved = (1 - self.weight) * factor + self.weight * charged / counted
        return min(max(moved, self.least), self.most)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A text's length over so many a token, and flat numbers for what is no text, all in tokens.

    Attributes:
        name: what the documents call it.
        unit: bytes of UTF-8, Unicode scalar values or UTF-16 units.
        round: what happens to the fraction.
        message: a message costs this by itself.
        call: a call costs this by itself.
        result: a result costs this by itself.
        image: a picture or a document, whatever its size; None measures it.
        low: a picture of low detail; None is as any other.
        least: a message costs at least this.
        joined: the fraction is dropped once a message, not once a text.
        learns: how the estimate is corrected by what calls are charged; None never is.
        asks: whether the provider's counting endpoint is asked first, where there is one.
        per: units that make a token.
    """

    __repr__ = short

    name: str
    unit: Literal["chars", "bytes", "utf16"]
    round: Literal["floor", "ceil", "half_up"]
    message: int = 0
    call: int = 0
    result: int = 0
    image: int | None = None
    low: int | None = None
    least: int = 0
    joined: bool = False
    learns: Calibration | None = None
    asks: bool = False
    per: int = 4

    def overhead(self, tools: Sequence[Mapping[str, Any]] = (), context: str | None = None) -> int:
        """Tokens of what is sent with every call beside the messages: each tool's text, and a block of context."""
        counter = self.counter()
        return sum(counter.count(_said(tool)) for tool in tools) + (counter.count(context) if context else 0)

    def counter(self) -> Counter:
        """What counts so."""
        return Counter(
            f"chars/{self.per} {self.unit} {self.round}",
            message=self.message,
            call=self.call,
            result=self.result,
            image=self.image,
            low=self.low,
            least=self.least,
            joined=self.joined,
        )


def _said(tool: Mapping[str, Any]) -> str:
    """A tool's name, description and parameters, in any provider's form."""
    inside = tool.get("function")
    tool = inside if isinstance(inside, dict) else tool
    schema = next((tool[key] for key in ("parameters_json", "input_schema", "parameters") if tool.get(key)), "")
    written = schema if isinstance(schema, str) else json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return str(tool.get("name") or "") + str(tool.get("description") or "") + written


@dataclass(frozen=True, slots=True)
class Counted:
    """What a session costs, and who says so.

    Attributes:
        total: tokens of all messages.
        used_api: whether the provider counted.
        per_message: tokens of each message; empty where the provider counted.
        error: why the provider did not count although it was asked, None otherwise.
    """

    total: int
    used_api: bool
    per_message: list[int]
    error: CountError | None = None


def asked(
    messages: Sequence[Message], estimate: Estimate, count: Callable[[Sequence[Message]], int] | None = None
) -> Counted:
    """The tokens of messages: by the provider where the estimate says so, by the estimate where that fails.

    Args:
        messages: in any provider's shape.
        estimate: counts where the provider does not.
        count: asks the provider; whatever it raises, the estimate takes its place.
    """
    failed = None
    if count is not None and estimate.asks:
        try:
            return Counted(count(messages), True, [])
        except Exception as error:  # noqa: BLE001 - however a provider fails: that is what the estimate is for
            failed = CountError(f"{CountError.words}: {error}")
            log.warning("%s; the estimate takes its place", failed)
    found = estimate.counter().per_message(messages).tolist() if messages else []
    return Counted(sum(found), False, found, failed)
