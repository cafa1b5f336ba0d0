"""Names of the numbers in a ledger's columns, as in ``rust/core/src/ledger/kind.rs``."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING

from .._core import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Kind", "Ledger", "MessageFlag", "Role", "RowFlag", "Zone", "blocks_of"]


class Kind(IntEnum):
    """Kind of a row."""

    TEXT = 0
    CALL = 1
    RESULT = 2
    THINKING = 3
    IMAGE = 4
    DOCUMENT = 5
    SERVER_CALL = 6
    SERVER_RESULT = 7
    COMPACTION = 8
    OPAQUE = 9


class Role(IntEnum):
    """Role of a message."""

    USER = 0
    ASSISTANT = 1
    SYSTEM = 2
    TOOL = 3
    OTHER = 4


class RowFlag(IntFlag):
    """Flags of a row."""

    EMPTY = 1
    BLANK = 2
    CACHED = 4
    SIGNED = 8
    ERROR = 16
    TRAILING = 32
    SUMMARY = 64
    PRUNED = 128
    INCOMPLETE = 256
    WHOLE = 512
    STORED = 1024
    FROM_CODE = 2048
    EMPTY_CACHED = 4096
    HIDES = 8192
    TAGGED = 16384
    FREE_TEXT = 32768


class MessageFlag(IntFlag):
    """Flags of a message."""

    NULL = 1
    EMPTY = 2
    GLUED = 4
    NO_CALLS = 8
    PLAIN = 16
    THINKS = 32
    SETTINGS = 64
    TRANSIENT = 128
    CONFIGURES = 256
    LONE_SURROGATE = 512  # not in the column: ``Ledger.surrogates``


class Zone(IntEnum):
    """Zone of a message, as the core's ``partition`` returns it."""

    COMPACTABLE = 0
    PROTECTED = 1
    PRESERVED = 2
    RECENT = 3
    SUMMARY = 4
    HEAD = 5


KINDS = {
    "results": (Kind.RESULT, Kind.SERVER_RESULT),
    "calls": (Kind.CALL, Kind.SERVER_CALL),
    "thinking": (Kind.THINKING,),
    "pictures": (Kind.IMAGE, Kind.DOCUMENT),
    "other": (Kind.COMPACTION, Kind.OPAQUE),
}
"""Kinds of blocks by the names under which their tokens are reported."""


def by_kind(tokens: list[list[int]], overhead: int) -> dict[str, int]:
    """Return tokens by kind: text by role, the rest by kind of block.

    Args:
        tokens: tokens by role and kind of block, as ``Ledger.sums`` returns them.
        overhead: tokens of the messages that belong to no block.
    """
    of_kinds = [*map(sum, zip(*tokens, strict=True))]
    text = [of[Kind.TEXT] for of in tokens]
    counts = {"user": text[Role.USER], "assistant": text[Role.ASSISTANT], "system": text[Role.SYSTEM]}
    for name, kinds in KINDS.items():
        counts[name] = sum([of_kinds[kind] for kind in kinds])
    rest = sum(of_kinds) - sum(counts.values())  # text of tools and of unknown roles
    return counts | {"message_overhead": overhead + rest}


def unpaired(ledger: Ledger) -> list[str]:
    """Return the ids of calls without a result and of results without a call, in order."""
    kinds = (Kind.CALL, Kind.RESULT, Kind.SERVER_CALL, Kind.SERVER_RESULT)
    alone = (ledger.pair < 0) & sum(ledger.kind == kind for kind in kinds).astype(bool)
    return [ledger.id_of(row) for row in alone.nonzero()[0].tolist()]


def blocks_of(ledger: Ledger, rows: Iterable[int]) -> dict[int, set[int]]:
    """Return the positions of rows in their messages, by message."""
    owner, first = ledger.owner, ledger.first
    found: dict[int, set[int]] = {}
    for row in rows:
        index = int(owner[row])
        found.setdefault(index, set()).add(row - int(first[index]))
    return found
