"""What a file holds and the messages do not: read, understood or not, and never sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

MOST_KINDS, LONGEST = 1_000, 60
"""Names that an account may have, and characters of each part of one: they come from the file."""

WORDS, MOST_LOOKED_AT = 3, 1_000
"""Words from which a text says something; values of a field that are looked at for one."""


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

    def fields(self, value: dict[str, Any], known: Collection[str], *names: object) -> None:
        """Counts the fields of something that is sent which are not known and say something.

        Identifiers, numbers, times and settings are passed over: nobody misses them in a prompt.
        """
        for name, inner in value.items():
            if name not in known and _says(inner):
                self.leave(*names, name)

    def objects(self, value: object, *names: object) -> list[dict[str, Any]]:
        """The objects of a list; what else stands in it is left out, and so is anything that is no list."""
        if value is None or value == "":
            return []
        entries = value if isinstance(value, list) else [value]
        found = [entry for entry in entries if isinstance(entry, dict)]
        self.leave(*names, "no object", count=len(entries) - len(found))
        return found


def _says(value: object) -> bool:
    """Whether words stand in a value, at any depth."""
    waiting = [value]
    for _ in range(MOST_LOOKED_AT):
        if not waiting:
            return False
        inner = waiting.pop()
        if isinstance(inner, str) and len(inner[:1_000].split(None, WORDS)) >= WORDS:
            return True
        if isinstance(inner, dict):
            waiting += inner.values()
        elif isinstance(inner, list):
            waiting += inner
    return True
