"""Boundaries and zones."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import trimtab
from trimtab.ledger.columns import unpaired
from trimtab.planning import Messages, Stats, Tokens
from trimtab.planning.stages.costs import Costs

from .presets import AGENTPG, GOAT, SPEC09, agentpg, ledger
from .shapes import blocks, chat
from .table import op


def boundary(messages: list[dict[str, Any]], policy: Any, keeper: Any) -> int:
    keep = replace(policy.keep, keepers=(keeper,))
    return keep.boundary(Costs(ledger(chat(messages), policy)))


@op
def split_point(messages: list[dict[str, Any]], preserve_budget: int) -> int:
    return boundary(messages, GOAT, Tokens(count=preserve_budget))


@op
def split_point_seed000(messages: list[dict[str, Any]], preserve_budget: int) -> int:
    return boundary(messages, SPEC09, Tokens(count=preserve_budget))


@op
def split_point_custom_estimator(
    messages: list[dict[str, Any]],
    preserve_budget: int,
    estimator: Any = None,
    per_message_overhead: int | None = None,
) -> int:
    """The estimator of a case by its name, by its numbers, or the document's own."""
    counter = estimator_of(estimator, per_message_overhead)
    counted = trimtab.Ledger.of(chat(messages), counter=counter, provider="openai_chat")
    return replace(SPEC09.keep, keepers=(Tokens(count=preserve_budget),)).boundary(Costs(counted))


CHARS, BYTES = {"unit": "chars", "per": 1}, {"unit": "bytes", "per": 1}
UNITS = {"char": CHARS, "chars": CHARS, "characters": CHARS, "len": BYTES, "length": BYTES, "bytes": BYTES}
ENCODINGS = {"tiktoken": "cl100k_base", "cl100k": "cl100k_base", "o200k": "o200k_base"}


def estimator_of(given: Any, overhead: int | None) -> Any:
    base = SPEC09.counter if overhead is None else replace(SPEC09.counter, message=overhead)
    if isinstance(given, Mapping):
        (given, *_) = [*given.values(), None]
    if isinstance(given, int):
        return replace(base, per=given).counter()
    if given is None or given == base.name:
        return base.counter()
    if given in UNITS:
        return replace(base, **UNITS[given]).counter()
    return trimtab.Counter(ENCODINGS.get(given, given), message=base.message)


@op
def split_by_message_ratio(messages: list[dict[str, Any]], preserve_ratio: float | None = None) -> dict[str, Any]:
    (share, *_) = GOAT.keep.keepers
    split = boundary(messages, GOAT, Messages(share=preserve_ratio or share.share))
    kept = chat(messages)[split:]
    return {"split": split, "orphans": unpaired(ledger(kept, GOAT)), "preserved": messages[split:]}


@op
def adjust_split_for_tool_pairs(messages: list[dict[str, Any]], split: int) -> int:
    whole = replace(GOAT, keep=replace(GOAT.keep, min_messages=0))  # a split at the end keeps nothing
    return boundary(messages, whole, Messages(count=len(messages[split:])))


@op
def preserve_budget(context_limit: int) -> int:
    (tokens, *_) = SPEC09.keep.keepers
    _, amount = tokens.resolve(Costs(ledger([], SPEC09)), context_limit, context_limit)
    return amount


@op
def partition(messages: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    made, _ = agentpg(given)
    found, ids = made.stats(blocks(messages)), [message.get("id") for message in messages]
    groups = {name: [ids[n] for n in group] for name, group in found.groups.items() if name in GROUPS}
    tokens = {name: found.tokens[name] for name in groups}
    kept = [messages[n] for n in found.kept]
    orphans = unpaired(ledger(blocks(kept), AGENTPG, "anthropic"))
    return {"groups": groups, "tokens": tokens, "total_tokens": found.total, "orphans": orphans, **groups}


GROUPS = ("protected", "preserved", "recent", "summary", "compactable")


@op
def all_preserved_ids(
    protected: Any = (), preserved: Any = (), recent: Any = (), summaries: Any = (), compactable: Any = ()
) -> list[Any]:
    ids = [*protected, *preserved, *recent, *summaries]
    numbers = iter(range(len(ids)))
    given = {
        "protected": protected,
        "preserved": preserved,
        "recent": recent,
        "summary": summaries,
        "compactable": compactable,
    }
    groups = {name: tuple(itertools.islice(numbers, len(group))) for name, group in given.items()}
    return [ids[n] for n in Stats("", groups, {}, 0.0, 0, False).kept]


@op
def stats(messages: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    made, _ = agentpg(given)
    found = made.stats(blocks(messages))
    count = {name: len(group) for name, group in found.groups.items()}
    return {
        "session_id": found.session,
        "total_messages": found.messages,
        "total_tokens": found.total,
        "usage_percent": found.usage,
        "compaction_count": found.compactions,
        "protected_messages": count["protected"],
        "recent_messages": count["recent"],
        "preserved_messages": len(found.verbatim),
        "summary_messages": count["summary"],
        "compactable_messages": count["compactable"],
        "needs_compaction": found.due,
    }
