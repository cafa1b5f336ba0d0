"""Who writes a summary: the offline one, a model of Anthropic's or behind OpenAI's API, a program, or any callable."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, cast

from .ask import Answer, Ask, Prompt, Ride, Summarizer, Usage
from .attempts import Limits, answer_of, total
from .drive import AwaitableError, adrive, drive
from .offers import Offer, Sizes, offers
from .prompt import render, turn
from .request import Request, request
from .write import Writer, awrite, awrite_all, write, write_all
from .writers.anthropic import Anthropic
from .writers.client import need
from .writers.command import Command
from .writers.function import Function
from .writers.openai import OpenAI

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = [
    "Answer",
    "Anthropic",
    "Ask",
    "AwaitableError",
    "Command",
    "Function",
    "Limits",
    "Offer",
    "OpenAI",
    "Prompt",
    "Request",
    "Ride",
    "Sizes",
    "Summarizer",
    "Usage",
    "Writer",
    "adrive",
    "answer_of",
    "awrite",
    "awrite_all",
    "drive",
    "offers",
    "open_summarizer",
    "render",
    "request",
    "total",
    "turn",
    "write",
    "write_all",
]

NAMES = "'offline', 'anthropic', 'openai', 'cmd:PROGRAM ...'"

_SPEC = re.compile(r"(anthropic|openai)(?::(.+?))?(?:@(https?://.+))?", re.DOTALL)


def open_summarizer(
    spec: str | Writer | Summarizer | Callable[[Ask], str | Answer | Awaitable[str | Answer]],
) -> tuple[str, Writer]:
    """A summarizer and its name.

    Args:
        spec: ``offline``; ``anthropic``, ``openai``, either with ``:MODEL`` and ``@URL`` behind it; ``cmd:`` with a
            program and its arguments; one of the values of this package; or a callable that takes an ``Ask`` and gives
            a text, plain or async.

    Raises:
        ValueError: a name that there is not.
        ImportError: the client that it needs is not installed; says how it is.

    Example:
        >>> open_summarizer("cmd:./summarize.sh --short")[1]
        Command(words=('./summarize.sh', '--short'), limits=Limits(seconds=60.0, tries=3, pause=0.5), window=None)
    """
    if isinstance(spec, str):
        spec = _named(spec)
    if isinstance(spec, Anthropic | OpenAI):
        need(spec.package)
    if hasattr(spec, "asession"):
        writer = cast("Writer", spec)
        return writer.name, writer
    if callable(spec):
        return open_summarizer(Function(spec))
    msg = f"unknown summarizer {spec!r}: use {NAMES}, or a callable that takes an Ask and gives a text"
    raise ValueError(msg)


def _named(spec: str) -> Writer:
    if spec == "offline":
        return Function(_offline, "offline", Limits(seconds=None, tries=1))
    if spec.startswith("cmd:"):
        try:
            return Command(shlex.split(spec.removeprefix("cmd:")))
        except ValueError as error:
            msg = f"cannot read the summarizer {spec!r}: {error}"
            raise ValueError(msg) from None
    if found := _SPEC.fullmatch(spec):
        kind = Anthropic if found[1] == "anthropic" else OpenAI
        return kind(found[2], base_url=found[3])
    msg = f"unknown summarizer {spec!r}: use {NAMES}, or a callable that takes an Ask and gives a text"
    raise ValueError(msg)


def _offline(ask: Ask) -> str:
    from .offline import offline  # noqa: PLC0415 - loaded with the first summary, not with the package

    return offline(ask)
