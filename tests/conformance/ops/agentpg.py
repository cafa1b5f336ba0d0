"""Whole compactions of agentpg."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import trimtab
from trimtab.events import Compacted, Step
from trimtab.ledger.columns import unpaired

from .errors import failure
from .presets import AGENTPG, ROLES, SYSTEMS, TALK, agentpg, ledger
from .shapes import blocks
from .table import op, plays
from .zones import GROUPS


def compacting(messages: Any, given: Mapping[str, Any]) -> tuple[Any, list[Any], list[Any], Any, Exception | None]:
    """A Compactor of agentpg, what it told, what it was given, what came of it, and what it raised."""
    made, told = agentpg(given)
    originals = blocks(messages)
    try:
        return made, told, originals, made.compact(originals), None
    except trimtab.Error as raised:
        return made, told, originals, None, raised


@op
def compact(messages: Any = None, **given: Any) -> dict[str, Any]:
    messages = many() if messages is None else messages
    before = copy.deepcopy(messages)
    _, told, originals, done, error = compacting(messages, given)
    events = [event for event in told if isinstance(event, Compacted)]
    return {
        "error": failure(error),
        "messages_unchanged": originals == blocks(before),
        "events_created": len(events),
        "order": [event.name for event in told if isinstance(event, Step)],
        **(compacted_by(done, originals) if done else {}),
    }


def compacted_by(done: Any, originals: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the result of agentpg's compaction, by the field names of a case."""
    after = {id(message) for message in done.messages}
    listed = {message.get("id") for message in done.messages}
    kept = [message.get("id") for message in originals if id(message) in after]
    gone = [message.get("id") for message in originals if message.get("id") not in listed]
    changed = [message.get("id") for message in originals if id(message) not in after]
    totals = {
        "strategy": done.strategy,
        "original_tokens": done.tokens_before,
        "compacted_tokens": done.tokens_after,
        "messages_removed": len(gone),
    }
    return {
        "path": done.path,
        "messages": list(done.messages),
        "tokens_saved": done.saved,
        "tokens_after": done.tokens_after,
        "archived_ids": changed,
        "deleted_ids": gone,
        "summary": done.summary or "",
        "orphans": unpaired(ledger(list(done.messages), AGENTPG, "anthropic")),
        "result": {**totals, "preserved_message_ids": kept, "summary_created": done.summary is not None},
        "event": {**totals, "summary_content": done.summary},
    }


@op
def hybrid(**given: Any) -> dict[str, Any]:
    return compact(**given)


@op
def summarization(messages: Any = None, **given: Any) -> dict[str, Any]:
    (name,) = (name for name, policy in SYSTEMS.items() if policy.prune is None)
    return compact(messages, **{"strategy": name} | given)


@op
def compact_trace(llm: Any = None) -> dict[str, Any]:
    return compact(many(), llm=llm)


def many(size: int = 9999) -> list[dict[str, Any]]:
    """A session of agentpg with something to compact."""
    text = {"type": "text", "text": "w".ljust(size, "w")}
    roles = itertools.chain.from_iterable(itertools.repeat(ROLES, len([*TALK, *TALK])))
    return [{"id": str(n), "role": role, "content": [text]} for n, role in enumerate(roles)]


@op
def compact_if_needed(messages: Any = None, **given: Any) -> dict[str, Any]:
    made, _ = agentpg(given)
    fitted = made.fit(blocks(messages), when="after_run")
    return {"result": fitted.compaction, "error": fitted.reason or None}


@op
@plays("records what the run was charged, and calls `fit` behind it")
def after_run(auto_compaction_enabled: bool, total_tokens: int, llm: Any = None) -> dict[str, Any]:
    made, told = agentpg({"llm": llm}, trigger=replace(AGENTPG.trigger, auto=auto_compaction_enabled))
    made.record({"input_tokens": total_tokens})
    fitted = made.fit(blocks(many(99_999)), when="after_run")
    done = [event for event in told if isinstance(event, Compacted)]
    return {"compactions": len(done), "logged": bool(fitted.reason), "run_error": None}


@op
def summarize(llm: Any = None) -> dict[str, Any]:
    return summarization(messages=many(), llm=llm)


@op
@plays("appends a talk in front of each compaction")
def compact_times(times: int = len(ROLES), llm: Any = None) -> dict[str, Any]:
    made, _ = agentpg({"llm": llm}, parity=False)
    messages: Any = blocks(many())
    for _ in range(times):
        messages = [*made.compact(messages).messages, *blocks(many())]
    found = made.stats(messages)
    return {
        "active_summaries": len(found.groups["summary"]),
        "session": {"compaction_count": found.compactions, "id": found.session},
    }


@op
def compact_then_read(messages: Any = None, **given: Any) -> dict[str, Any]:
    """The session as it is read again: ids, and the summary by what it is."""
    messages = many() if messages is None else messages
    _, _, originals, done, error = compacting(messages, given)
    after = list(done.messages) if done else originals
    named = [{"id": ZONE, **m} if done and m.get("content") == done.summary else m for m in after]
    return {"order": [message["id"] for message in named if "id" in message], "error": failure(error)}


(ZONE,) = [name for name in GROUPS if name.startswith("summary")]
