"""Length-based estimates of tokens, as values, for policies that do not use the model's tokenizer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from .._repr import short
from .counter import Counter, check_tools, sendable_all
from .tools import definitions_of


@dataclass(frozen=True, slots=True)
class Calibration:
    """Correct an estimate by the moving average of the ratio of billed to estimated tokens (sven, layer 1).

    Attributes:
        weight: weight of the newest call.
        min_factor: lower bound of the factor.
        max_factor: upper bound of the factor.
        terms: fields of ``Usage`` that are summed to the billed input.
    """

    __repr__ = short

    weight: float = 0.2
    min_factor: float = 0.5
    max_factor: float = 3.0
    terms: tuple[str, ...] = ("input", "cache_read")

    def update(self, factor: float, billed: int, estimated: int) -> float:
        """Return the factor after a call with so many billed and estimated tokens.

        A 0 means that the number is missing, and leaves the factor unchanged.
        """
        if estimated <= 0 or billed <= 0:
            return factor
        average = (1 - self.weight) * factor + self.weight * billed / estimated
        return min(max(average, self.min_factor), self.max_factor)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A text's length divided by the length of a token, and fixed numbers of tokens for other content.

    Attributes:
        name: the estimate's name in its document.
        unit: bytes of UTF-8, Unicode scalar values or UTF-16 units.
        round: rounding of the quotient.
        message: tokens added for each message.
        call: tokens added for each call.
        result: tokens added for each result.
        image: tokens of an image or document of any size; None measures it.
        low: tokens of an image of low detail; None counts it as ``image``.
        min_tokens: minimum tokens of a message.
        joined: round once a message, not once a text.
        calibration: the correction by billed calls; None applies none.
        asks: whether ``fit`` asks the counting endpoint of ``Compactor(count_with=...)`` first.
        per: units of one token.
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
    min_tokens: int = 0
    joined: bool = False
    calibration: Calibration | None = None
    asks: bool = False
    per: int = 4

    def overhead(self, tools: object = (), context: str | None = None) -> int:
        """Return the tokens of tool definitions and of a context block, which every call repeats.

        Args:
            tools: definitions in any provider's shape, as dicts or as objects of an SDK.
            context: the context block.
        """
        if tools:
            check_tools(tools)
        counter, known = self.counter(), definitions_of(sendable_all(tools)) if tools else []
        return sum(counter.count(_tool_text(tool)) for tool in known) + (counter.count(context) if context else 0)

    def counter(self) -> Counter:
        """Return the counter of this estimate."""
        return Counter(
            f"chars/{self.per} {self.unit} {self.round}",
            message=self.message,
            call=self.call,
            result=self.result,
            image=self.image,
            low=self.low,
            least=self.min_tokens,
            joined=self.joined,
        )


def _tool_text(tool: Any) -> str:
    """Return a function's name, description and parameters, from any provider's shape."""
    if not isinstance(tool, dict):
        return str(tool)
    inside = tool.get("function")
    tool = inside if isinstance(inside, dict) else tool
    schema = next((tool[key] for key in ("parameters_json", "input_schema", "parameters") if tool.get(key)), "")
    written = schema if isinstance(schema, str) else json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return str(tool.get("name") or "") + str(tool.get("description") or "") + written
