"""Questions about numbers: budgets, windows and triggers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import trimtab
from trimtab import Compaction, config
from trimtab.planning import Budget, Terms
from trimtab.policies import POLICIES

from .estimate import estimate_messages, estimate_text
from .presets import AGENTPG, GOAT, OPENCODE, SPEC09, SVEN
from .table import OPS, op


def terms(
    context_limit: int | None = None,
    system_tokens: int | None = None,
    message_tokens: int | None = None,
    max_output_tokens: int | None = None,
) -> Terms:
    """The terms of a case; what it does not say is what the preset says, or nothing."""
    rule = SPEC09.trigger
    window = rule.window if context_limit is None else context_limit
    output = rule.output if max_output_tokens is None else max_output_tokens
    return Terms(window or 0, output, message_tokens or 0, system_tokens or 0)


@op
def budget_available(**given: int) -> int:
    return terms(**given).room


@op
def budget_available_seed001(**given: int) -> int:
    return terms(**given).available


OPS["token_budget_available_seed000"] = budget_available_seed001


@op
def budget_utilization(**given: int) -> float:
    return SPEC09.trigger.utilisation(terms(**given))


@op
def budget_utilization_seed001(**given: int) -> float:
    return GOAT.trigger.utilisation(terms(**given))


@op
def budget_is_overflow(**given: int) -> bool:
    return SPEC09.trigger.overflows(terms(**given))


@op
def should_compact(budget: dict[str, int], threshold: float | None = None) -> bool:
    share = SPEC09.trigger.share if threshold is None else threshold
    return replace(SPEC09.trigger, share=share).fires(terms(**budget))


@op
def must_compact(budget: dict[str, int], critical: float | None = None) -> bool:
    share = SPEC09.trigger.critical if critical is None else critical
    return replace(SPEC09.trigger, critical=share).endangers(terms(**budget))


@op
def should_compact_seed001(**given: int) -> bool:
    return GOAT.trigger.fires(terms(**given))


@op
def calculate_token_budget_seed001(
    system_prompt: str | None = None,
    messages: list[dict[str, Any]] | None = None,
    context_limit: int | None = None,
    max_output_tokens: int | None = None,
) -> dict[str, Any]:
    found = terms(context_limit, estimate_text(system_prompt), estimate_messages(messages), max_output_tokens)
    return {
        "context_limit": found.window,
        "system_tokens": found.system,
        "message_tokens": found.messages,
        "max_output_tokens": found.output,
        "available": found.available,
        "utilization": GOAT.trigger.utilisation(found),
    }


OPS["token_budget_defaults"] = calculate_token_budget_seed001


@op
def get_context_limit(model: str, betas: list[str] | None = None) -> int:
    return trimtab.Compactor(model, policy=SPEC09, betas=betas or ()).window


@op
def model_context_limit_table(model: str) -> int:
    return trimtab.Compactor(model, policy=GOAT).window


@op
def needs_compaction(total_tokens: int, max_tokens_for_model: int | None = None, trigger: float | None = None) -> bool:
    rule = replace(AGENTPG.trigger, share=AGENTPG.trigger.share if trigger is None else trigger)
    return rule.fires(charged(max_tokens_for_model, total_tokens))


@op
def usage_percent(total_tokens: int, max_tokens_for_model: int | None = None) -> float:
    return AGENTPG.trigger.utilisation(charged(max_tokens_for_model, total_tokens))


def charged(window: int | None, tokens: int) -> Terms:
    return Terms((AGENTPG.trigger.window or 0) if window is None else window, messages=tokens)


@op
def trigger_threshold(**given: Any) -> float:
    keys = {key: value for key, value in given.items() if value is not None}
    if keys.keys() & set(config.keys("agentpg")):
        share, window = keys.pop("trigger", AGENTPG.trigger.share), keys.pop("max_tokens_for_model", None)
        rule = config.configure("agentpg", keys, AGENTPG).trigger
        return replace(rule, share=share).limit(Terms(rule.window if window is None else window))
    return config.configure("agent", keys, SVEN).trigger.threshold


@op
def recommended_target(max_tokens_for_model: int) -> int:
    return Budget.of(Terms(max_tokens_for_model), AGENTPG.trigger, POLICIES["default"].target).target


@op
def reduction_percent(original: int, compacted: int) -> float:
    plan = trimtab.Plan((), original, compacted, compacted, "", False, "", "", "")
    return Compaction((), plan, None, original, compacted, "").reduction


@op
def is_overflow_seed004(model: Mapping[str, Any], tokens: Mapping[str, Any], auto: bool | None = None) -> bool:
    trigger = replace(OPENCODE.trigger, auto=True if auto is None else auto)
    charged = {name: tokens.get(key) or 0 for name, key in CHARGED.items()}
    return trigger.fires(
        Terms(
            model.get("context") or 0,
            trigger.kept_free(model.get("output")),
            input_limit=model.get("input") or None,
            **charged,
        )
    )


CHARGED = {"input": "input", "cache_read": "cache_read", "cache_write": "cache_write", "answered": "output"}
