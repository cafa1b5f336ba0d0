"""Context windows that a list of messages fills, so that every preset finds something to compact in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import trimtab
from trimtab import config
from trimtab.policies import POLICIES

if TYPE_CHECKING:
    from trimtab import Policy

IDLE = frozenset({"spec09", "agentpg", "agentpg_summarization"})
"""Presets that keep 40 % of a window, or 40,000 tokens and ten messages: they leave a short list in a window of 200,000
tokens alone."""


def filled_policy(name: str, total: int, **keys: int) -> Policy:
    """A preset with limits for a window that ``total`` tokens fill; ``keys`` are of its section of a configuration."""
    policy = POLICIES[name]
    if name.startswith("agentpg"):
        scaled = {
            "max_tokens_for_model": total,
            "protected_tokens": total // 5,
            "target_tokens": max(total // 3, 2),
            **keys,
        }
        policy = config.configure("agentpg", scaled, policy)
    return replace(policy, trigger=replace(policy.trigger, fixed_window=False, window=None))


def filled_window(name: str, model: str, messages: list[dict[str, Any]]) -> trimtab.Compactor:
    """A compactor with a preset and a window that these messages fill, as the preset counts them."""
    total = trimtab.Compactor(model, policy=name, provider="anthropic").count(messages)
    keys = {"preserve_last_n": 1} if name.startswith("agentpg") else {}
    policy = filled_policy(name, total, **keys)
    return trimtab.Compactor(model, provider="anthropic", policy=policy, window=total + 100, max_output=50)
