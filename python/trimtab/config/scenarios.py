"""Recommended settings."""

from __future__ import annotations

from typing import Any

SCENARIOS: dict[str, tuple[str, dict[str, Any]]] = {
    "tool-heavy": (
        "agentpg",
        {"strategy": "hybrid", "trigger": 0.80, "target_tokens": 60_000, "preserve_tool_outputs": False},
    ),
    "general-chat": ("agentpg", {"strategy": "summarization", "trigger": 0.85, "target_tokens": 80_000}),
    "cost-sensitive": (
        "agentpg",
        {"strategy": "hybrid", "trigger": 0.75, "target_tokens": 50_000, "preserve_tool_outputs": False},
    ),
    "context-critical": ("agentpg", {"strategy": "summarization", "trigger": 0.90, "target_tokens": 100_000}),
    "ci": (
        "agent",
        {
            "compaction_threshold": 0.65,
            "compaction_keep_recent": 15,
            "compaction_strategy": "structured",
            "tool_result_token_cap": 2_000,
            "compaction_overhead_reserve": 0.12,
        },
    ),
    "interactive": (
        "agent",
        {
            "compaction_threshold": 0.80,
            "compaction_keep_recent": 5,
            "compaction_strategy": "narrative",
            "tool_result_token_cap": 8_000,
        },
    ),
}
"""Settings that the documents of agentpg and sven recommend: the section, and its values."""
