"""Seed 002 without its first phase: all that may be compacted is summarized, directly."""

from dataclasses import replace

from .agentpg import POLICY as HYBRID
from .agentpg import SUMMARY

POLICY = replace(HYBRID, name="agentpg_summarization", prune=None, summarize=SUMMARY, strategy="summarization")
