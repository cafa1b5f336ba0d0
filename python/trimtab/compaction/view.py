"""A compaction's result, told by the list that it was made of: it stands in for the beginning of later lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ..messages.types import Message

Part: TypeAlias = list[int] | dict[str, Any]
"""Messages from a position to another as they are, ``[start, stop]``; one with other blocks, ``{"of": position, "key":
the field of the blocks, "blocks": [position of a block or a new block]}``; or a new one, ``{"new": message}``."""

BLOCKS = ("content", "parts")
"""Fields that hold a message's blocks."""


@dataclass(frozen=True, slots=True)
class View:
    """A compaction's result, told by the list that it was made of.

    Attributes:
        ref: of the compaction.
        length: number of messages of that list.
        digest: of these messages.
        made: number of messages of the result.
        result: digest of the result.
        parts: the result's messages, in order.
    """

    ref: str
    length: int
    digest: str
    made: int
    result: str
    parts: list[Part]

    def __post_init__(self) -> None:
        """Check the values, which may be those of a file.

        Raises:
            ValueError: one of them cannot be that of a result.
        """
        texts, sizes = (self.ref, self.digest, self.result), (self.length, self.made)
        whole = all(isinstance(text, str) for text in texts) and all(type(n) is int and n >= 0 for n in sizes)
        if not whole or not isinstance(self.parts, list) or not all(map(self._is_part, self.parts)):
            raise ValueError("no result of a compaction: a digest, a position or a message is missing")

    def _is_part(self, part: object) -> bool:
        """Return whether a value tells of messages of a list of this length."""
        match part:
            case [int(start), int(stop)]:
                return 0 <= start <= stop <= self.length
            case {"new": dict()}:
                return True
            case {"of": int(place), "key": "content" | "parts", "blocks": [*blocks]}:
                known = all(isinstance(at, dict | str) or (type(at) is int and at >= 0) for at in blocks)
                return 0 <= place < self.length and known
        return False

    def apply(self, messages: Sequence[Message]) -> list[Message] | None:
        """Return the list with the result in place of its beginning; None where the result cannot be made of it.

        Kept messages and blocks are the given objects, new ones are made for each call: a caller may change its list.

        Args:
            messages: plain messages that begin with those of ``digest``.
        """
        made: list[Message] = []
        for part in self.parts:
            if isinstance(part, list):
                start, stop = part
                made.extend(messages[start:stop])
            elif "new" in part:
                made.append(_copy(part["new"]))
            else:
                original, key = messages[part["of"]], part["key"]
                blocks = original.get(key)
                last = max((place for place in part["blocks"] if isinstance(place, int)), default=-1)
                if not isinstance(blocks, list | tuple) or last >= len(blocks):
                    return None  # the same content as a text
                new = [blocks[place] if isinstance(place, int) else _copy(place) for place in part["blocks"]]
                made.append({**original, key: new})
        return [*made, *messages[self.length :]]

    def is_storable(self, redact: Callable[[str], str] | None) -> bool:
        """Return whether it has no text that must not be stored; without such a text, the same view could be made."""
        if redact is None:
            return True
        from ..archive.redact import redact_message  # noqa: PLC0415 - loaded for those who redact

        told: Message = {"parts": self.parts}
        return redact_message(told, redact) == told

    def hides(self, positions: Collection[int]) -> bool:
        """Return whether one of these messages is not as it was in the result."""
        kept = [part for part in self.parts if isinstance(part, list)]
        return any(at < self.length and not any(start <= at < stop for start, stop in kept) for at in positions)


def parts_of(originals: Sequence[Message], made: Sequence[Message]) -> list[Part]:
    """Return the messages of a result, told by the originals that they are or that they share blocks with."""
    places = {id(message): place for place, message in enumerate(originals)}
    parts: list[Part] = []
    blocks: dict[int, tuple[int, str, int]] | None = None
    for message in made:
        place = places.get(id(message))
        if place is None:
            blocks = _places(originals) if blocks is None else blocks
            parts.append(_changed(message, originals, blocks))
        elif parts and isinstance(parts[-1], list) and parts[-1][1] == place:
            parts[-1][1] += 1
        else:
            parts.append([place, place + 1])
    return parts


def _places(originals: Sequence[Message]) -> dict[int, tuple[int, str, int]]:
    """Return message, field and position of each block of the originals, by its id."""
    return {
        id(block): (place, key, at)
        for place, message in enumerate(originals)
        for key in BLOCKS
        if isinstance(found := message.get(key), list | tuple)
        for at, block in enumerate(found)
        if isinstance(block, Mapping)
    }


def _changed(message: Message, originals: Sequence[Message], blocks: dict[int, tuple[int, str, int]]) -> Part:
    """Return a message that is no original, by the original of which it has blocks."""
    for key in BLOCKS:
        found = message.get(key)
        shared = [blocks.get(id(block)) for block in found] if isinstance(found, list | tuple) else []
        homes = {(home[0], home[1]) for home in shared if home}
        if len(homes) == 1:
            ((place, field),) = homes
            original = originals[place]
            if field == key and {**original, key: None} == {**message, key: None}:
                told = [home[2] if home else _copy(block) for home, block in zip(shared, found or (), strict=True)]
                return {"of": place, "key": key, "blocks": told}
    return {"new": _copy(message)}


def _copy(value: Any) -> Any:
    """Return a value with dicts and lists of its own, and the same texts."""
    if isinstance(value, Mapping):
        return {key: _copy(part) for key, part in value.items()}
    return [_copy(part) for part in value] if isinstance(value, list | tuple) else value
