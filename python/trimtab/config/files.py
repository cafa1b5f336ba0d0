"""Configuration text: TOML, YAML, and values of environment variables."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .keys import config_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def read_sections(path: Path) -> dict[str, Any]:
    """Parse a configuration file, TOML or YAML by the end of its name, into its sections.

    Raises:
        ConfigError: the file cannot be read or parsed.
    """
    parse: Callable[[str], Any] = tomllib.loads
    failure: type[Exception] = tomllib.TOMLDecodeError
    if path.suffix in {".yaml", ".yml"}:
        try:
            import yaml  # type: ignore[import-untyped]  # noqa: PLC0415 - an optional dependency
        except ImportError as error:
            raise config_error("reading YAML needs PyYAML: pip install trimtab[yaml]") from error
        parse, failure = yaml.safe_load, yaml.YAMLError
    elif path.suffix != ".toml":
        told = " (trimtab.read reads a session)" * path.suffix.startswith(".json")
        raise config_error(f"a file's name must end in .toml, .yaml or .yml, got {path.name!r}{told}")
    try:
        found = parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise config_error(f"{path}: {error.strerror}") from error
    except failure as error:
        raise config_error(f"not {path.suffix[1:].upper()}: {error}") from error
    if not isinstance(found, dict | None):
        raise config_error("a configuration is a mapping of sections")
    return found or {}


def section_values(sections: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a section's values by key; none if there is no such section.

    Raises:
        ConfigError: the section is no mapping.
    """
    given = sections.get(name) or {}
    if not isinstance(given, Mapping):
        raise config_error(f"{name} must be a mapping of keys, got {given!r}")
    return given


def environment_values(section: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of a section's variables ``TRIMTAB_<SECTION>_<KEY>``, by key."""
    prefix = f"TRIMTAB_{section}_".upper()
    found = {name: parse_value(text) for name, text in environ.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix).lower(): value for name, value in found.items()}


def parse_value(text: str) -> Any:
    """Parse the value of an environment variable as TOML; text that is no TOML value is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
