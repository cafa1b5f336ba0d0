"""A summarizer from a configuration file, the environment and code."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .named import open_summarizer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .write import Writer

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
