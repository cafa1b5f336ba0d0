"""Operations that cut and prune tool results."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import trimtab
from trimtab.compaction import rows as _rows
from trimtab.messages.types import whole_calls

from .presets import AGENTPG, GOAT, MODEL, SPEC09, SVEN, agentpg, kept
from .shapes import Listed, blocks, chat
from .table import op


@op
def truncate_tool_output(text: str | None, max_len: int | None = None) -> str:
    most = GOAT.prune.keep_length if max_len is None else max_len
    return _rows.cut(text or "", most, GOAT.prune.unit, GOAT.prune.marker)


@op
def prune_old_tool_results(messages: list[dict[str, Any]], preserve_recent: int | None = None) -> Listed:
    age = GOAT.prune.keep_messages if preserve_recent is None else preserve_recent
    policy = replace(GOAT, prune=replace(GOAT.prune, keep_messages=age))
    before, given = copy.deepcopy(messages), chat(messages)
    pairs = {id(new): old for new, old in zip(given, messages, strict=True)}
    after = trimtab.Compactor(MODEL, provider="openai_chat", policy=policy).prune(given)
    changed = [n for n, (old, new) in enumerate(zip(given, after, strict=True)) if old is not new]
    shown = [pairs.get(id(message), message) for message in after]
    return Listed(shown, changed_indices=changed, input_mutated=before != messages)


@op
def prune_tool_outputs(messages: list[dict[str, Any]]) -> dict[str, Any]:
    keep = replace(kept(AGENTPG).keep, min_messages=0)
    made, _ = agentpg({}, keep=keep, summarize=None, on_nothing=SPEC09.on_nothing)
    given = blocks(messages)
    done = made.compact(given)
    changed = [old.get("id") for old, new in zip(given, done.messages, strict=True) if old is not new]
    return {"messages": list(done.messages), "pruned_ids": changed, "tokens_saved": done.saved}


@op
def smart_truncate(content: str | None, category: str | None = None, cap_tokens: int | None = None) -> str:
    ingest = SVEN.ingest if cap_tokens is None else replace(SVEN.ingest, tokens=cap_tokens)
    return ingest.cut(content or "", category or ingest.otherwise, trimtab.Counter.for_model(MODEL))


@op
def output_category(tool: str) -> str:
    return SVEN.ingest.category(tool)


@op
def discard_truncated_tool_blocks(content: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    return whole_calls({"role": "assistant", "content": content or []})["content"]
