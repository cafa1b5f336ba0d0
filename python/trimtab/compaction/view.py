"""A compaction's result, told by the list that it was made of: it stands in for the beginning of later lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import _core
from ..messages.usage import MOST

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ..ledger.columns import Ledger
    from ..messages.types import Message

Part: TypeAlias = list[int] | dict[str, Any]
"""Messages from a position to another as they are, ``[start, stop]``; one with other blocks, ``{"of": position, "key":
the field of the blocks, "blocks": [position of a block or a new block]}``; or a new one, ``{"new": message}``."""


@dataclass(frozen=True, slots=True)
class View:
    """A compaction's result, told by the list that it was made of, without the end that is the same in both.

    Attributes:
        ref: of the compaction.
        length: number of messages of that list.
        digest: of these messages.
        made: number of messages of the result.
        result: digest of the result.
        parts: the result's messages, in order.
        strips: whether thinking that the edits broke was taken out, as models need that bind it to what is before it.
    """

    ref: str
    length: int
    digest: str
    made: int
    result: str
    parts: list[Part]
    strips: bool = False

    @classmethod
    def of(
        cls,
        ref: str,
        originals: Sequence[Message],
        origin: Ledger,
        made: Sequence[Message],
        ledger: Ledger,
        *,
        strips: bool,
    ) -> View:
        """Return the view of a result.

        Unchanged messages at its end are left out: a reminder at the end of each call, which the history does not have,
        would otherwise end the result at once.

        Args:
            ref: of the compaction.
            originals: the messages that it was made of.
            origin: ledger of a list that begins with them.
            made: the result.
            ledger: of a list that begins with it.
            strips: whether thinking that the edits broke was taken out.
        """
        # A part in front may be of a message behind `start`, where one is in the list twice.
        parts, length, kept = _core.parts_of(originals, made), len(originals), len(made)
        match parts:
            case [*others, [int(start), int(stop)]] if start and stop == length:
                ends = [part[1] if isinstance(part, list) else part.get("of", -1) + 1 for part in others]
                if max(ends, default=0) <= start:
                    parts, length, kept = others, start, kept - (stop - start)
        return cls(ref, length, origin.digest_until(length), kept, ledger.digest_until(kept), parts, strips)

    def __post_init__(self) -> None:
        """Check the values, which may be those of a file.

        Raises:
            ValueError: one of them cannot be that of a result.
        """
        texts, sizes = (self.ref, self.digest, self.result), (self.length, self.made)
        whole = all(isinstance(text, str) for text in texts) and all(type(n) is int and 0 <= n <= MOST for n in sizes)
        whole = whole and isinstance(self.strips, bool)
        if not whole or not isinstance(self.parts, list) or not self._are_parts():
            raise ValueError("no result of a compaction: a digest, a position or a message is missing")

    def _are_parts(self) -> bool:
        """Return whether the parts tell of messages of a list of this length."""
        for part in self.parts:
            match part:
                case [int(start), int(stop)] if 0 <= start <= stop <= self.length:
                    continue
                case {"new": dict()}:
                    continue
                case {"of": int(place), "key": "content" | "parts", "blocks": [*blocks]} if 0 <= place < self.length:
                    for block in blocks:
                        if not isinstance(block, dict | str) and (type(block) is not int or not 0 <= block <= MOST):
                            return False
                case _:
                    return False
        return True

    def apply(self, messages: Sequence[Message]) -> list[Message] | None:
        """Return the list with the result in place of its beginning; None where the result cannot be made of it.

        Kept messages and blocks are the given objects, new ones are made for each call: a caller may change its list.

        Args:
            messages: plain messages that begin with those of ``digest``.
        """
        return _core.made_of(self.parts, messages, self.length)

    def is_storable(self, redact: Callable[[str], str] | None) -> bool:
        """Return whether it has no text that must not be stored; without such a text, the same view could be made."""
        if redact is None:
            return True
        from ..archive.redact import redact_message  # noqa: PLC0415 - loaded for those who redact

        told: Message = {"parts": self.parts}
        return redact_message(told, redact) == told

    @property
    def unchanged(self) -> int:
        """Number of messages at the beginning of the result that stand at the beginning of the list, too."""
        first = self.parts[0] if self.parts else None
        return first[1] if isinstance(first, list) and first[0] == 0 else 0

    def hides(self, positions: Collection[int]) -> bool:
        """Return whether one of these messages is not as it was in the result."""
        kept = [part for part in self.parts if isinstance(part, list)]
        return any(at < self.length and not any(start <= at < stop for start, stop in kept) for at in positions)
