"""Summarizers by name: ``offline``, ``anthropic``, ``openai``, ``cmd:``; or any callable."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from .._mask import mask
from ..errors import SummaryError
from .ask import Answer
from .attempts import Limits
from .flaws import EXTRACT
from .writers.function import Function

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .ask import Ask, Summarizer
    from .write import Writer

NAMES = "'offline', 'anthropic', 'openai', 'cmd:PROGRAM ...'"

_SPEC = re.compile(r"(anthropic|openai)(?::(.+?))?(?:@(https?://.+))?", re.DOTALL)


def open_summarizer(
    spec: str | Writer | Summarizer | Callable[[Ask], str | Answer | Awaitable[str | Answer]],
) -> tuple[str, Writer]:
    """Return a summarizer and its name.

    Args:
        spec: ``offline``; ``anthropic`` or ``openai``, either with ``:MODEL`` and ``@URL`` behind it; ``cmd:`` with a
            program and its arguments; a value of this package; or a callable from an ``Ask`` to a text, which may be
            asynchronous.

    Raises:
        ValueError: an unknown name; the message lists the valid ones.
        ImportError: the summarizer's SDK is not installed; names the command that installs it.

    Examples:
        >>> open_summarizer("cmd:./summarize.sh --short")[1]
        Command(words=('./summarize.sh', '--short'), limits=Limits(seconds=60.0, tries=3, pause=0.5), window=None)
    """
    if isinstance(spec, str):
        spec = _named(spec)
    if not isinstance(spec, Function):
        _check_package(spec)
    if hasattr(spec, "asession"):
        writer = cast("Writer", spec)
        return writer.name, writer
    if callable(spec):
        return open_summarizer(Function(spec))
    raise _unknown(spec)


def _named(spec: str) -> Writer:
    if spec == "offline":
        return Function(_offline, "offline", Limits(seconds=None, tries=1))
    if spec.startswith("cmd:"):
        from .writers.command import Command  # noqa: PLC0415 - most sessions need neither a program nor a provider

        try:
            return Command(shlex.split(spec.removeprefix("cmd:")))
        except ValueError as error:
            msg = f"cannot read the summarizer {mask(repr(spec))}: {error}"
            raise ValueError(msg) from None
    if found := _SPEC.fullmatch(spec):
        from .writers.anthropic import Anthropic  # noqa: PLC0415
        from .writers.openai import OpenAI  # noqa: PLC0415

        kind = Anthropic if found[1] == "anthropic" else OpenAI
        return kind(found[2], base_url=found[3])
    raise _unknown(spec)


def _check_package(spec: object) -> None:
    """Check that the SDK of a provider's summarizer is installed.

    Raises:
        ImportError: it is not.
    """
    from .writers.anthropic import Anthropic  # noqa: PLC0415
    from .writers.client import need  # noqa: PLC0415
    from .writers.openai import OpenAI  # noqa: PLC0415

    if isinstance(spec, Anthropic | OpenAI):
        need(spec.package)


def _unknown(spec: object) -> ValueError:
    return ValueError(f"unknown summarizer {mask(repr(spec))}: use {NAMES}, or a callable from an Ask to a text")


def _offline(ask: Ask) -> Answer:
    from .offline import offline  # noqa: PLC0415 - loaded with the first summary

    smaller = min(ask.max_tokens, ask.replaces - 1) if ask.replaces else ask.max_tokens
    if smaller < 1:
        raise SummaryError("no token is left for a summary")
    return Answer(offline(replace(ask, max_tokens=smaller)), EXTRACT)
