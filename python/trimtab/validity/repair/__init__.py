"""A refused list made one that is taken: the smallest change, every change told, no text lost.

The order (and what each step is called in ``Repair.changes``) is the documents': ids, orphans, open calls, the order of
results, server pairs, thinking, what is empty, neighbours, who begins, how it ends, pictures and markers.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..._repr import short
from ...counting.counter import Counter, read_plain, scan
from ...messages.shapes import Lens, said
from ...messages.types import Repaired
from ..validate import Rules, rules_of
from . import anthropic as _anthropic
from . import openai as _openai
from . import refused as _refused
from .entries import BEGINNING, Entry, Notes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from ...messages.types import Message
    from ...models.provider import Provider
    from ..validate import Moment

__all__ = ["Mended", "Repair", "mend", "repair"]


@dataclass(frozen=True, slots=True)
class Repair:
    """A list that its provider takes.

    Attributes:
        messages: the list; the given one itself if it was valid, and the same objects where nothing was changed.
        changes: what was changed, in the order of the messages.
    """

    __repr__ = short

    messages: Sequence[Message]
    changes: list[Repaired]


@dataclass(frozen=True, slots=True)
class Mended:
    """A list after all steps.

    Attributes:
        messages: the list; the given one itself if there was nothing to do.
        repaired: what was changed.
        where: the first n of the given messages have become the first ``where[n]`` of these.
    """

    messages: list[dict[str, Any]]
    repaired: list[Repaired]
    where: range | list[int]


def repair(messages: Sequence[Message], *, provider: Provider, **moment: Unpack[Moment]) -> Repair:
    """The list, so that its provider takes it; doing it again changes nothing.

    The arguments are those of ``validate``: ``Moment`` has them. Nothing is invented but notices: that a call has no
    result because the session was interrupted, that the beginning is missing. The given messages are not changed.

    Raises:
        MessageError: a message cannot be read, or what is left is no matter of the messages; says where and why.
        TypeError: messages is no list or tuple, or an argument is unknown.

    Example:
        >>> found = repair([{"role": "assistant", "content": "hi "}], provider="anthropic")
        >>> [change.code for change in found.changes]
        ['first_role', 'trailing_space']
    """
    rules, original = rules_of(moment), moment.get("original")
    counter = Counter.chars()
    before = None if original is None else scan(original, counter, provider)
    read, ledger = read_plain(messages, counter, provider)
    if not rules.problems(ledger, before):
        return Repair(messages, [])
    mended = mend(read.messages, provider, rules, before or (ledger if rules.binds else None))
    if not mended.messages:
        alone = said(provider, "user", BEGINNING)
        mended = Mended([alone], [*mended.repaired, Repaired(0, "first_role", "")], mended.where)
    for problem in rules.problems(scan(mended.messages, counter, provider), before):
        raise problem.error()
    return Repair(read.back(mended.messages) if mended.repaired else messages, mended.repaired)


def mend(messages: Sequence[Message], provider: Provider, rules: Rules | None = None, original: Any = None) -> Mended:
    """All steps, whether the list needs them or not; what they cannot help stays as it is.

    Args:
        messages: in the provider's shape.
        provider: that shape.
        rules: what the list is judged by once the steps are done; None judges nothing, and reads nothing twice.
        original: the ledger of the transcript before it was edited, None if thinking is not to be judged by it.
    """
    judged, rules = rules is not None, rules or Rules()
    lens, notes = Lens(provider), Notes()
    entries = [Entry(i, dict(message)) for i, message in enumerate(lens.into(messages))]
    for entry in entries:
        entry.given = entry.message

    def written() -> list[Any]:
        return [messages[e.origin] if e.message is e.given else lens.back(e.message) for e in entries]

    match provider:
        case "openai_chat":
            entries = _openai.chat(entries, notes, rules)
        case "openai_responses":
            entries = _openai.responses(entries, notes, rules)
        case _:
            entries = _anthropic.mended(entries, notes, rules, provider)
    if judged and entries:
        problems = rules.problems(scan(written(), Counter.chars(), provider), original)
        entries = _refused.out(entries, problems, notes, rules)
        if provider not in ("openai_chat", "openai_responses"):
            entries = _anthropic.mended(entries, notes, rules, provider)
    if not notes.notes:
        return Mended(cast("list[dict[str, Any]]", messages), [], range(len(messages) + 1))
    origins = [entry.origin for entry in entries]
    where = [bisect_left(origins, n) for n in range(len(messages) + 1)]
    return Mended(written(), notes.resolve(entries), where)
