"""Repair a list that its provider refuses: by the smallest change, with every change recorded and no text lost.

The order of the steps: lone surrogates, ids, results without a call, open calls, order of results, server calls,
thinking, empty content, neighbours of one role, the first message, the last message, pictures and cache markers.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, cast

from ..._repr import short
from ...counting.counter import Counter, read_plain, scan
from ...messages.shapes import ShapeAdapter, text_message
from ...messages.surrogates import CODE, mended
from ...messages.types import MessageT, Repaired
from ..validate import Rules, rules_of
from .chat import repair_chat
from .entries import BEGINNING, Entry, Repairs
from .limits import repair_findings
from .responses import repair_responses
from .turns import repair_turns

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from ...messages.types import Message
    from ...models.provider import Provider
    from ..validate import RequestOptions

__all__ = ["Repair", "repair", "run_steps"]


@dataclass(frozen=True, slots=True)
class Repair(Generic[MessageT]):
    """A list that its provider accepts.

    Attributes:
        messages: the list; the given one itself if it was valid, and the same objects where nothing was changed.
        changes: the changes, in the order of the messages.
        positions: the first ``n`` of the given messages have become the first ``positions[n]`` of these; one entry more
            than given messages.
    """

    __repr__ = short

    messages: Sequence[MessageT]
    changes: list[Repaired]
    positions: Sequence[int]


def repair(messages: Sequence[MessageT], *, provider: Provider, **options: Unpack[RequestOptions]) -> Repair[MessageT]:
    """Repair a list so that its provider accepts it; idempotent.

    The options are those of ``validate``: ``RequestOptions`` describes them. The only text that is added are notices: a
    call has no result because the session was interrupted, the beginning is missing. The given messages are not
    changed.

    Args:
        messages: a list or tuple of messages.
        provider: the shape of the messages.
        **options: as ``validate``.

    Raises:
        MessageError: a message cannot be read, or a problem remains that no change of messages solves; says where and
            why. Too many bytes are none: a list that is too large is repaired, and stays too large until it is
            compacted.
        TypeError: messages is no list or tuple, or an option is unknown.

    Examples:
        >>> found = repair([{"role": "assistant", "content": "hi "}], provider="anthropic")
        >>> [change.code for change in found.changes]
        ['first_role', 'trailing_space']
    """
    rules, original = rules_of(options), options.get("original")
    counter = Counter.chars()
    before = None if original is None else scan(original, counter, provider)
    inputs, ledger = read_plain(messages, counter, provider)
    whole, halves = mended(inputs.messages)
    is_valid = not rules.problems(ledger, before)
    if is_valid and not halves:
        return Repair(messages, [], range(len(messages) + 1))
    provider = cast("Provider", ledger.provider)  # a framework's messages have the shape in which they are read
    if is_valid:
        made = Repair(whole, [], range(len(messages) + 1))
    else:
        made = run_steps(whole, provider, rules, before or (ledger if rules.binds else None))
    if halves:
        told = [Repaired(min(made.positions[index], max(len(made.messages) - 1, 0)), CODE, "") for index in halves]
        changes = sorted([*told, *made.changes], key=lambda change: change.index)
        made = Repair(made.messages, changes, made.positions)
    if not made.messages:
        changes = [*made.changes, Repaired(0, "first_role", "")]
        made = Repair([text_message(provider, "user", BEGINNING)], changes, made.positions)
    for problem in rules.problems(scan(made.messages, counter, provider), before):
        if problem.code != "request_too_large":  # what compaction is for
            raise problem.error()
    return Repair(inputs.write(made.messages) if made.changes else messages, made.changes, made.positions)


def run_steps(
    messages: Sequence[Message], provider: Provider, rules: Rules | None = None, original: Any = None
) -> Repair[Message]:
    """Run all steps, whether the list needs them or not; problems that no step solves stay.

    Args:
        messages: in the provider's shape.
        provider: that shape.
        rules: the rules of the model and the request; None runs only the steps that need no validation.
        original: the ledger of the transcript before it was edited, None if thinking is not to be judged by it.
    """
    adapter, changes, is_openai = ShapeAdapter(provider), Repairs(), provider.startswith("openai")
    read = [dict(message) for message in adapter.read(messages)]
    entries = [Entry(i, message, message) for i, message in enumerate(read)]
    sources = dict(zip(entries, messages, strict=True))  # a moved entry has another origin

    def steps(entries: list[Entry], rules: Rules) -> list[Entry]:
        if provider == "openai_chat":
            return repair_chat(entries, changes, rules)
        if provider == "openai_responses":
            return repair_responses(entries, changes, rules)
        return repair_turns(entries, changes, rules, provider)

    def written() -> list[dict[str, Any]]:
        return [
            cast("dict[str, Any]", sources[e]) if e.message is e.given else adapter.write(e.message) for e in entries
        ]

    entries = steps(entries, rules or Rules())
    if rules and entries:
        problems = rules.problems(scan(written(), Counter.chars(), provider), original)
        repair_findings(entries, problems, changes, rules)
        entries = entries if is_openai else steps(entries, rules)
    if not changes.changes:
        return Repair(messages, [], range(len(messages) + 1))
    origins = [entry.origin for entry in entries]
    positions = [bisect_left(origins, n) for n in range(len(messages) + 1)]
    return Repair(written(), changes.resolve(entries), positions)
