"""Configuration text: TOML, YAML, and values of environment variables."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from .keys import wrong

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def parse(text: str, kind: str) -> dict[str, Any]:
    """Parse a configuration's text into its sections.

    Args:
        text: text of the file.
        kind: ``toml``, ``yaml`` or ``yml``.

    Raises:
        ConfigError: the text cannot be parsed.
    """
    failure: type[Exception] = tomllib.TOMLDecodeError
    load: Callable[[str], Any] = tomllib.loads
    if kind in {"yaml", "yml"}:
        try:
            import yaml  # type: ignore[import-untyped]  # noqa: PLC0415 - an optional dependency
        except ImportError as error:
            raise wrong("reading YAML needs PyYAML: pip install trimtab[yaml]") from error
        failure, load = yaml.YAMLError, yaml.safe_load
    elif kind != "toml":
        raise wrong(f"a file's name must end in .toml, .yaml or .yml, got {kind!r}")
    try:
        found = load(text)
    except failure as error:
        raise wrong(f"not {kind.upper()}: {error}") from error
    if not isinstance(found, dict | None):
        raise wrong("a configuration is a mapping of sections")
    return found or {}


def tables(path: Path) -> dict[str, Any]:
    """Parse a configuration file into its sections.

    Raises:
        ConfigError: the file cannot be read or parsed.
    """
    try:
        return parse(path.read_text(encoding="utf-8"), path.suffix.removeprefix("."))
    except OSError as error:
        raise wrong(f"{path}: {error.strerror}") from error


def parse_value(text: str) -> Any:
    """Parse the value of an environment variable as TOML; text that is no TOML value is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
