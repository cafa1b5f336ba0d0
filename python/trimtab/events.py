"""What happened, told afterwards: a listener can look, and change nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ._plan import Plan
    from .summarize import Usage


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction is done and archived.

    Attributes:
        trigger: ``manual`` or ``auto``.
        ref: gives the originals back.
        tokens_before: tokens of the messages as they were.
        tokens_after: tokens of the messages as they are.
        plan: what was done.
        summarizer: who wrote the summary, None if there is none.
        usage: what the summarizer charged, as in ``Compaction``.
    """

    trigger: str
    ref: str
    tokens_before: int
    tokens_after: int
    plan: Plan
    summarizer: str | None
    usage: Usage = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was changed: a hook said no, or the result would not have been smaller.

    Attributes:
        trigger: ``manual`` or ``auto``.
        reason: why.
    """

    trigger: str
    reason: str


@dataclass(frozen=True, slots=True)
class FellBack:
    """A summarizer failed, and another way was taken.

    Attributes:
        summarizer: the one that failed.
        reason: why.
        instead: what took its place: ``offline`` or ``drop``.
    """

    summarizer: str
    reason: str
    instead: str


Event: TypeAlias = Compacted | Refused | FellBack
