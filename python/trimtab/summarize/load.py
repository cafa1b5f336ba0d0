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

KEYS = {
    "name": "name",
    "model": "name",
    "base_url": "name",
    "key_env": "name",
    "window": "positive",
    "tries": "positive",
}
"""The keys whose values are checked by a rule of ``config.RULES``."""

LIMITS = ("seconds", "tries")
"""The keys of ``Limits``."""


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

    Example:
        >>> load(environ={}, name="openai", model="qwen3:8b", key_env="GATEWAY_KEY").name
        'openai:qwen3:8b'
    """
    from ..config.files import environment_values, read_sections  # noqa: PLC0415 - it loads every preset
    from ..config.keys import config_error  # noqa: PLC0415

    section = read_sections(Path(source)).get(SECTION, {}) if source is not None else {}
    if not isinstance(section, dict):
        raise config_error(f"{SECTION} must be a mapping of keys, got {section!r}")
    given = {**section, **environment_values(SECTION, os.environ if environ is None else environ), **values}
    _check(given)
    try:
        writer: Any = open_summarizer(given.pop("name", "offline"))[1]
        limits = replace(writer.limits, **{key: given.pop(key) for key in LIMITS if key in given})
    except (TypeError, ValueError) as error:
        raise config_error(str(error)) from None
    if unused := [key for key in given if not hasattr(writer, key)]:
        raise config_error(f"{', '.join(unused)} of {SECTION!r}: only anthropic and openai have it")
    found: Writer = replace(writer, limits=limits, **given)
    return found


def _check(given: Mapping[str, object]) -> None:
    from ..config.keys import RULES, config_error  # noqa: PLC0415

    known = ", ".join(dict.fromkeys([*KEYS, *LIMITS]))
    for key, value in given.items():
        if key == "api_key":
            raise config_error("api_key is for code alone: key_env names the variable that holds the key")
        if key not in KEYS and key not in LIMITS:
            raise config_error(f"unknown key {key!r} in {SECTION!r}; known are {known}")
        if key == "seconds" and not isinstance(value, int | float):
            raise config_error(f"seconds must be a positive number, got {value!r}")
        allowed, words = RULES[KEYS[key]] if key in KEYS else (None, "")
        if allowed is not None and not allowed(value):
            raise config_error(f"{key} {words}, got {value!r}")
