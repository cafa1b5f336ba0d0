"""Follows AgentPG's "Context Compaction", "Summarization Strategy": summarize all compactable messages directly.

The other values are those of ``agentpg.py``.
"""

from dataclasses import replace

from .agentpg import POLICY as HYBRID
from .agentpg import SUMMARY

POLICY = replace(HYBRID, name="agentpg_summarization", prune=None, summarize=SUMMARY, strategy="summarization")
