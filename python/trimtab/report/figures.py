"""The figures of a report, as they stand on its page: numbers, and texts that are shortened or hidden."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ledger.columns import Kind, Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ..ledger.contents import ContentBlock, Contents, Repeat
    from ..messages.types import Charged
    from ..planning.changes import Change
    from ..planning.plan import Plan
    from ..planning.rebuilds import CacheRebuild

BARS = 500
"""Bars of a chart at most; more messages share bars."""

LISTED = 30
"""Messages of one bar that are listed, the largest."""

SPLIT = ("user text", "assistant text", "calls", "results", "thinking", "other")
"""Parts into which the tokens of a message are split."""

_OF_KIND = {
    Kind.CALL: "calls",
    Kind.SERVER_CALL: "calls",
    Kind.RESULT: "results",
    Kind.SERVER_RESULT: "results",
    Kind.THINKING: "thinking",
}
_OF_ROLE = {Role.USER: "user text", Role.ASSISTANT: "assistant text"}


@dataclass(frozen=True, slots=True)
class Share:
    """A part of the next prompt.

    Attributes:
        name: a tool, a kind of text, or ``not in the file``.
        tokens: its tokens.
        percent: its share of the next prompt.
        number: number of its calls, messages or blocks; 0 where none is known.
    """

    name: str
    tokens: int
    percent: float
    number: int = 0


@dataclass(frozen=True, slots=True)
class FigureSizes:
    """Tokens of the messages, in bars of one message or of several that follow each other.

    Attributes:
        firsts: the first message of each bar, and the number of messages: int64, shape (bars + 1,).
        split: tokens by part of ``SPLIT`` and bar: int64, shape (parts, bars).
        tools: names of tools; the last one is empty, for messages without a call.
        listed: for each bar its messages, the largest first, at most 30, as (number, tokens, place in ``tools``).
        blocks: for each bar the largest block of its largest message; None for an empty message.
    """

    firsts: NDArray[np.int64]
    split: NDArray[np.int64]
    tools: list[str]
    listed: list[list[tuple[int, int, int]]]
    blocks: list[ContentBlock | None]


@dataclass(frozen=True, slots=True)
class Course:
    """The prompt over a session, whose messages are counted from its first one on.

    Attributes:
        tops: tokens of the largest prompt of each bar: int64, shape (bars,).
        firsts: the first message of each bar, and the number of messages.
        billed: billed prompts, as (number of messages, tokens, tokens by our count).
        cuts: compactions, as (the first message behind it, tokens before, tokens after).
        earlier: messages in front of message 0 of the list, which compactions replaced.
    """

    tops: NDArray[np.int64]
    firsts: NDArray[np.int64]
    billed: list[tuple[int, int, int]]
    cuts: list[tuple[int, int, int]]
    earlier: int


@dataclass(frozen=True, slots=True)
class Planned:
    """What a policy would do.

    Attributes:
        policy: its name.
        plan: its plan.
        changes: what each edit changes, in the order of the plan.
    """

    policy: str
    plan: Plan
    changes: Sequence[Change] = ()


@dataclass(frozen=True, slots=True)
class Past:
    """A compaction that was done.

    Attributes:
        ref: its ref.
        when: its time.
        strategy: what replaced the messages, or the step that replaced a failed summarizer.
        before: tokens before.
        after: tokens after.
        removed: number of messages that were removed or changed.
        by: the author of the summary, empty without one.
        reason: why it was done so; of a failed summarizer, its error.
        summary: its text, empty without one.
    """

    ref: str
    when: str
    strategy: str
    before: int
    after: int
    removed: int
    by: str = ""
    reason: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of a page; a panel whose figures are missing says so.

    Attributes:
        title: the session's name.
        verdict: whether the next prompt fits, in one sentence.
        notes: remarks on it.
        fields: the answer of ``count --json``.
        parts: what fills the next prompt; shares add up to 100.
        sizes: tokens of the messages.
        largest: the largest tool results.
        caps: limits of a result, and the tokens that each would save.
        repeats: files that were read again.
        plans: what policies would do; the first one is drawn.
        course: the prompt over the session.
        past: compactions in the archive, oldest first.
        cost: US dollars of the next prompt, as new input and from the cache; None if prices are unknown.
        counted_by: how tokens were counted, and how wrong that may be.
        version: trimtab's.
        hides: whether texts are hidden.
        taken: of a list in the archive, what its compaction did to each message, as ``states`` returns it; else None.
        rebuilt: calls that rebuilt the provider's cache, by messages as in ``course``; None where none was billed.
    """

    title: str
    verdict: str
    notes: Sequence[str]
    fields: Mapping[str, Any]
    parts: Sequence[Share]
    sizes: FigureSizes
    largest: Sequence[ContentBlock]
    caps: Sequence[tuple[int, int]]
    repeats: Sequence[Repeat]
    plans: Sequence[Planned]
    course: Course
    past: Sequence[Past]
    cost: Mapping[str, float] | None
    counted_by: str
    version: str
    hides: bool = False
    taken: NDArray[np.int64] | None = None
    rebuilt: Sequence[CacheRebuild] | None = None

    def text(self, text: str, most: int = sys.maxsize) -> str:
        """Return a text of the session as the page shows it: itself, or its length.

        Args:
            text: the text.
            most: characters from which it is known to have been cut.
        """
        more = " or more" if len(text) >= most else ""
        return f"[{len(text):,} characters{more}]" if self.hides and text else text


def states(messages: int, left: Sequence[int], changed: Sequence[int]) -> NDArray[np.int64]:
    """Return what became of so many messages: 0 of one that stayed, 1 of a changed one, 2 of one that left."""
    found = np.zeros(messages, dtype="int64")
    found[[*changed]], found[[*left]] = 1, 2
    return found


def edges(messages: int, bars: int = BARS) -> NDArray[np.int64]:
    """Return the first message of each bar, and the number of messages: at most so many bars of nearly equal length."""
    return np.linspace(0, messages, min(messages, bars) + 1).astype("int64")


def sizes(contents: Contents) -> FigureSizes:
    """Return the tokens of a transcript's messages in at most 500 bars."""
    ledger, total = contents.ledger, contents.per_message
    firsts = edges(len(total))
    split = np.zeros((len(SPLIT), len(total)), dtype="int64")
    for row, part in enumerate(_part_of(contents)):
        split[row] = np.bincount(contents.owner[part], contents.tokens[part], minlength=len(total))
    split[-1] += total - split.sum(axis=0)  # what messages have beyond their blocks
    largest = _largest_rows(contents)
    names, places = ledger.names
    calls = contents.calls
    listed, blocks = [], []
    for start, stop in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
        order = start + (-total[start:stop]).argsort(kind="stable")[:LISTED]
        rows = largest[order].tolist()
        tools = [int(places[calls[row]]) if row >= 0 and calls[row] >= 0 else len(names) for row in rows]
        listed.append([*zip(order.tolist(), total[order].tolist(), tools, strict=True)])
        blocks.append(contents.block(rows[0]) if rows[0] >= 0 else None)
    sums = np.add.reduceat(split, firsts[:-1], axis=1) if len(total) else split
    return FigureSizes(firsts, sums, [*names, ""], listed, blocks)


def _part_of(contents: Contents) -> list[NDArray[np.bool_]]:
    """Return for each part of ``SPLIT`` its rows as a mask; the last part has those of no other."""
    role = contents.ledger.role[contents.owner]
    masks = {name: np.zeros(len(contents.kind), dtype=bool) for name in SPLIT}
    for kind, name in _OF_KIND.items():
        masks[name] |= contents.kind == kind
    for of, name in _OF_ROLE.items():
        masks[name] |= (contents.kind == Kind.TEXT) & (role == of)
    masks["other"] = ~np.logical_or.reduce([*masks.values()])
    return [*masks.values()]


def _largest_rows(contents: Contents) -> NDArray[np.int64]:
    """Return the row with the most tokens of each message, -1 for a message without rows: int64, shape (messages,)."""
    found = np.full(len(contents.per_message), -1, dtype="int64")
    by_size = contents.tokens.argsort(kind="stable")
    found[contents.owner[by_size]] = by_size  # the last one that is written stands
    return found


def course(
    per_message: NDArray[np.int64], fixed: int, cuts: Sequence[int], usage: Sequence[Charged], earlier: int = 0
) -> Course:
    """Return the prompt over a session.

    Args:
        per_message: tokens of each message, from the first one of the session on.
        fixed: tokens of system text, of tools, and of what is not in the file.
        cuts: messages before which the session was compacted: the prompt begins anew there.
        usage: billed calls.
        earlier: messages in front of message 0 of the list.
    """
    firsts = edges(len(per_message))
    sums = np.concatenate([[0], per_message.cumsum()])
    base = np.zeros(len(per_message), dtype="int64")
    for cut in cuts:
        base[cut:] = sums[cut]
    prompts = sums[1:] - base + fixed
    tops = np.maximum.reduceat(prompts, firsts[:-1]) if len(prompts) else prompts
    counted = np.concatenate([[fixed], prompts])
    billed = [(call.before, call.prompt, int(counted[call.before])) for call in usage]
    hard = []
    for cut, end in pairwise([*cuts, len(per_message)]):
        calls = [call.before for call in usage if cut < call.before <= end]
        first = min([*calls, cut + 1, end], key=lambda place: (place not in calls, place))
        hard.append((cut, int(counted[cut]), int(counted[first])))
    return Course(tops, firsts, billed, hard, earlier)


def errors(billed: Sequence[tuple[int, int, int]]) -> NDArray[np.int64]:
    """Return by how much our count of what came between two billed calls differs from what was billed for it.

    What is in neither call's messages, such as system text and tools, has no part in it. Negative where we count less.

    Args:
        billed: as in ``Course``; a pair with a compaction between its calls is passed over.
    """
    found = [
        (ours - before[2]) - (tokens - before[1])
        for before, (message, tokens, ours) in pairwise(billed)
        if message > before[0] and ours > before[2]
    ]
    return np.array(found, dtype="int64")
