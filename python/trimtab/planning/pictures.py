"""Pictures and documents beyond a provider's limits: the oldest leave, with notices in their place.

Neighbours share a notice, and there is none where it costs more than they do. The provider counts a document's pages
like pictures. The archive keeps what leaves.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..counting.counter import scan
from ..ledger.columns import Kind, blocks_of
from ..messages.types import is_medium
from ..validity.validate import TOO_MUCH, Problem, Rules
from .edits import Cut, Prune, StripThinking
from .request_bytes import media_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from .._core import Counter as TokenCounter
    from ..ledger.columns import Ledger
    from ..messages.types import Message
    from .edits import Edit
    from .plan import Plan
    from .stages.costs import Costs

MANY = 20
"""Pictures up to which a provider takes large ones (Anthropic documentation, "Vision")."""

REST = 0.9
"""Share of a limit that stays: pictures leave in steps, because a change of old messages empties the prompt cache."""


def without_excess(
    plan: Plan,
    messages: Sequence[Message],
    costs: Costs,
    problems: Iterable[Problem],
    *,
    rules: Rules,
    counter: TokenCounter,
) -> Plan:
    """Return the plan with an edit that removes the oldest pictures and documents, if more stay than may.

    Where no other edit changes anything, the plan's ``tokens_after`` is the count of the list that it leads to.

    Pictures of pinned messages stay. Those of the last request leave last, and only as many as must.

    Args:
        plan: of the transcript.
        messages: the transcript.
        costs: its costs.
        problems: of the transcript.
        rules: the provider's limits.
        counter: the counter of the costs.

    Raises:
        MessageError: a picture is too large, and removing old pictures does not help.
    """
    ledger = costs.ledger
    found = [problem for problem in problems if problem.code in TOO_MUCH]
    if not found and not plan.stays_heavy:
        return plan
    stays = _staying(plan, costs)
    rows = {id(problem): _row(problem, ledger) for problem in found}
    for problem in found:
        if problem.code in {"image_too_heavy", "image_too_large"} and rows[id(problem)] in stays:
            raise problem.error()
    left = _Left(stays, costs)
    by_code = {problem.code: problem for problem in found}
    large = {rows[id(problem)] for problem in found if problem.code == "image_too_large_many"}
    if left.total > rules.pictures:
        if left.is_asked_for(rules.pictures):
            raise by_code["too_many_images"].error()
        left.leave(lambda last: left.total <= (rules.pictures if last else int(rules.pictures * REST)))
        if left.total > rules.pictures:
            raise by_code["too_many_images"].error()
    if large:
        left.leave(lambda _: left.pictures <= MANY or not large & left.rows.keys(), among=large)
        if left.pictures > MANY and large & left.rows.keys():
            raise by_code["image_too_large_many"].error()
    lighter = _lighten(left, plan, costs)
    if not left.gone:
        return plan
    prune = Prune(tuple(sorted(left.gone)), why="pictures")
    edits = (*plan.edits, prune)
    if len(costs.thinking) and not any(isinstance(edit, StripThinking) for edit in edits):
        edits = (*edits, StripThinking(tuple(costs.thinking.tolist())))
    removed = left.removed
    after = plan.tokens_after if plan.edits else costs.total
    return replace(
        plan,
        edits=edits,
        tokens_after=after + added(edits, messages, ledger, counter),
        reason=f"{plan.reason}; {removed}" if plan.reason else removed,
        bytes_after=max(plan.bytes_after - lighter, 0),
    )


def _lighten(left: _Left, plan: Plan, costs: Costs) -> int:
    """Let pictures leave whose bytes are over the limit; return the bytes of all that leave, 0 without a limit."""
    if plan.bytes_limit is None or costs.ledger.provider != "anthropic":
        return 0
    sizes, over = media_bytes(costs), plan.bytes_after - plan.bytes_limit
    if 0 < over <= int(sizes[[*left.gone, *left.movable]].sum()):
        rest = over + int(plan.bytes_limit * (1 - REST))
        left.leave(lambda last: int(sizes[left.gone].sum()) >= (over if last else rest))
    return int(sizes[left.gone].sum())


def added(edits: Iterable[Edit], messages: Sequence[Message], ledger: Ledger, counter: TokenCounter) -> int:
    """Return the tokens that notices in place of pictures add to a list, less those of the pictures.

    Args:
        edits: of a plan for the messages.
        messages: the transcript.
        ledger: of the messages.
        counter: the ledger's.
    """
    leaving = blocks_of(ledger, (row for edit in edits if isinstance(edit, Prune) and edit.mends for row in edit.rows))
    if not leaving:
        return 0
    made = without_pictures(messages, {}, leaving, counter)
    left = [new for index, message in enumerate(messages) if (new := made.get(index, message)) is not None]
    return scan(left, counter, ledger.provider).total - ledger.total


def _staying(plan: Plan, costs: Costs) -> Counter[int]:
    """Return the number of pictures and pages in each row that keeps them, in order."""
    zone = plan.zone()
    gone = set(range(zone.start, zone.stop)) - set(zone.keep) if zone else set()
    pruned = {row for edit in plan.edits if isinstance(edit, Prune | Cut) for row in edit.rows}
    owner, kept = costs.owner, (Kind.IMAGE, Kind.DOCUMENT, Kind.RESULT)
    rows = sorted([*costs.ledger.pictured.tolist(), *costs.ledger.paged.tolist()])
    return Counter(row for row in rows if row not in pruned and owner[row] not in gone and costs.kind[row] in kept)


class _Left:
    """The pictures and documents that stay, and those that leave."""

    def __init__(self, rows: Counter[int], costs: Costs) -> None:
        self.rows = rows
        self.total = rows.total()
        self._pictured = Counter(row for row in costs.ledger.pictured.tolist() if row in rows)
        self.pictures = self._pictured.total()
        self._only = self.pictures == self.total
        self.gone: list[int] = []
        pins, last = set(costs.closed(costs.pins)), set(costs.requests[-1:].tolist())
        owners = {row: int(costs.owner[row]) for row in rows}
        self._free = [row for row in rows if owners[row] not in pins | last]
        self._last = [row for row in rows if owners[row] in last - pins]

    def is_asked_for(self, most: int) -> bool:
        """Return whether the last request has a document of more than ``most`` pages: it is about that document."""
        documents = Counter(self.rows)
        documents.subtract(self._pictured)
        return any(documents[row] > most for row in self._last)

    @property
    def movable(self) -> list[int]:
        """Rows that may leave."""
        return [row for row in (*self._free, *self._last) if row in self.rows]

    @property
    def removed(self) -> str:
        """What was removed and how much stays, in words."""
        if self._only:
            return f"removed the oldest pictures, {self.total} stay"
        return f"removed the oldest pictures and documents, {self.total} pictures and pages stay"

    def leave(self, enough: Callable[[bool], bool], among: Iterable[int] | None = None) -> None:
        """Remove rows, the oldest first, until ``enough`` returns True for "of the last request"."""
        wanted = None if among is None else set(among)
        for last, rows in ((False, self._free), (True, self._last)):
            for row in rows:
                if enough(last):
                    return
                if row in self.rows and (wanted is None or row in wanted):
                    self.total -= self.rows.pop(row)
                    self.pictures -= self._pictured[row]
                    self.gone.append(row)


def _row(problem: Problem, ledger: Ledger) -> int:
    return int(ledger.first[problem.index]) + (problem.block or 0)


_NAMES = {"image": "pictures", "document": "documents"}


def without_pictures(
    messages: Sequence[Message],
    edited: Mapping[int, Message | None],
    leaving: Mapping[int, Collection[int]],
    counter: TokenCounter,
) -> dict[int, Message | None]:
    """Return the messages without some of their pictures, by position; None for a message that leaves.

    Neighbouring pictures of a message or of a result share one notice, and so do neighbouring messages of one role that
    are nothing but leaving pictures. A notice that has more tokens than its pictures is left out, unless the provider
    needs it: a message or a result would be empty, or two messages of the assistant would meet.

    Args:
        messages: the transcript; only Anthropic limits the number of pictures, so it is in that shape.
        edited: messages that other edits change, by position; None for those that leave.
        leaving: positions of blocks by message: a picture leaves, a result loses its pictures.
        counter: counts notices and pictures.
    """
    made: dict[int, Message | None] = {}
    whole: list[list[int]] = []
    for index in sorted(leaving):
        message = edited.get(index, messages[index])
        if message is None:
            continue
        content = message["content"]
        if len(leaving[index]) < len(content) or not all(map(is_medium, content)):
            made[index] = {**message, "content": _thinned(content, leaving[index], counter)}
        elif whole and whole[-1][-1] == index - 1 and messages[index - 1]["role"] == message["role"]:
            whole[-1].append(index)
        else:
            whole.append([index])
    for run in whole:
        pictures = [picture for index in run for picture in messages[index]["content"]]
        beside = [at for at in (run[0] - 1, run[-1] + 1) if 0 <= at < len(messages)]
        needed = all(messages[at]["role"] != messages[run[0]]["role"] for at in beside)
        notice = _notice(pictures, "", counter, needed=needed)
        made |= dict.fromkeys(run)
        if notice:
            made[run[0]] = {**messages[run[0]], "content": notice}
    return made


def _thinned(blocks: Sequence[Any], leaving: Collection[int], counter: TokenCounter) -> list[Any]:
    """Return the blocks of a message or a result with notices in place of the pictures that leave."""
    total, passed = len(_pictures(blocks)), 0
    out: list[Any] = []
    for leaves, run in groupby(enumerate(blocks), lambda at: at[0] in leaving and is_medium(at[1])):
        places, found = zip(*run, strict=True)
        last = passed + len(_pictures(found))
        if leaves:
            numbers = f"{passed + 1} to {last}" if last > passed + 1 else f"{last}"
            which = f" ({numbers} of {total})" if len(found) < total else ""
            out += _notice(found, which, counter, needed=len(found) == len(blocks))
        else:
            out += [
                _thinned_result(block, counter) if at in leaving else block
                for at, block in zip(places, found, strict=True)
            ]
        passed = last
    return out


def _thinned_result(block: Any, counter: TokenCounter) -> Any:
    """Return a result without its pictures."""
    parts = block.get("content")
    return {**block, "content": _thinned(parts, range(len(parts)), counter)} if isinstance(parts, list) else block


def _notice(pictures: Sequence[Any], which: str, counter: TokenCounter, *, needed: bool) -> list[Any]:
    """Return the notice in place of pictures as a list of one block, or of none if it is left out.

    A notice takes over the pictures' cache marker, and stays for it.
    """
    kinds = {picture["type"] for picture in pictures}
    name = " and ".join(words for kind, words in _NAMES.items() if kind in kinds)
    many = f"{len(pictures):,} {name} were left out here{which}; they are archived"
    text = many if len(pictures) > 1 else f"a {name[:-1]} was left out here{which}; it is archived"
    notice = {"type": "text", "text": f"[trimtab: {text}]"}
    if marked := [picture for picture in pictures if picture.get("cache_control")]:
        return [notice | {"cache_control": marked[-1]["cache_control"]}]
    both = [{"role": "user", "content": [notice]}, {"role": "user", "content": list(pictures)}]
    cost, saved = (scan([message], counter, "anthropic").total for message in both)
    return [notice] if needed or cost <= saved else []


def _pictures(blocks: Sequence[Any]) -> list[Any]:
    return [block for block in blocks if is_medium(block)]
