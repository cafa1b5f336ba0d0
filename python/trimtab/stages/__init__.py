"""Stages: values that say what may go, and in which order."""

from ._keep import Keep
from ._prune import PruneResults
from ._summarize import SummarizeZone

__all__ = ["Keep", "PruneResults", "SummarizeZone"]
