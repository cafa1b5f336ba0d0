"""Configuration as text: TOML, YAML, and values of the environment."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from .keys import wrong

if TYPE_CHECKING:
    from pathlib import Path


def parse(text: str, kind: str) -> dict[str, Any]:
    """What a configuration's text holds, by section.

    Args:
        text: of the file.
        kind: ``toml``, ``yaml`` or ``yml``.

    Raises:
        ConfigError: it cannot be read.
    """
    if kind == "toml":
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise wrong(f"not TOML: {error}") from error
    if kind not in {"yaml", "yml"}:
        raise wrong(f"a file's name must end in .toml, .yaml or .yml, got {kind!r}")
    try:
        import yaml  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra, for those who have such a file
    except ImportError as error:
        raise wrong("reading YAML needs PyYAML: pip install trimtab[yaml]") from error
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise wrong(f"not YAML: {error}") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise wrong("a configuration is a mapping of sections")
    return found


def tables(path: Path) -> dict[str, Any]:
    """What a configuration's file holds, by section.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return parse(path.read_text(encoding="utf-8"), path.suffix.removeprefix("."))
    except OSError as error:
        raise wrong(f"{path}: {error.strerror}") from error


def said(text: str) -> Any:
    """A value of the environment, as TOML would read it; a bare word is a word."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
