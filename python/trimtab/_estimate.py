"""Estimates by length, as values: what a policy counts with where it does not count as the model does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ._counter import Counter

if TYPE_CHECKING:
    from ._budget import Calibration


@dataclass(frozen=True, slots=True)
class Estimate:
    """A quarter of a text's length, and flat numbers for what is no text, all in tokens.

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
    """

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

    def counter(self) -> Counter:
        """What counts so."""
        return Counter(
            f"chars/4 {self.unit} {self.round}",
            message=self.message,
            call=self.call,
            result=self.result,
            image=self.image,
            low=self.low,
            least=self.least,
            joined=self.joined,
        )
