"""Edits: the changes to a transcript that a plan lists, by position, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .._repr import short

Reason: TypeAlias = Literal["images", "superseded", "arguments", "pictures"]
"""Reason to prune a row before older rows; ``pictures``: the provider takes no more of them."""


@dataclass(frozen=True, slots=True)
class Prune:
    """Replaces old content by a placeholder: of tool results, of the user's images, and long arguments of calls.

    Ids and order stay, and the keys and types of a call's arguments.

    Attributes:
        rows: rows of result, image and call blocks, ascending.
        text: the placeholder; empty names the tool and what its call was about, states the number of removed tokens,
            and says how to get the original back. Unused with ``pictures``.
        why: the ``Reason`` to prune them first; empty for the oldest rows. With ``pictures``, a result keeps its text,
            and a notice in place of neighbouring pictures says how many left.
        keep_chars: characters of a text in a call's arguments that stays.
    """

    __repr__ = short

    rows: tuple[int, ...]
    text: str = ""
    why: str = ""
    keep_chars: int = 0

    @property
    def mends(self) -> bool:
        """Whether the rows are pictures of which the provider takes no more."""
        return self.why == "pictures"


@dataclass(frozen=True, slots=True)
class Cut:
    """Keeps the beginning of tool results.

    Attributes:
        rows: rows of result blocks, ascending.
        most: length that each result keeps, in ``unit``; code points stay whole.
        unit: ``bytes``, ``chars`` or ``utf16``.
        marker: the text appended to the kept part.
    """

    __repr__ = short

    rows: tuple[int, ...]
    most: int
    unit: str
    marker: str


@dataclass(frozen=True, slots=True)
class Truncate:
    """Keeps head and tail of tool results, and between them the lines that a later call quotes to replace them.

    Such a call names the same file (``old_string`` and its like, or a patch). Quoted lines take half of a result at
    most.

    Attributes:
        rows: rows of result blocks, ascending.
        max_tokens: most tokens that each result keeps.
    """

    __repr__ = short

    rows: tuple[int, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Summarize:
    """Replaces messages by a summary of them.

    Attributes:
        start: first message of the zone.
        stop: first message behind the zone.
        max_tokens: most tokens of the summary.
        keep: messages of the zone that stay, verbatim, behind the summary; ascending.
        skipped: messages in front of the zone that leave too: the provider's own compaction stands for them; ascending.
    """

    __repr__ = short

    start: int
    stop: int
    max_tokens: int
    keep: tuple[int, ...] = ()
    skipped: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Drop:
    """Replaces messages by a notice.

    Attributes:
        start: first message of the zone.
        stop: first message behind the zone.
        notice: the text in their place; empty where the provider's own compaction behind them stands for them.
        keep: messages of the zone that stay, verbatim, behind the notice; ascending.
        skipped: as in ``Summarize``.
    """

    __repr__ = short

    start: int
    stop: int
    notice: str
    keep: tuple[int, ...] = ()
    skipped: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StripThinking:
    """Removes thinking blocks that an edit in front of them invalidates; a message left empty is removed too.

    Attributes:
        rows: rows of thinking blocks, ascending.
    """

    __repr__ = short

    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mend:
    """Replaces lone surrogates in the texts of messages, because no provider takes a request with one.

    Attributes:
        messages: positions of the messages that have some and stay, ascending.
    """

    __repr__ = short

    messages: tuple[int, ...]


Edit: TypeAlias = Prune | Cut | Truncate | Summarize | Drop | StripThinking | Mend
EDITS = {edit.__name__: edit for edit in (Prune, Cut, Truncate, Summarize, Drop, StripThinking, Mend)}
"""Edit type by the name in a plan's JSON."""


NOTICE = "[trimtab: {count} earlier messages were left out here to save room; they are archived]"
"""The default notice in place of dropped messages."""


def dropped(zone: Summarize, notice: str = NOTICE, about: str = "") -> Drop:
    """Return the drop of a zone whose summary failed.

    Args:
        zone: the messages that leave.
        notice: format of the text in their place, with ``{count}`` and ``{about}``.
        about: the user's request in the zone.
    """
    count = zone.stop - zone.start - len(zone.keep)
    return Drop(zone.start, zone.stop, notice.format(count=count, about=about), zone.keep, zone.skipped)
