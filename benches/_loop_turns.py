"""Turns of an agent: two messages more, ``fit`` and ``record``; the first ``fit`` of a conversation is not timed."""

from __future__ import annotations

import json
import statistics
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import _loop_lists
import _loop_rivals
from _loop_row import TRIMTAB, Row, one, spent

import trimtab

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from _loop_lists import Message, Said

WINDOW = 10**8
"""Tokens: nothing is ever due."""
MODELS = {"chat": "gpt-5.5"}
GOALS = {
    100: {"strings": 0.09, "blocks": 0.12, "chat": 0.12, "SDK objects": 0.25},
    5_000: {"strings": 0.5, "blocks": 0.5, "chat": 0.5, "SDK objects": 3.0},
    100_000: {"strings": 9.0, "blocks": 12.0},
}
"""Milliseconds of a turn, by messages and shape."""

TURNS = {100: 25, 5_000: 9, 100_000: 3}
"""Timed turns of a round."""


class Kept:
    """A session of trimtab, whose caller keeps its list."""

    def __init__(self, shape: str) -> None:
        self.make, self.messages = _loop_lists.SHAPES[shape], []
        self.session = trimtab.Compactor(MODELS.get(shape, "claude-sonnet-4-5"), window=WINDOW).session("a")
        self.beside: dict[str, Any] = {"tools": _loop_lists.CHAT_TOOLS}
        if shape != "chat":
            self.beside = {"system": _loop_lists.SYSTEM, "tools": _loop_lists.TOOLS}
        self.billed = 0

    def extend(self, new: Iterable[Said]) -> None:
        self.messages += map(self.make, new)
        self.billed = self.billed + 80 if self.billed else self.session.count(self.messages, **self.beside)
        self.given = self.shown()

    def shown(self) -> list[Message]:
        """The list that is handed in."""
        return self.messages

    def turn(self) -> None:
        fitted = self.session.fit(self.given, **self.beside)
        self.session.record({"input_tokens": self.billed, "output_tokens": 40})
        assert fitted.compaction is None


class Parsed(Kept):
    """The list is parsed anew before each turn, as by a server."""

    def shown(self) -> list[Message]:
        return json.loads(json.dumps(self.messages))


class Clock(Kept):
    """The first message, the system text, tells the time."""

    def shown(self) -> list[Message]:
        text = f"{_loop_lists.SYSTEM} It is {len(self.messages) // 2} o'clock."
        return [{**self.messages[0], "content": text}, *self.messages[1:]]


class Sliding(Kept):
    """The oldest two messages leave at each turn; a call and its result leave together."""

    def __init__(self, shape: str) -> None:
        super().__init__(shape)
        self.length = 0

    def shown(self) -> list[Message]:
        self.length = self.length or len(self.messages)
        behind = len(self.messages) - self.length
        return [self.messages[0], *self.messages[1 + behind :]]


@cache
def base(count: int) -> tuple[Said, ...]:
    return tuple(_loop_lists.said(0, count))


def begun(conversation: Any, shape: str, count: int, turns: int) -> Iterator[float]:
    """Yield the milliseconds of a round's turns, of a new conversation that has ``count`` messages."""
    talk = conversation(shape)
    talk.extend(base(count))
    talk.turn()
    for turn in range(turns):
        talk.extend(_loop_lists.said(count + 2 * turn, 2))
        yield 1000 * spent(talk.turn)


def middle(conversation: Any, shape: str, count: int, turns: int) -> float:
    return statistics.median(begun(conversation, shape, count, turns))


def turn_rows(scale: int, rivals: Iterable[str]) -> Iterator[Row]:
    """Yield the rows of a turn, of lists a ``scale`` part of their length."""
    others = {name: _loop_rivals.RIVALS[name][1] for name in rivals}
    for count, goals in GOALS.items():
        length = max(count // scale, 100)
        for shape, goal in goals.items():
            if shape not in _loop_lists.shapes():
                continue
            made = {TRIMTAB: Kept} | (others if shape != "SDK objects" else {})
            columns = {name: partial(middle, each, shape, length, TURNS[count]) for name, each in made.items()}
            yield Row(f"{length:,} messages, {shape}", "ms", columns, goal, 100 if count < 100_000 else 5)
    length = max(5_000 // scale, 100)
    for name, conversation in (("parsed anew", Parsed), ("first message changed", Clock), ("sliding window", Sliding)):
        shape = "chat" if conversation is Clock else "blocks"
        measure = partial(middle, conversation, shape, length, TURNS[5_000])
        yield one(f"{length:,} messages, {name}", "ms", measure, 3.0)


class Growth:
    """Turns from an empty list on."""

    def __init__(self, shape: str, turns: int) -> None:
        self.shape, self.turns, self.took = shape, turns, []

    def total(self) -> float:
        """Seconds of all turns."""
        talk = Kept(self.shape)
        self.took = []
        for turn in range(self.turns):
            talk.extend(_loop_lists.said(2 * turn, 2))
            self.took.append(spent(talk.turn))
        return sum(self.took)

    def factor(self) -> float:
        """Cost of the last turns over that of turns after a tenth of them."""
        if not self.took:
            self.total()
        tenth, few = self.turns // 10, max(self.turns // 100, 2)
        early = statistics.median(self.took[tenth - few : tenth + few])
        return statistics.median(self.took[-2 * few :]) / early


def growth_rows(scale: int) -> Iterator[Row]:
    """Yield the rows of a conversation that is never compacted."""
    turns = max(10_000 // scale, 100)
    for shape in ("strings", "blocks"):
        growth = Growth(shape, turns)
        yield one(f"{turns:,} turns, {shape}", "s", growth.total, 6.0, rounds=1)
        yield one(f"a turn after {turns:,} beside {turns // 10:,}, {shape}", "x", growth.factor, 6.0, rounds=1)
