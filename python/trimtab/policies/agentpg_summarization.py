"""Seed 002 without its first phase: all that may be compacted is summarized, directly."""

from dataclasses import replace

from .agentpg import POLICY as HYBRID

POLICY = replace(HYBRID, name="agentpg_summarization", prune=None, strategy="summarization")
