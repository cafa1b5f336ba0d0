"""Summarizers by name: ``offline``, ``anthropic``, ``openai``, ``cmd:``; any callable; or from a configuration."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._mask import mask
from ..errors import SummaryError
from .ask import Answer
from .attempts import Limits
from .flaws import EXTRACT
from .write import Threaded, Writer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from .ask import Ask, Summarizer

NAMES = "'offline', 'anthropic', 'openai', 'cmd:PROGRAM ...'"

_SPEC = re.compile(r"(anthropic|openai)(?::(.+?))?(?:@(https?://.+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Function:
    """Summarizes with a callable: plain, on a thread of its own, or asynchronous.

    Attributes:
        function: returns a text or an ``Answer`` for an ``Ask``; ``summarize.render(ask)`` is the prompt for a model.
        label: the name in results and events; None uses the callable's own.
        limits: deadline, number of calls and pauses.
        window: most tokens of one request; a larger zone is summarized in parts. None uses the window of the
            transcript's model.
    """

    function: Callable[[Ask], str | Answer | Awaitable[str | Answer]]
    label: str | None = None
    limits: Limits = field(default_factory=Limits)
    window: int | None = None

    def __post_init__(self) -> None:
        """Reject what cannot be called."""
        if not callable(self.function):
            raise TypeError(f"function must be a function, got {self.function!r:.60}")

    @property
    def name(self) -> str:
        """The name in results and events."""
        return self.label or str(getattr(self.function, "__name__", type(self.function).__name__))

    def session(self) -> _Calls:
        """Return a session with blocking calls."""
        return _Calls(self.function)

    def asession(self) -> Threaded:
        """Return a session for a running event loop."""
        return Threaded(_Calls(self.function))


class _Calls:
    def __init__(self, function: Callable[[Ask], object]) -> None:
        self._function = function

    def call(self, ask: Ask, _: float | None, /) -> object:
        return self._function(ask)

    def close(self) -> None:
        """Do nothing: a call that hangs is left behind."""


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
    if isinstance(spec, Writer):
        return spec.name, spec
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
    from .writers.client import Client, need  # noqa: PLC0415

    if isinstance(spec, Client):
        need(spec.package)


def _unknown(spec: object) -> ValueError:
    return ValueError(f"unknown summarizer {mask(repr(spec))}: use {NAMES}, or a callable from an Ask to a text")


def _offline(ask: Ask) -> Answer:
    from .offline import offline  # noqa: PLC0415 - loaded with the first summary

    smaller = min(ask.max_tokens, ask.replaces - 1) if ask.replaces else ask.max_tokens
    if smaller < 1:
        raise SummaryError("no token is left for a summary")
    return Answer(offline(replace(ask, max_tokens=smaller)), EXTRACT)


SECTION = "summarizer"

RULE = {"window": "positive", "tries": "positive", "seconds": "number"}
"""Rules of ``config.RULES`` for the values that are no text."""

KEYS = ("name", "model", "base_url", "key_env", *RULE)


def load(
    source: str | os.PathLike[str] | None = None, *, environ: Mapping[str, str] | None = None, **values: Any
) -> Writer:
    """Return a summarizer from a file, the environment and code; code overrides the environment and the file.

    Args:
        source: a ``.toml``, ``.yaml`` or ``.yml`` file with the section ``summarizer``.
        environ: the variables ``TRIMTAB_SUMMARIZER_<KEY>``; by default those of the process.
        values: values by key: ``name`` as for ``open_summarizer``; ``model``, ``base_url`` and ``key_env`` of a
            provider's; ``window``; ``seconds`` and ``tries`` of ``Limits``.

    Raises:
        ConfigError: a key or a value is unknown, or the file cannot be read.
        ImportError: the summarizer's SDK is not installed.

    Examples:
        >>> load(environ={}, name="openai", model="qwen3:8b", key_env="GATEWAY_KEY").name
        'openai:qwen3:8b'
    """
    from ..config.files import environment_values, read_sections, section_values  # noqa: PLC0415 - it loads every preset
    from ..config.keys import RULES, config_error  # noqa: PLC0415

    sections = read_sections(Path(source)) if source is not None else {}
    variables = environment_values(SECTION, os.environ if environ is None else environ)
    given = {**section_values(sections, SECTION), **variables, **values}
    for key, value in given.items():
        if key not in KEYS:
            raise config_error(f"unknown key {key!r} in {SECTION!r}; known are {', '.join(KEYS)}")
        allowed, words = RULES[RULE.get(key, "name")]
        if not allowed(value):
            raise config_error(f"{key} {words}, got {value!r}")
    try:
        writer: Any = open_summarizer(given.pop("name", "offline"))[1]
    except ValueError as error:
        raise config_error(str(error)) from None
    limits = replace(writer.limits, **{key: given.pop(key) for key in ("seconds", "tries") if key in given})
    if unused := [key for key in given if not hasattr(writer, key)]:
        raise config_error(f"{', '.join(unused)} of {SECTION!r}: only anthropic and openai have it")
    found: Writer = replace(writer, limits=limits, **given)
    return found
