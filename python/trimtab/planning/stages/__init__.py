"""Stages: values that state which messages may leave, in which order, and their replacement."""

from .keep import Keep, Messages, Pins, Summaries, Tokens, Turns
from .prune import PruneResults
from .stage import Stage
from .summarize import Emergency, SummarizeZone
from .template import Ingest, Place, Template

__all__ = [
    "Emergency",
    "Ingest",
    "Keep",
    "Messages",
    "Pins",
    "Place",
    "PruneResults",
    "Stage",
    "Summaries",
    "SummarizeZone",
    "Template",
    "Tokens",
    "Turns",
]
