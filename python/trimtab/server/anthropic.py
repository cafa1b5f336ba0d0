"""Anthropic's parameters: context editing, compaction in a call, compaction on demand.

Sources: Anthropic documentation, "Context editing" (edits, order, ``clear_at_least``) and "Compaction"; the types
``BetaContextManagementConfigParam`` and ``BetaCompactionConfigParam`` of the SDK anthropic 2.13.
"""

from __future__ import annotations

from typing import Any

from ..validity.parameters import CLEAR_RESULTS, CLEAR_THINKING, COMPACT, COMPACTING, EDITING, ON_DEMAND
from .call import Clearing, ServerCall


def clearing(asked: Clearing, later: int, *, clears: int = 0) -> ServerCall:
    """Return the parameters that keep a clearing as it is.

    Args:
        asked: the clearing.
        later: number of tool uses behind it in the list that goes out.
        clears: tokens that leave.
    """
    edits: list[dict[str, Any]] = []
    if asked.thinking:
        edits.append({"type": CLEAR_THINKING, "keep": {"type": "thinking_turns", "value": asked.thinking}})
    results: dict[str, Any] = {
        "type": CLEAR_RESULTS,
        "trigger": {"type": "input_tokens", "value": asked.trigger},
        "keep": {"type": "tool_uses", "value": later},
    }
    if asked.least:
        results["clear_at_least"] = {"type": "input_tokens", "value": asked.least}
    if asked.tools:
        results["exclude_tools"] = [*asked.tools]
    if asked.inputs:
        results["clear_tool_inputs"] = [*asked.inputs]
    does = [f"{CLEAR_RESULTS} clears the results of the oldest {asked.uses:,} tool calls, {asked.tokens:,} tokens"]
    if asked.tools:
        does.append(f"the results of {', '.join(asked.tools)} stay")
    if asked.thinking:
        does.append(f"{CLEAR_THINKING} keeps the thinking of the newest {asked.thinking:,} turns")
    return ServerCall("call", {"context_management": {"edits": [*edits, results]}}, (EDITING,), tuple(does), clears)


def compacting(trigger: int, instructions: str | None, clears: int, kept: ServerCall | None = None) -> ServerCall:
    """Return the parameters with which the server summarizes the whole conversation in the model's call.

    Args:
        trigger: tokens of the prompt past which it does. No document says whether those are counted before or after
            results are cleared: a trigger that both pass does not depend on it.
        instructions: in place of the server's own; None leaves those.
        clears: tokens that leave.
        kept: the clearing that stays until then, so that the server does not read what it has cleared.
    """
    edit: dict[str, Any] = {"type": COMPACT, "trigger": {"type": "input_tokens", "value": trigger}}
    if instructions:
        edit["instructions"] = instructions
    does = (f"{COMPACT} summarizes everything so far; what stands before its block costs nothing from then on",)
    edits = [*kept.parameters["context_management"]["edits"], edit] if kept else [edit]
    betas = (*kept.betas, COMPACTING) if kept else (COMPACTING,)
    return ServerCall("call", {"context_management": {"edits": edits}}, betas, does, clears)


def on_demand(cut: int, instructions: str | None, clears: int) -> ServerCall:
    """Return the parameters of the request that is for the compaction of its messages alone."""
    asked = {"type": "summarize", **({"instructions": instructions} if instructions else {})}
    does = (f"compaction of the first {cut:,} messages, in a request of its own; the others stay as they are",)
    return ServerCall("pass", {"compaction": asked}, (ON_DEMAND,), does, clears, cut=cut)
