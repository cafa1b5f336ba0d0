"""Counts of a file's contents that no message holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

MOST_KINDS, LONGEST = 1_000, 60
"""Limits on the number of kinds and the characters of each part of a name, because names come from the file."""

WORDS, MOST_SEARCHED = 3, 1_000
"""Words from which a text counts as content; maximum number of values of a field to search for one."""


@dataclass(slots=True)
class LeftOut:
    """Counts by kind.

    Attributes:
        left_out: count of each kind, named by the file's own types, outermost first.
    """

    left_out: dict[str, int] = field(default_factory=dict)

    def leave(self, *names: object, count: int = 1) -> None:
        """Count omitted entries; parts of the name that are no text are ignored."""
        kind = "/".join(name[:LONGEST] for name in names if isinstance(name, str) and name) or "without a type"
        if kind not in self.left_out and len(self.left_out) >= MOST_KINDS:
            kind = "other kinds"
        if count > 0:
            self.left_out[kind] = self.left_out.get(kind, 0) + count

    def leave_fields(self, value: dict[str, Any], known: Collection[str], *names: object) -> None:
        """Count the unknown fields with text in an entry that becomes a message.

        Identifiers, numbers, times and settings do not count: they are not part of a prompt.
        """
        for name, inner in value.items():
            if name not in known and _has_text(inner):
                self.leave(*names, name)

    def objects(self, value: object, *names: object) -> list[dict[str, Any]]:
        """Return the objects of a list, and count its other entries as omitted."""
        if value is None or value == "":
            return []
        entries = value if isinstance(value, list) else [value]
        found = [entry for entry in entries if isinstance(entry, dict)]
        self.leave(*names, "no object", count=len(entries) - len(found))
        return found


def _has_text(value: object) -> bool:
    """Return whether a value contains text, at any depth."""
    pending = [value]
    for _ in range(MOST_SEARCHED):
        if not pending:
            return False
        inner = pending.pop()
        if isinstance(inner, str) and len(inner[:1_000].split(None, WORDS)) >= WORDS:
            return True
        if isinstance(inner, dict):
            pending += inner.values()
        elif isinstance(inner, list):
            pending += inner
    return True
