"""What fills a transcript: its tokens by tool, file, turn and message, its largest results, and reads that it repeats.

Start with ``Contents.of(messages, counter)``, or with ``Contents(messages, ledger)`` where a ledger is at hand:

- ``by("tool" | "file" | "turn" | "message")``: ``Group`` values, whose tokens add up to those of the messages;
- ``largest(10)``: the largest tool results as ``Block`` values, with tool, argument and first words;
- ``repeats()``: reads of a file that a newer read made old, as ``Repeat`` values, with what the old ones cost;
- ``over(4_000)``: tokens that a limit for each result would save;
- ``block(row)``, ``title(message)`` and ``per_message``: one block, what a message is about, and an array of tokens.

A message's number is its position: message 0 is ``messages[0]``. ``show``, ``plan`` and every report use these numbers.
Columns are walked as arrays. Messages themselves are read for what is returned, and for ``by("file")``, which reads the
arguments of each call.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from .. import _core
from ..counting.counter import scan
from ..messages.calls import called, file_of, part_of, subject
from .columns import Kind, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ..counting.counter import Counter
    from ..messages.types import Message
    from .columns import Ledger

By: TypeAlias = Literal["tool", "file", "turn", "message"]

OVERHEAD = "message overhead"
"""Name of the group of tokens that messages have beyond their blocks."""

UNKNOWN = "unknown tool"
"""Name of the tool of a result whose call is not in the list."""

WORDS, ARGUMENT = 80, 400
"""Characters of the first words of a block, and of an argument, at most."""

_CALLS, _RESULTS = (Kind.CALL, Kind.SERVER_CALL), (Kind.RESULT, Kind.SERVER_RESULT)
_TEXTS = {Role.USER: "user text", Role.ASSISTANT: "assistant text", Role.SYSTEM: "system text"}
_OTHERS = {
    Kind.THINKING: "thinking",
    Kind.IMAGE: "pictures",
    Kind.DOCUMENT: "documents",
    Kind.COMPACTION: "provider's summaries",
}
OTHER = "other blocks"
REST = "everything else"
"""Names of the groups of blocks of no known kind, and of all groups that are not among the largest."""


@dataclass(frozen=True, slots=True)
class ContentBlock:
    """One block of a message.

    Attributes:
        row: its row in the ledger.
        message: the number of its message.
        kind: its kind in lower case: ``result``, ``call``, ``text``, ``thinking``, ``image``, ...
        tool: the tool of a call or a result, empty for other blocks.
        argument: what the call was about, in one line: a path, a command, a query; empty if nothing says it.
        words: its first words, in one line; of a call its argument.
        tokens: its tokens.
    """

    row: int
    message: int
    kind: str
    tool: str
    argument: str
    words: str
    tokens: int

    @property
    def about(self) -> str:
        """The tool with its argument, or the first words of a block without a tool."""
        return f"{self.tool} {self.argument}".strip() or self.words


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks that were grouped together.

    Attributes:
        name: a tool, a file, a turn's first words, or what a message is about; or a kind of text, such as
            ``assistant text``, and ``message overhead``.
        tokens: tokens of all its blocks: of a tool's calls and their results together.
        number: number of calls of a tool or on a file; of messages in a turn; of other blocks.
        first: the number of the first message with one of its blocks.
    """

    name: str
    tokens: int
    number: int
    first: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """A file, or a part of one, that was read again: results that a newer one made old.

    Attributes:
        tool: the tool that read it.
        argument: the file.
        messages: numbers of the messages with the old results, ascending.
        newest: number of the message with the newest result.
        tokens: tokens of the old results.
        part: which part of the file the old reads asked for, such as ``offset 10, limit 20``; empty for the whole file.
    """

    tool: str
    argument: str
    messages: tuple[int, ...]
    newest: int
    tokens: int
    part: str = ""


class Contents:
    """What fills a transcript.

    Args:
        messages: the transcript, as plain messages.
        ledger: of the messages.
    """

    def __init__(self, messages: Sequence[Message], ledger: Ledger) -> None:
        self.messages, self.ledger = messages, ledger

    @classmethod
    def of(cls, messages: Sequence[Message], counter: Counter, provider: str | None = None) -> Contents:
        """Return the contents of messages, counted; the provider's shape is detected where it is None.

        Raises:
            MessageError: a message cannot be read.
        """
        return cls(messages, scan(messages, counter, provider))

    @cached_property
    def owner(self) -> NDArray[np.uint32]:
        """The message of each row: uint32, shape (rows,)."""
        return self.ledger.owner

    @cached_property
    def kind(self) -> NDArray[np.uint8]:
        """The ``Kind`` of each row: uint8, shape (rows,)."""
        return self.ledger.kind

    @cached_property
    def tokens(self) -> NDArray[np.int64]:
        """Tokens of each row: int64, shape (rows,)."""
        return self.ledger.tokens.astype("int64")

    @cached_property
    def per_message(self) -> NDArray[np.int64]:
        """Tokens of each message: int64, shape (messages,)."""
        return self.ledger.per_message.astype("int64")

    @cached_property
    def first(self) -> NDArray[np.uint32]:
        """The first row of each message, and the number of rows: uint32, shape (messages + 1,)."""
        return self.ledger.first

    @cached_property
    def calls(self) -> NDArray[np.int64]:
        """The row of the call of each row: its own for a call, -1 for what belongs to none: int64, shape (rows,)."""
        own = np.where(np.isin(self.kind, _CALLS), np.arange(len(self.kind)), -1)
        found: NDArray[np.int64] = np.where(np.isin(self.kind, _RESULTS), self.ledger.pair, own)
        return found

    @cached_property
    def newer(self) -> NDArray[np.int32]:
        """The newest read's result that made each row old, -1 for none: int32, shape (rows,)."""
        return self.ledger.superseded

    def by(self, what: By, top: int | None = None) -> list[Group]:
        """Return groups whose tokens add up to those of the messages; none is empty.

        Tools and files come largest first, turns and messages in order. A turn begins with a text of the user.

        Args:
            what: what the blocks of a group have in common.
            top: number of groups, the largest, that stay apart; the others are the last one. None parts all.

        Raises:
            ValueError: there is no such grouping.
        """
        if what not in ("tool", "file", "turn", "message"):
            raise ValueError(f"cannot group by {what!r}: use tool, file, turn or message")
        in_order = what in ("turn", "message")
        parts = self._in_order(what) if in_order else self._by_name(self._files if what == "file" else self._tools)
        largest = (-parts.tokens).argsort(kind="stable")
        largest = largest[parts.tokens[largest] > 0]
        apart, rest = np.split(largest, [len(largest) if top is None else top])
        groups = [parts.group(place) for place in (np.sort(apart) if in_order else apart).tolist()]
        if len(rest):
            tokens, number = int(parts.tokens[rest].sum()), int(parts.numbers[rest].sum())
            groups.append(Group(REST, tokens, number, int(parts.firsts[rest].min())))
        return groups

    def largest(self, top: int = 10) -> list[ContentBlock]:
        """Return the largest tool results, largest first."""
        return [self.block(row) for row in self.results[:top].tolist()]

    @cached_property
    def results(self) -> NDArray[np.int64]:
        """The rows of tool results, largest first: int64, shape (results,)."""
        rows = np.flatnonzero(np.isin(self.kind, _RESULTS))
        found: NDArray[np.int64] = rows[(-self.tokens[rows]).argsort(kind="stable")]
        return found

    def repeats(self, top: int | None = None) -> list[Repeat]:
        """Return what was read again, ranges apart, those with the most tokens in old results first; all for None."""
        newer = self.newer
        found: dict[tuple[str, str, str], list[int]] = {}
        for row in np.flatnonzero(newer >= 0).tolist():
            call = int(self.calls[row])
            part = _line(part_of(self._call(call)[1]), WORDS)
            found.setdefault((*self._about(call), part), []).append(row)
        repeats = [
            Repeat(
                tool,
                argument,
                tuple(self.owner[rows].tolist()),
                int(self.owner[newer[rows].max()]),
                int(self.tokens[rows].sum()),
                part,
            )
            for (tool, argument, part), rows in found.items()
        ]
        return sorted(repeats, key=lambda repeat: -repeat.tokens)[:top]

    def over(self, most: int) -> int:
        """Return the tokens that all results have beyond ``most`` each."""
        return int((self.tokens[np.isin(self.kind, _RESULTS)] - most).clip(min=0).sum())

    def block(self, row: int) -> ContentBlock:
        """Return a row's block.

        Raises:
            IndexError: there is no such row.
        """
        kind, call = Kind(int(self.kind[row])), int(self.calls[row])
        tool, argument = self._about(call) if call >= 0 else ("", "")
        if kind in _RESULTS:
            tool = tool or UNKNOWN
        words = argument if kind in _CALLS else self._words(row)
        index, tokens = int(self.owner[row]), int(self.tokens[row])
        return ContentBlock(row, index, kind.name.lower().removeprefix("server_"), tool, argument, words, tokens)

    @cached_property
    def _names(self) -> tuple[list[str], NDArray[np.int64]]:
        names, places = self.ledger.names
        return names, places.astype("int64")

    def _about(self, call: int) -> tuple[str, str]:
        """Return the tool of a call's row, and what the call was about in one line."""
        names, places = self._names
        return names[int(places[call])], _line(subject(self._call(call)[1]), ARGUMENT)

    def _call(self, row: int) -> tuple[str, Any]:
        """Return the tool and the arguments of a call's row."""
        return called(self.ledger.calls(self.messages, [row])[0])

    def _words(self, row: int) -> str:
        """Return the first words of a row."""
        index = int(self.owner[row])
        kinds = [_entry_kind(kind) for kind in self.kind[int(self.first[index]) : row + 1].tolist()]
        texts = [
            text
            for _, kind, _, text in _core.entries([self.messages[index]])
            if kinds[-1] == ("result" if kind == "failure" else kind)
        ]
        place = kinds.count(kinds[-1]) - 1
        return _line(texts[place], WORDS) if place < len(texts) else ""

    @property
    def _tools(self) -> tuple[list[str], NDArray[np.int64]]:
        """The tools' names, and for each row the place of its call's; undefined for rows without a call."""
        names, places = self._names
        return names, places[self.calls]

    @property
    def _files(self) -> tuple[list[str], NDArray[np.int64]]:
        """The files' names, and those of tools without a file, as in ``_tools``."""
        tools, of_tool = self._names
        places: dict[str, int] = {}
        found = np.zeros(len(self.kind), dtype="int64")
        for row in np.flatnonzero(np.isin(self.kind, _CALLS)).tolist():
            name = file_of(self._call(row)[1]) or f"{tools[int(of_tool[row])]} (no file)"
            found[row] = places.setdefault(name, len(places))
        return [*places], found[self.calls]

    def _by_name(self, named: tuple[list[str], NDArray[np.int64]]) -> _Parts:
        """Return groups of the rows with a call by its name, and of the others by what they are."""
        names, places = named[0].copy(), np.where(self.calls >= 0, named[1], -1)
        role = self.ledger.role[self.owner]
        kinds = [(name, (self.kind == kind)) for kind, name in _OTHERS.items()]
        kinds += [(name, (self.kind == Kind.TEXT) & (role == of)) for of, name in _TEXTS.items()]
        kinds += [(UNKNOWN, np.isin(self.kind, _RESULTS)), (OTHER, np.ones(len(self.kind), dtype=bool))]
        for name, rows in kinds:
            places[rows & (places < 0)] = len(names)
            names.append(name)
        size = len(names) + 1
        counts = places[(self.calls < 0) | np.isin(self.kind, _CALLS)]
        tokens = np.bincount(places, self.tokens, size).astype("int64")
        tokens[-1] = self.per_message.sum() - self.tokens.sum()
        numbers = np.bincount(counts, minlength=size)
        numbers[-1] = len(self.per_message)
        firsts = np.zeros(size, dtype="int64")
        firsts[places[::-1]] = self.owner[::-1]  # of equal places the last assignment stays
        return _Parts(tokens, numbers, firsts, [*names, OVERHEAD].__getitem__)

    def _in_order(self, what: By) -> _Parts:
        """Return groups of following messages: turns, or each message by itself."""
        starts = np.arange(len(self.per_message))
        if what == "turn":
            said = np.isin(self.kind, (Kind.TEXT, Kind.IMAGE, Kind.DOCUMENT))
            said &= self.ledger.role[self.owner] == Role.USER
            starts = np.union1d(self.owner[said], starts[:1])
        tokens = np.add.reduceat(self.per_message, starts) if len(starts) else self.per_message
        numbers = np.diff(np.append(starts, len(self.per_message)))
        return _Parts(tokens, numbers, starts, lambda place: self.title(int(starts[place])))

    def title(self, message: int) -> str:
        """Return what a message is about: its last text, or else its largest block."""
        rows = np.arange(int(self.first[message]), int(self.first[message + 1]))
        if not len(rows):
            return ""
        texts = rows[self.kind[rows] == Kind.TEXT]
        row = texts[-1] if len(texts) else rows[self.tokens[rows].argmax()]
        return self.block(int(row)).about


@dataclass(frozen=True, slots=True)
class _Parts:
    """Groups before they have names."""

    tokens: NDArray[np.int64]
    numbers: NDArray[np.int64]
    firsts: NDArray[np.int64]
    name: Callable[[int], str]

    def group(self, place: int) -> Group:
        return Group(self.name(place), int(self.tokens[place]), int(self.numbers[place]), int(self.firsts[place]))


def _entry_kind(kind: int) -> str:
    return "call" if kind in _CALLS else "result" if kind in _RESULTS else "text"


def _line(text: str, most: int) -> str:
    """Return the beginning of a text in one line."""
    return " ".join(text[: 8 * most].split())[:most]
