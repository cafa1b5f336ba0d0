"""Stages: values that say what may go, in which order, and what takes its place."""

from ._emergency import Emergency
from ._keep import Keep, Messages, Pins, Summaries, Tokens, Turns
from ._prune import PruneResults
from ._summarize import SummarizeZone
from ._template import Ingest, Place, Template

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
