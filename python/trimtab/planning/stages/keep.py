"""The keep stage: messages that stay verbatim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ... import _core
from ..._repr import short
from ...ledger.columns import Zone

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .costs import Costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Keeps the newest messages up to a number of tokens, in whole groups.

    Attributes:
        count: number of tokens.
        window_share: share of the window, instead of a number.
        target_share: share of the target, instead of a number.
    """

    __repr__ = short

    count: int = 0
    window_share: float = 0.0
    target_share: float = 0.0

    def __post_init__(self) -> None:
        """Reject negative values."""
        _check_not_negative(count=self.count, window_share=self.window_share, target_share=self.target_share)

    def resolve(self, costs: Costs, window: int, target: int) -> tuple[str, int]:
        """Return the keeper's kind and limit for ``_core.partition``."""
        del costs
        return "tokens", self.count + _part(window, self.window_share) + _part(target, self.target_share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """Keeps a number of the newest messages, in whole groups.

    Attributes:
        count: number of messages.
        share: share of all messages, rounded down, instead of a number.
        of_more_than: keep none unless there are more than ``count`` times this factor.
    """

    __repr__ = short

    count: int = 0
    share: float = 0.0
    of_more_than: float = 0.0

    def __post_init__(self) -> None:
        """Reject negative values."""
        _check_not_negative(count=self.count, share=self.share, of_more_than=self.of_more_than)

    def resolve(self, costs: Costs, window: int, target: int) -> tuple[str, int]:
        """Return the keeper's kind and limit for ``_core.partition``."""
        del window, target
        there = costs.messages - costs.head
        if self.of_more_than and there <= self.count * self.of_more_than:
            return "messages", 0
        return "messages", self.count + _part(there, self.share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Keeps the newest turns; a user's text begins a turn.

    Attributes:
        count: number of turns.
    """

    __repr__ = short

    count: int

    def __post_init__(self) -> None:
        """Reject negative values."""
        _check_not_negative(count=self.count)

    def resolve(self, costs: Costs, window: int, target: int) -> tuple[str, int]:
        """Return the keeper's kind and limit for ``_core.partition``."""
        del window, target
        began = costs.requests.tolist()[-self.count :] if self.count else []
        return "messages", costs.messages - began[0] if began else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Flagged:
    """Base of the keepers that select single messages: by trimtab's own marks, or by a key of the message.

    Attributes:
        flag: the message key; None uses no key.
    """

    __repr__ = short

    flag: str | None = None

    def resolve(self, costs: Costs, window: int, target: int) -> tuple[str, int]:
        """Return the keeper's kind and limit for ``_core.partition``."""
        del costs, window, target
        return type(self).__name__.lower(), 0


class Summaries(Flagged):
    """Keeps the summaries of earlier compactions.

    Attributes:
        flag: message key that marks a summary, beside trimtab's envelope; None uses no key.
    """

    __slots__ = ()


class Pins(Flagged):
    """Keeps pinned messages, with their groups.

    Attributes:
        flag: message key that marks a pin, beside the caller's pins; None uses no key.
    """

    __slots__ = ()


Keeper: TypeAlias = Tokens | Messages | Turns | Flagged


@dataclass(frozen=True, slots=True)
class Keep:
    """The messages that stay: the first keeper that selects a message names its zone.

    Attributes:
        keepers: the keepers in order; each selects from the messages that the earlier ones left.
        boundary_moves: direction in which a boundary between two safe cuts moves. ``back`` keeps more, ``forward``
            keeps less, ``back_to_text`` moves back until the tail begins with text of user or assistant, ``own`` uses
            each keeper's own rule: ``Tokens`` keeps less, ``Messages`` keeps more.
        min_messages: least number of messages kept at the end, in whole groups.
        fill_target: keep older messages too, as far as the target has free tokens.
    """

    __repr__ = short

    keepers: tuple[Keeper, ...]
    boundary_moves: Literal["back", "back_to_text", "forward", "own"] = "own"
    min_messages: int = 1
    fill_target: bool = False

    def zones(self, costs: Costs, window: int, target: int) -> NDArray[np.uint8]:
        """Return the ``Zone`` of each message: uint8, shape (messages,)."""
        safe = costs.ledger.safe
        safe[0] = True
        return _core.partition(
            costs.per_message.astype("uint32"),
            safe,
            safe & costs.begins_with_text if self.boundary_moves == "back_to_text" else safe,
            costs.summarized,
            costs.mask(costs.pins),
            keepers=[keeper.resolve(costs, window, target) for keeper in self.keepers],
            snap=self.boundary_moves.removesuffix("_to_text"),
            head=costs.head,
            least=self.min_messages,
        )

    def boundary(self, costs: Costs, window: int = 0, target: int = 0) -> int:
        """Return the first message of the kept tail; 0 if all messages stay."""
        gone = (self.zones(costs, window, target) == Zone.COMPACTABLE).nonzero()[0]
        return int(gone[-1]) + 1 if len(gone) else 0

    def recent_from(self, costs: Costs, target: int) -> int:
        """Return the first message that is not pruned; the last group is never pruned."""
        first = (keeper.resolve(costs, 0, target)[1] for keeper in self.keepers if isinstance(keeper, Tokens))
        cut = _core.split(costs.per_message.astype("uint32"), costs.safe, keep=next(first, 0))
        return min(costs.last_group if cut is None else cut, costs.last_group)

    def verbatim(self, costs: Costs, target: int) -> tuple[int, ...]:
        """Return the messages that never leave.

        These are pins, the last requests, the thinking that opens a tool loop, and system messages up to a quarter of
        the target.
        """
        turns = next((keeper.count for keeper in self.keepers if isinstance(keeper, Turns)), 1)
        requests = [int(m) for m in costs.requests[-turns:]] if turns else []
        free, instructions = target // 4, []
        for message in reversed(costs.instructions()):
            free -= int(costs.per_message[message])
            if free >= 0:
                instructions.append(int(message))
        return costs.closed([*costs.pins, *requests, *costs.opener, *instructions])

    def flags(self) -> tuple[str | None, str | None]:
        """Return the message keys that mark a pin and a summary."""
        pins = (keeper.flag for keeper in self.keepers if isinstance(keeper, Pins))
        summaries = (keeper.flag for keeper in self.keepers if isinstance(keeper, Summaries))
        return next(pins, None), next(summaries, None)


def _part(whole: int, share: float) -> int:
    """Return a share of a number, rounded down: 40 % of a window is ``window * 40 // 100`` (spec09, section 4.3)."""
    return whole * round(share * 10_000) // 10_000


def _check_not_negative(**given: float) -> None:
    for name, value in given.items():
        if value < 0:
            msg = f"need {name} >= 0, got {value}"
            raise ValueError(msg)
