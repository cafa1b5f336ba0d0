"""Summarizers: offline, a model of Anthropic's or behind OpenAI's API, a program, or any callable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import loader
from .ask import Answer, Ask, Facts, Prompt, Summarizer, Usage
from .attempts import Limits
from .facts import facts
from .named import Function, load, open_summarizer
from .offers import Offer, Sizes, offers
from .prompt import render, turn
from .request import Request, request
from .write import Writer

if TYPE_CHECKING:
    from .writers.anthropic import Anthropic
    from .writers.command import Command
    from .writers.openai import OpenAI

__all__ = [
    "Answer",
    "Anthropic",
    "Ask",
    "Command",
    "Facts",
    "Function",
    "Limits",
    "Offer",
    "OpenAI",
    "Prompt",
    "Request",
    "Sizes",
    "Summarizer",
    "Usage",
    "Writer",
    "facts",
    "load",
    "offers",
    "open_summarizer",
    "render",
    "request",
    "turn",
]

__getattr__ = loader(__name__, {f"writers.{name.lower()}": name for name in ("Anthropic", "Command", "OpenAI")})
