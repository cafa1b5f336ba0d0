"""What stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ... import _core
from ..._repr import short
from ...ledger.columns import Zone

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .draft import Draft


@dataclass(frozen=True, slots=True)
class Tokens:
    """The newest messages, up to so many tokens, whole groups only.

    Attributes:
        count: of tokens.
        window: as a share of the window instead.
        target: as a share of the target instead.
    """

    __repr__ = short

    count: int = 0
    window: float = 0.0
    target: float = 0.0

    def __post_init__(self) -> None:
        """Refuses what is below nothing."""
        _at_least_nothing(count=self.count, window=self.window, target=self.target)

    def take(self, draft: Draft, window: int, target: int) -> tuple[str, int]:
        """The keeper as the core knows it."""
        del draft
        return "tokens", self.count + _part(window, self.window) + _part(target, self.target)


@dataclass(frozen=True, slots=True)
class Messages:
    """The newest messages, so many of them; groups that the boundary would part stay whole.

    Attributes:
        count: of messages.
        share: as a share of all messages instead, rounded down.
        of_more_than: none are kept where there are no more than this many times as many.
    """

    __repr__ = short

    count: int = 0
    share: float = 0.0
    of_more_than: float = 0.0

    def __post_init__(self) -> None:
        """Refuses what is below nothing."""
        _at_least_nothing(count=self.count, share=self.share, of_more_than=self.of_more_than)

    def take(self, draft: Draft, window: int, target: int) -> tuple[str, int]:
        """The keeper as the core knows it."""
        del window, target
        there = draft.messages - draft.head
        if self.of_more_than and there <= self.count * self.of_more_than:
            return "messages", 0
        return "messages", self.count + _part(there, self.share)


@dataclass(frozen=True, slots=True)
class Turns:
    """The newest turns: from the user's words that began them.

    Attributes:
        count: of turns.
    """

    __repr__ = short

    count: int

    def __post_init__(self) -> None:
        """Refuses what is below nothing."""
        _at_least_nothing(count=self.count)

    def take(self, draft: Draft, window: int, target: int) -> tuple[str, int]:
        """The keeper as the core knows it."""
        del window, target
        began = draft.requests().tolist()[-self.count :] if self.count else []
        return "messages", draft.messages - began[0] if began else 0


@dataclass(frozen=True, slots=True)
class Summaries:
    """Summaries of earlier compactions.

    Attributes:
        flag: a key of a message that says that it is one; None knows those of our own making alone.
    """

    __repr__ = short

    flag: str | None = None

    def take(self, draft: Draft, window: int, target: int) -> tuple[str, int]:
        """The keeper as the core knows it."""
        del draft, window, target
        return "summaries", 0


@dataclass(frozen=True, slots=True)
class Pins:
    """Pinned messages, with their groups.

    Attributes:
        flag: a key of a message that says that it is pinned; None knows those that the caller pinned alone.
    """

    __repr__ = short

    flag: str | None = None

    def take(self, draft: Draft, window: int, target: int) -> tuple[str, int]:
        """The keeper as the core knows it."""
        del draft, window, target
        return "pins", 0


Keeper: TypeAlias = Tokens | Messages | Turns | Summaries | Pins


@dataclass(frozen=True, slots=True)
class Keep:
    """What stays, in this order: the first keeper that takes a message names its zone.

    Attributes:
        keepers: each takes of what those before it left.
        snap: where a boundary goes that falls between safe cuts. ``back`` keeps more, ``forward`` keeps less,
            ``back_to_text`` goes back until the tail begins with words of user or assistant, ``own`` is as each keeper
            promises: tokens are not passed, messages stay.
        least: messages at the end that stay whatever the keepers say, in whole groups.
        fill: what room the target leaves is given back to older messages; without it, the zones are the last word.
    """

    __repr__ = short

    keepers: tuple[Keeper, ...]
    snap: Literal["back", "back_to_text", "forward", "own"] = "own"
    least: int = 1
    fill: bool = False

    def zones(self, draft: Draft, window: int, target: int) -> NDArray[np.uint8]:
        """The ``Zone`` of each message: uint8, shape (messages,)."""
        safe = draft.ledger.safe
        safe[0] = True
        return _core.partition(
            draft.cost.astype("uint32"),
            safe,
            safe & draft.begins_with_text if self.snap == "back_to_text" else safe,
            draft.summarized,
            draft.mask(draft.pins),
            keepers=[keeper.take(draft, window, target) for keeper in self.keepers],
            snap=self.snap.removesuffix("_to_text"),
            head=draft.head,
            least=self.least,
        )

    def boundary(self, draft: Draft, window: int = 0, target: int = 0) -> int:
        """The first message of the tail that stays: the one behind the last that nothing keeps, 0 if all stay."""
        gone = (self.zones(draft, window, target) == Zone.COMPACTABLE).nonzero()[0]
        return int(gone[-1]) + 1 if len(gone) else 0

    def recent_from(self, draft: Draft, target: int) -> int:
        """The first message that is not pruned: the last group always is among the newest."""
        first = (keeper.take(draft, 0, target)[1] for keeper in self.keepers if isinstance(keeper, Tokens))
        cut = _core.split(draft.cost.astype("uint32"), draft.safe, keep=next(first, 0))
        return min(draft.last_group if cut is None else cut, draft.last_group)

    def verbatim(self, draft: Draft, target: int) -> tuple[int, ...]:
        """Messages that never leave: pins, the last requests, and instructions up to a quarter of the target."""
        turns = next((keeper.count for keeper in self.keepers if isinstance(keeper, Turns)), 1)
        requests = [int(m) for m in draft.requests()[-turns:]] if turns else []
        room, instructions = target // 4, []
        for message in reversed(draft.instructions()):
            room -= int(draft.cost[message])
            if room >= 0:
                instructions.append(int(message))
        return draft.closed([*draft.pins, *requests, *instructions])

    def flags(self) -> tuple[str | None, str | None]:
        """The keys of a message that say that it is pinned, and that it is a summary."""
        pins = (keeper.flag for keeper in self.keepers if isinstance(keeper, Pins))
        summaries = (keeper.flag for keeper in self.keepers if isinstance(keeper, Summaries))
        return next(pins, None), next(summaries, None)


def _part(whole: int, share: float) -> int:
    """The share of a whole number, rounded down: 40 % of a window is ``window * 40 // 100`` (seed 000, section 4.3)."""
    return whole * round(share * 10_000) // 10_000


def _at_least_nothing(**given: float) -> None:
    for name, value in given.items():
        if value < 0:
            msg = f"need {name} >= 0, got {value}"
            raise ValueError(msg)
