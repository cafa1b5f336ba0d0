"""Deciding: budgets, policies, stages and plans. Pure: no clock, no file, no model."""

from .._lazy import loader

_HOMES = {
    "budget": "Budget Terms Trigger",
    "edits": "Drop Prune StripThinking Summarize Truncate",
    "plan": "Plan",
    "policy": "Policy",
    "stages": "Emergency Ingest Keep Messages Pins Place PruneResults Summaries SummarizeZone Template Tokens Turns",
    "zones": "Stats",
}

__all__ = [name for names in _HOMES.values() for name in names.split()]
__getattr__ = loader(__name__, _HOMES)
