"""What a file holds and the messages do not: read, understood or not, and never sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MOST_KINDS, LONGEST = 1_000, 60
"""Names that an account may have, and characters of each part of one: they come from the file."""


@dataclass(slots=True)
class Account:
    """Numbers by kind.

    Attributes:
        kinds: how many of each kind, named as the file names it: an entry's type, then what is in it.
    """

    kinds: dict[str, int] = field(default_factory=dict)

    def leave(self, *names: object, count: int = 1) -> None:
        """Counts something that is left out; names that are no text are passed over."""
        kind = "/".join(name[:LONGEST] for name in names if isinstance(name, str) and name) or "without a type"
        if kind not in self.kinds and len(self.kinds) >= MOST_KINDS:
            kind = "other kinds"
        if count > 0:
            self.kinds[kind] = self.kinds.get(kind, 0) + count

    def objects(self, value: object, *names: object) -> list[dict[str, Any]]:
        """The objects of a list; what else stands in it is left out, and so is anything that is no list."""
        if value is None or value == "":
            return []
        entries = value if isinstance(value, list) else [value]
        found = [entry for entry in entries if isinstance(entry, dict)]
        self.leave(*names, "no object", count=len(entries) - len(found))
        return found
