"""Configuration: the keys of each system's document, applied to the preset of that system.

A key's default is the preset's value. Values in code override the environment, the environment overrides the file, the
file overrides the preset.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..policies import POLICIES
from .files import environment_values, read_sections, section_values
from .keys import RULES, SECTIONS, Key, KeySection, config_error, get, listed, replace_at

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..planning.policy import Policy

__all__ = [
    "RULES",
    "SCENARIOS",
    "SECTIONS",
    "ConfigError",
    "Key",
    "KeySection",
    "choices",
    "configure",
    "keys",
    "load",
    "value",
]

SCENARIOS: dict[str, tuple[str, dict[str, Any]]] = {
    name: next(iter(found.items())) for name, found in read_sections(Path(__file__).with_name("scenarios.toml")).items()
}
"""Settings that the documents of agentpg and sven recommend: the section, and its values."""


def configure(section: str, values: Mapping[str, Any], policy: Policy | None = None) -> Policy:
    """Return a preset with some keys changed.

    Args:
        section: ``agentpg``, ``agent``, ``compaction``, ``goat`` or ``spec09``.
        values: values by key.
        policy: the policy to change instead of the preset.

    Raises:
        ConfigError: a section, key or value is unknown; the message lists the valid ones.

    Examples:
        >>> configure("agent", {"compaction_keep_recent": 15}).emergency.keep.keepers[0].count
        15
    """
    table = _section(section)
    for name in values:
        _require("key", name, table.names, f" in {section!r}")
    policy = policy or POLICIES[table.policy]
    if table.preset_key and table.preset_key in values:
        choice = values[table.preset_key]
        _require(table.preset_key.rpartition("_")[2], choice, sorted(table.choices))
        policy = POLICIES[table.choices[choice]]
    given = {name: (key, values[name]) for name, key in table.keys.items() if name in values}
    for name, (key, _) in given.items():
        if table.of_any_policy and not key.applies(policy):
            have = ", ".join(other for other, preset in POLICIES.items() if key.applies(preset))
            raise config_error(f"policy {policy.name!r} has no {name}; policies that have it are {have}")
    policy = _with_values(policy, given)
    for less, more in table.ordered:
        if not value(section, less, policy) < value(section, more, policy):
            raise config_error(f"{less} must be less than {more}")
    return policy


def value(section: str, key: str, policy: Policy | None = None) -> Any:
    """Return the value of a key in a preset, or in a policy made of it.

    Raises:
        ConfigError: a section or key is unknown.
    """
    table = _section(section)
    policy = policy or POLICIES[table.policy]
    if key == table.preset_key:
        return next((choice for choice, name in table.choices.items() if name == policy.name), policy.strategy)
    _require("key", key, table.names, f" in {section!r}")
    entry = table.keys[key]
    found = get(policy, entry.paths[0])
    if entry.rule == "names":
        return found if found is None else [*found]
    return found if entry.removed_by is None else (found is None) == entry.removed_by


def keys(section: str) -> list[str]:
    """Return a section's keys."""
    return _section(section).names


def choices(key: str) -> list[str]:
    """Return the values of a key that chooses a preset, the default first.

    Raises:
        ConfigError: the key does not choose a preset.
    """
    found = {table.preset_key: [*table.choices] for table in SECTIONS.values() if table.preset_key}
    if key not in found:
        raise config_error(f"{key!r} does not choose a preset; keys that do are {', '.join(found)}")
    return found[key]


def load(
    source: str | os.PathLike[str] | None = None,
    *,
    section: str | None = None,
    environ: Mapping[str, str] | None = None,
    **values: Any,
) -> Policy:
    """Return a policy from a file, the environment and code; code overrides the environment and the file.

    Args:
        source: a ``.toml``, ``.yaml`` or ``.yml`` file with one known section; other sections, and keys of other
            programs in the section ``agent``, are ignored.
        section: the section of the keys; by default the file's.
        environ: the variables ``TRIMTAB_<SECTION>_<KEY>``; by default those of the process.
        values: values by key.

    Raises:
        ConfigError: a section, key or value is unknown, or the file cannot be read.
    """
    held = read_sections(Path(source)) if source is not None else {}
    found = [name for name in SECTIONS if name in held]
    if section is None and len(found) != 1:
        raise config_error(f"need one of the sections {', '.join(SECTIONS)}, found {', '.join(found) or 'none'}")
    section = section or found[0]
    given = _own_values(held, section)
    given |= environment_values(section, os.environ if environ is None else environ)
    return configure(section, given | values)


def _own_values(sections: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a section's values; in ``agent``, where sven keeps other settings too, only those of compaction."""
    given = section_values(sections, name)
    return {key: entry for key, entry in given.items() if name != "agent" or key in keys(name) or "compaction" in key}


def _section(name: str) -> KeySection:
    _require("section", name, SECTIONS)
    return SECTIONS[name]


def _require(kind: str, name: object, known: Collection[str], place: str = "") -> None:
    if name not in known:
        raise config_error(f"unknown {kind} {name!r}{place}; known are {', '.join(known)}")


def _with_values(policy: Policy, given: Mapping[str, tuple[Key, Any]]) -> Policy:
    """Return the policy with other values of keys, all at once: a trigger may pass the old target with the new one."""
    base = POLICIES.get(policy.name, policy)  # has the stages that a switch turns on
    stages: dict[str, Any] = {}
    for name, (key, entered) in given.items():
        allowed, words = RULES[key.rule]
        if not allowed(entered):
            raise config_error(f"{name} {words}, got {entered!r}")
        for path in key.paths:
            entry = tuple(listed(entered) or ()) if key.rule == "names" else entered
            if key.removed_by is not None:
                entry = None if entered == key.removed_by else get(base, path)
            stage, _, behind = path.partition(".")
            stages[stage] = replace_at(stages.get(stage, getattr(policy, stage)), behind, entry)
    try:
        return replace(policy, **stages)
    except ValueError as error:
        raise config_error(str(error)) from error
