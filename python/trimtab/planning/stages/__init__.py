"""Stages: values that say what may go, in which order, and what takes its place."""

from .emergency import Emergency
from .keep import Keep, Messages, Pins, Summaries, Tokens, Turns
from .prune import PruneResults
from .summarize import SummarizeZone
from .template import Ingest, Place, Template

__all__ = [
    "Emergency",
    "Ingest",
    "Keep",
    "Messages",
    "Pins",
    "Place",
    "PruneResults",
    "Summaries",
    "SummarizeZone",
    "Template",
    "Tokens",
    "Turns",
]
